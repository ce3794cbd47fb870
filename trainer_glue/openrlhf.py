"""The old name of `trainer_glue.adapters.openrlhf`, for one release."""

import warnings

from trainer_glue.adapters.openrlhf import reward_func_of

__all__ = ["reward_func_of"]
warnings.warn("trainer_glue.openrlhf is now trainer_glue.adapters.openrlhf", DeprecationWarning, stacklevel=2)
