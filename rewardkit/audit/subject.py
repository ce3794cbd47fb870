"""What is audited: a formula, whose parts are seen, or a Python function, which only says a number.

Both answer one question, what a list of samples is paid. A text on which the reward fails is paid NaN, with the reason.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np

from rewardkit.algebra.expression import Expression
from rewardkit.algebra.operation import RELATIVE
from rewardkit.audit.ground_truths import truth_of
from rewardkit.audit.literals import Literals, literals_of
from rewardkit.audit.parts import parts, shaping
from rewardkit.batch import Batch, Floats, Sample, Status
from rewardkit.engine.program import Program
from rewardkit.engine.scores import headline
from rewardkit.scoring.tokens import encoder

_PIECE: Final = re.compile(r"\w{1,6}|[^\w\s]|\s+")


@dataclass(frozen=True, slots=True)
class Pay:
    """What samples are paid.

    Attributes:
        total: shape (n,); NaN where the reward failed or does not apply.
        reasons: by row, why a reward failed on it.
    """

    total: Floats
    reasons: Mapping[int, str] = field(default_factory=dict)


class Subject(Protocol):
    """Something that pays responses."""

    @property
    def name(self) -> str:
        """What the user wrote."""

    @property
    def formula(self) -> Expression | None:
        """The formula, or None where only a function is at hand."""

    @property
    def trusted(self) -> bool:
        """Whether it is known to come back from any text, so that no deadline has to be set from outside."""

    @property
    def shaping(self) -> frozenset[str]:
        """The parts that no ground truth has a say in."""

    @property
    def literals(self) -> Literals:
        """The texts and numbers that it is written with."""

    @property
    def reads_turns(self) -> bool:
        """Whether it may see what others than the policy wrote."""

    @property
    def knows_of_tools(self) -> bool:
        """Whether it is made for trajectories of several turns."""

    def pay(self, samples: Sequence[Sample]) -> Pay:
        """What each sample is paid, alone."""

    def together(self, samples: Sequence[Sample]) -> Floats | None:
        """What samples of one group are paid in one call. None where each has a call of its own."""

    def close(self) -> None:
        """End what it runs in, if it runs apart."""

    def parts(self, samples: Sequence[Sample]) -> Mapping[str, Floats]:
        """By part of the formula, what each sample is paid for it. They add up to the total. Without one, nothing."""


class FormulaSubject:
    """A compiled formula."""

    def __init__(self, program: Program, name: str | None = None) -> None:
        self.program = program
        self.name = name or repr(program.reward)
        self.formula: Expression | None = program.reward
        self.shaping = shaping(program.reward)
        self.literals = literals_of(program.reward)
        self.reads_turns = self.knows_of_tools = _reads_turns(program.reward)
        self.trusted = all(n.term is None or n.term.builtin for n in program.reward.walk())

    def pay(self, samples: Sequence[Sample]) -> Pay:
        """What each sample is paid."""
        if not samples:
            return Pay(np.zeros(0))
        batch, every = self._batch(samples)
        scores = self.program(batch)
        reasons: dict[int, str] = {}
        for name, why in scores.reasons.items():
            for row, text in why.items():
                if row % every == 0 and scores.statuses[name][row] == scores.status[row] == Status.ERROR:
                    reasons.setdefault(row // every, f"{name}: {headline(text)}")
        return Pay(scores.total[::every], reasons)

    def close(self) -> None:
        """Nothing to end."""

    def together(self, samples: Sequence[Sample]) -> Floats | None:
        """Nothing: rows are kept apart by the engine."""
        return None

    def parts(self, samples: Sequence[Sample]) -> Mapping[str, Floats]:
        """What each sample is paid for each part."""
        batch, every = self._batch(samples)
        leaves = self.program.leaves(batch)
        values = self.program.trace(leaves, step=batch.step, groups=batch.groups)
        return {label: paid[::every] for label, paid in parts(self.program.reward, values, len(batch)).items()}

    def _batch(self, samples: Sequence[Sample]) -> tuple[Batch, int]:
        """The samples as a batch; where the formula compares rollouts, each with a right and a wrong one beside it."""
        needs = self.program.needs
        rows: list[Sample] = list(samples)
        every = 1
        if not RELATIVE.isdisjoint(needs):
            every = 3
            rows = [row for s in samples for row in (s, *_companions(s))]
        n = len(rows)
        return (
            Batch(
                [s.response for s in rows],
                ground_truths=[s.ground_truth for s in rows],
                prompts=[s.prompt for s in rows],
                data_sources=[s.data_source for s in rows],
                extra_infos=[s.extra_info for s in rows],
                truncated=[bool(s.truncated) for s in rows],
                groups=[i // every for i in range(n)],
                tokens=[tokens_of(s.response) for s in rows] if "tokens" in needs else None,
                turns=[s.turns for s in rows],
            ),
            every,
        )


def _reads_turns(root: Expression) -> bool:
    return any(n.term is not None and "turns" in n.term.needs(n) | n.term.reads for n in root.walk())


def _companions(sample: Sample) -> list[Sample]:
    truth = truth_of(sample.ground_truth)
    answers = ("", "") if truth is None else (truth.text, truth.wrong[0])
    return [
        Sample(
            f"#### {answer}",
            ground_truth=sample.ground_truth,
            prompt=sample.prompt,
            data_source=sample.data_source,
            extra_info=sample.extra_info,
        )
        for answer in answers
    ]


def tokens_of(text: str) -> list[int]:
    """Token ids by the tokenizer that was given; without one made up: a word is one to three, equal in equal texts."""
    if (encode := encoder()) is not None:
        return encode([text])[0]
    return [zlib.crc32(piece.encode("utf-8", "surrogatepass")) & 0x1FFFF for piece in _PIECE.findall(text)]
