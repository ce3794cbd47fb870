"""A formula as verl's `compute_score`: for a launch script that already has a `custom_reward_function`.

    # my_reward.py, named by custom_reward_function.path
    from trainer_glue.adapters.compute_score import compute_score_of

    compute_score = compute_score_of("gsm8k() + 0.1 * ends_with('.?!')")

The thinnest integration point: one text and its ground truth at a time. Every version of verl has it. It carries
neither groups nor tokens nor the training step, and it has no word for "unscored": such a row is paid 0 and says so.
A response of several turns is cut at the role headers of its chat template. verl mostly takes these out; a row of more
turns than one question and one answer, by its `num_turns`, is then unscored: a tool wrote a part of that text.
Where the launch script may be changed, `rewardkit config verl-args` prints the keys of the reward manager. It carries
all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from rewardkit.batch import Batch, Status
from rewardkit.engine.scores import UNSCORED_KEY, status_key
from rewardkit.turns import last_said
from trainer_glue.adapters.base import Adapter, AnyReward, Trainer
from trainer_glue.adapters.chat_text import turns_of_text
from trainer_glue.adapters.messages import TURNS_OF_ONE_ANSWER

_COMPUTE_SCORE: Final = Trainer(
    "compute_score",
    "one text and its ground truth at a time",
    frozenset({"group", "batch", "tokens", "step", "prompt", "truncated", "turns"}),
    "use verl's reward manager: `rewardkit config verl-args FORMULA` prints its keys",
    token_level=True,  # a placement that needs no tokens sums to the same number
)
_WHOSE_IS_UNKNOWN: Final = (
    "a response has several turns, and compute_score isn't told which of them the policy wrote: it is not scored\n"
    "use verl's reward manager: `rewardkit config verl-args FORMULA` prints its keys"
)


class ComputeScore(Adapter):
    """What verl calls. Build one with :func:`compute_score_of`."""

    def __init__(self, reward: AnyReward) -> None:
        super().__init__(reward, _COMPUTE_SCORE)
        self.__name__ = "compute_score"

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
            ground_truth: its ground truth.
            extra_info: the row's `extra_info`.

        Returns:
            ``score``, every name's own value (0 where it has none), ``<term>/status``, and ``unscored``: the same
            keys for every row.
        """
        truth = ground_truth.tolist() if isinstance(ground_truth, np.ndarray) else ground_truth
        info = extra_info if isinstance(extra_info, Mapping) else {}
        turns = turns_of_text(solution_str)
        if len(turns) == 1:
            if _number(info.get("num_turns")) > TURNS_OF_ONE_ANSWER:
                return self._unscored()
            response = solution_str
        else:
            response = last_said(turns)
        scores = self.score(Batch([response], [truth], data_sources=[data_source], extra_infos=[info]))
        total = 0.0 if scores.unscored[0] else float(scores.total[0])
        return {"score": total, **self.numbers(scores, 0, no_value=0.0)}

    def _unscored(self) -> dict[str, float]:
        """The answer for a text of several turns of which nothing says what the policy wrote."""
        self._failures.log_once("turns", _WHOSE_IS_UNKNOWN)
        statuses = dict.fromkeys(map(status_key, self.program.terms), float(Status.ERROR))
        return {"score": 0.0, **dict.fromkeys(self.program.names, 0.0), **statuses, UNSCORED_KEY: 1.0}


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float | np.number) else 0.0


def compute_score_of(reward: AnyReward) -> ComputeScore:
    """A `compute_score` that pays by a formula.

    Args:
        reward: a formula, its text, a reward file or the name of a ready-made reward.

    Raises:
        CompileError: the formula needs what compute_score does not hand over.
        FormulaError, ConfigError: the reward doesn't load.
    """
    return ComputeScore(reward)
