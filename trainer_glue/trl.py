"""The old name of `trainer_glue.adapters.trl`, for one release."""

import warnings

from trainer_glue.adapters.trl import RewardFunction

__all__ = ["RewardFunction"]
warnings.warn("trainer_glue.trl is now trainer_glue.adapters.trl", DeprecationWarning, stacklevel=2)
