"""The old name of `trainer_glue.adapters.verifiers`, for one release."""

import warnings

from trainer_glue.adapters.verifiers import TaskReward, UnscoredRolloutError, rubric_of, task_reward_of

__all__ = ["TaskReward", "UnscoredRolloutError", "rubric_of", "task_reward_of"]
warnings.warn("trainer_glue.verifiers is now trainer_glue.adapters.verifiers", DeprecationWarning, stacklevel=2)
