"""A formula as verl's `compute_score`: for a launch script that already has a `custom_reward_function`.

    # my_reward.py, named by custom_reward_function.path
    from trainer_glue.compute_score import compute_score_of

    compute_score = compute_score_of("gsm8k() + 0.1 * ends_with('.?!')")

The thinnest seam: one text and its gold at a time. Every version of verl has it, and it can carry neither groups nor
tokens nor the training step, and has no word for "unscored": such a row is paid 0 and says so. Where the launch script
may be changed, `rewardkit config verl-args` prints the keys of the reward manager, which carries all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rewardkit.batch import Batch
from rewardkit.errors import CompileError
from rewardkit.expression import Reward, TokenReward
from rewardkit.program import Program, compile
from rewardkit.source import load_reward
from trainer_glue.failures import FirstFailures


class ComputeScore:
    """What verl calls. Build one with :func:`compute_score_of`."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.__name__ = "compute_score"
        self._failures = FirstFailures()

    def __call__(
        self,
        data_source: str,
        solution_str: str,
        ground_truth: Any,
        extra_info: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> dict[str, float]:
        """Score one response.

        Args:
            data_source: the row's data set.
            solution_str: the response's text.
            ground_truth: its gold answer.
            extra_info: the row's `extra_info`.

        Returns:
            ``score``, every name's own value (0 where it has none), ``<term>/status``, and ``unscored``: the same
            keys for every row.
        """
        gold = ground_truth.tolist() if isinstance(ground_truth, np.ndarray) else ground_truth
        info = extra_info if isinstance(extra_info, Mapping) else {}
        scores = self.program(Batch([solution_str], [gold], data_sources=[data_source], extra_infos=[info]))
        unscored = bool(scores.unscored[0])
        self._failures.tell_of(scores)
        found = {"score": 0.0 if unscored else float(scores.total[0])}
        found |= {name: float(np.nan_to_num(values[0])) for name, values in scores.values.items()}
        found |= {f"{name}/status": float(scores.statuses[name][0]) for name in self.program.terms}
        return {**found, "unscored": float(unscored)}


def compute_score_of(reward: Reward | TokenReward | str) -> ComputeScore:
    """A `compute_score` that pays by a formula.

    Args:
        reward: a formula, its text, a reward file or the name of a ready-made reward.

    Raises:
        CompileError: the formula needs what this seam does not hand over.
        FormulaError, ConfigError: the reward doesn't load.
    """
    program = compile(load_reward(reward).reward if isinstance(reward, str) else reward)
    lacking = sorted(program.needs & {"group", "tokens", "step", "prompt"})
    if lacking:
        raise CompileError(
            f"{program.reward!r} needs {', '.join(lacking)}, and compute_score gets one text and its gold at a time",
            hint="use verl's reward manager: `rewardkit config verl-args FORMULA` prints its keys",
        )
    return ComputeScore(program)
