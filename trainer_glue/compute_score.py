"""The old name of `trainer_glue.adapters.compute_score`, for one release."""

import warnings

from trainer_glue.adapters.compute_score import ComputeScore, compute_score_of

__all__ = ["ComputeScore", "compute_score_of"]
warnings.warn("trainer_glue.compute_score is now trainer_glue.adapters.compute_score", DeprecationWarning, stacklevel=2)
