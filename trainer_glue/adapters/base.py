"""What every adapter does alike; an adapter itself is what differs.

It loads and compiles the formula, refuses before the run what its trainer does not hand over, scores a batch, tells the
first failure of each term, and lays out the numbers that stand beside a reward. The text of a chat is in `messages`,
end tokens in `end_tokens`, and what a row without a score is paid in `unscored`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from rewardkit.algebra.expression import Reward, TokenReward
from rewardkit.batch import Batch, Status
from rewardkit.engine.loading import load_reward
from rewardkit.engine.program import Program, compile
from rewardkit.engine.scores import UNSCORED_KEY, Scores, status_key
from rewardkit.errors import CompileError
from rewardkit.processes.budget import batch_budget
from trainer_glue.adapters.first_failures import FirstFailures

AnyReward = Reward | TokenReward | str
"""A formula, its text, a reward file, or the name of a ready-made reward."""
_CARRIES_ALL: Final = "verl carries groups, tokens and the training step"


@dataclass(frozen=True, slots=True)
class Trainer:
    """What a trainer's call for rewards does not carry."""

    name: str
    """As messages name it."""
    gives: str
    """What it hands over, to end the sentence "TRL hands over ..."."""
    missing: frozenset[str] = frozenset()
    """Needs of a formula that it can't meet: of `NEEDS` in `rewardkit.algebra.term`, and `step`."""
    hint: str = _CARRIES_ALL
    """What to do about a need that is missing."""
    token_level: bool = False
    """Whether it takes one number a token."""


class Adapter:
    """A compiled formula behind a trainer's call.

    Args:
        reward: a formula, its text, a reward file, or the name of a ready-made reward.
        trainer: what the trainer does not carry.

    Raises:
        CompileError: the formula needs what the trainer doesn't hand over, or is token-level where it takes one number.
        FormulaError, ConfigError: the reward doesn't load.
    """

    def __init__(self, reward: AnyReward, trainer: Trainer) -> None:
        self.program: Program = compile(load_reward(reward).reward if isinstance(reward, str) else reward)
        formula = self.program.reward
        if isinstance(formula, TokenReward) and not trainer.token_level:
            raise CompileError(
                f"{trainer.name} takes one number a response, and {formula!r} is token-level",
                hint="sum it with (...).total(); verl carries token-level rewards",
            )
        missing = sorted(self.program.needs & trainer.missing)
        if missing:
            raise CompileError(
                f"{formula!r} needs {', '.join(missing)}, and {trainer.name} hands over {trainer.gives}",
                hint=trainer.hint,
            )
        self._failures = FirstFailures()

    @property
    def grouped(self) -> bool:
        """Whether the formula compares the responses of one prompt."""
        return "group" in self.program.needs

    def score(self, batch: Batch) -> Scores:
        """The scores of a batch; the first failure of each term goes to standard error."""
        with batch_budget():
            scores = self.program(batch)
        self.log_failures(scores)
        return scores

    def log_failures(self, scores: Scores) -> None:
        """Write the first failure of each term to standard error, once."""
        self._failures.log(scores)

    def numbers(self, scores: Scores, row: int, *, no_value: float | None = None) -> dict[str, float]:
        """The numbers beside one row's reward: each name's own value, each term's status, and whether it is unscored.

        Args:
            scores: of a batch.
            row: which row.
            no_value: what stands for a value where a name has none; None leaves the name out.
        """
        numbers: dict[str, float] = {}
        for name, values in scores.values.items():
            if np.isfinite(values[row]):
                numbers[name] = float(values[row])
            elif no_value is not None:
                numbers[name] = no_value
        numbers |= {status_key(name): float(scores.statuses[name][row]) for name in self.program.terms}
        numbers[UNSCORED_KEY] = float(scores.unscored[row])
        return numbers


def why_unscored(scores: Scores, row: int) -> str:
    """Why a row has no score, in one line a term."""
    reasons = [f"{name}: {rows[row]}" for name, rows in scores.reasons.items() if row in rows]
    return f"no score: {'; '.join(reasons) or Status(scores.status[row]).name}"
