"""One side of a comparison: a formula, or a Python function such as verl's `compute_score`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np

from rewardkit.audit.function import FunctionSubject
from rewardkit.audit.load import load_subject
from rewardkit.audit.parts import part_names, parts
from rewardkit.audit.subject import FormulaSubject
from rewardkit.batch import Batch, Floats
from rewardkit.engine.program import Program
from rewardkit.engine.scores import headline
from rewardkit.errors import ConfigError
from rewardkit.scoring.run import RequiredFields, required_fields

FLOOR: Final = "the formula's floor"
"""What a row is paid beside its parts: a failure in a place of mixed direction takes the total to the least."""
_OF_A_FUNCTION: Final = RequiredFields(("response", "ground_truth", "prompt", "data_source", "extra_info"), frozenset())


@dataclass(frozen=True, slots=True)
class Paid:
    """What a side pays a batch of n rows.

    Attributes:
        total: shape (n,); NaN where the row is unscored.
        parts: by label, shape (n,): what adds up to a formula's total on a scored row; empty for a function.
        reasons: by row, why it is unscored, where that is known.
    """

    total: Floats
    parts: Mapping[str, Floats]
    reasons: Mapping[int, str] = field(default_factory=dict)


class Side(Protocol):
    """Something that pays rows."""

    @property
    def name(self) -> str:
        """What it is called: the formula, or what the user wrote."""

    @property
    def is_formula(self) -> bool:
        """Whether it has terms that can be told apart."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of its parts."""

    @property
    def required(self) -> RequiredFields:
        """What it reads of a row."""

    def pay(self, batch: Batch) -> Paid:
        """What each row is paid."""


class FormulaSide:
    """A compiled formula. Its parts are its addends, without their weights, so that a weight may change."""

    is_formula = True

    def __init__(self, program: Program) -> None:
        self.program = program
        self.name = repr(program.reward)
        self.labels = (*part_names(program.reward), FLOOR)
        self.required = required_fields(program)

    def pay(self, batch: Batch) -> Paid:
        """What each row is paid, by part.

        Raises:
            CompileError: the formula compares the responses of a prompt, and the batch has no groups.
        """
        leaves = self.program.leaves(batch)
        scores = self.program.finish(leaves, step=batch.step, groups=batch.groups)
        values = self.program.trace(leaves, step=batch.step, groups=batch.groups)
        total = np.where(scores.unscored, np.nan, scores.total)
        shares = parts(self.program.reward, values, len(batch), weighted=False)
        rest = total - np.sum(list(shares.values()), axis=0)
        shares[FLOOR] = np.where(np.abs(rest) > 1e-9 * np.maximum(1.0, np.abs(total)), rest, 0.0)
        reasons = {
            row: f"{name}: {headline(text)}"
            for name, why in scores.reasons.items()
            for row, text in why.items()
            if np.isnan(total[row])
        }
        return Paid(total, shares, reasons)


class FunctionSide:
    """A Python function, called a row at a time. What it pays for can't be seen: it has no parts."""

    is_formula = False
    labels: tuple[str, ...] = ()
    required = _OF_A_FUNCTION

    def __init__(self, function: FunctionSubject) -> None:
        self._function = function
        self.name = function.name

    def pay(self, batch: Batch) -> Paid:
        """What each row is paid; a row on which it raises, or pays no number, is unscored."""
        paid = self._function.pay(list(batch))
        return Paid(paid.total, {}, paid.reasons)


def matched(old: Side, new: Side) -> dict[str, str]:
    """What the parts of two sides are called together: a part that both have by its label.

    Where one side alone has `length(0.1)` and the other alone `length(0.2)`, both are `length(0.1) -> length(0.2)`.
    """
    names = {label: label for label in (*old.labels, *new.labels)}
    alone = [_by_term(label for label in a.labels if label not in b.labels) for a, b in ((old, new), (new, old))]
    for term in alone[0].keys() & alone[1].keys():
        (was, *others), (now, *more) = alone[0][term], alone[1][term]
        if not others and not more:
            names[was] = names[now] = f"{was} -> {now}"
    return names


def _by_term(labels: Iterable[str]) -> dict[str, list[str]]:
    labels_of: dict[str, list[str]] = {}
    for label in labels:
        labels_of.setdefault(label.partition("(")[0], []).append(label)
    return labels_of


def load_side(text: str) -> FormulaSide | FunctionSide:
    """The side that a user names: a formula, a ready-made reward, or `FILE.py[:NAME]` with a reward or a function.

    Raises:
        FormulaError: a formula that doesn't build.
        ConfigError: no such file or name, or a value that pays nothing.
    """
    subject = load_subject(text)
    if isinstance(subject, FormulaSubject):
        return FormulaSide(subject.program)
    if isinstance(subject, FunctionSubject):
        return FunctionSide(subject)
    raise ConfigError(f"{text}: neither a formula nor a function")
