"""What an estimator would make of rollouts that are there: the advantages, before any of them is trained on.

Held in memory are numbers: for each row its total, its parts, its group and its length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from rewardkit.audit.parts import part_weights
from rewardkit.batch import Floats, Mask
from rewardkit.comparison.advantages import ESTIMATORS, LINEAR, gdpo
from rewardkit.comparison.orders import Codes, in_groups
from rewardkit.comparison.run import parts_of
from rewardkit.comparison.sides import FLOOR, FormulaSide, Side
from rewardkit.errors import ConfigError, DataError

ZERO: Final = 1e-6
"""An advantage below this teaches nothing: rounding makes such of equal rewards."""


@dataclass(frozen=True, slots=True)
class Against:
    """What another reward would change.

    Attributes:
        name: that reward.
        sign_changes: rows whose advantage has the other sign.
        appear: rows whose advantage is zero, and would not be.
        vanish: rows whose advantage is not zero, and would be.
        dead: groups that would teach nothing.
    """

    name: str
    sign_changes: int
    appear: int
    vanish: int
    dead: int


@dataclass(frozen=True)
class Simulation:
    """The advantages of an estimator, summed up.

    Attributes:
        estimator: its name.
        reward: the reward's name.
        rows: the rows that were read.
        unscored: rows without a score; each is paid its group's mean, as the adapters do.
        groups: groups of two rows or more. What follows is about these.
        alone: rows in no such group; an estimator that compares can't teach anything by them.
        dead: groups whose rows all have the same advantage: they don't say which response is better.
        thrown_away: groups that dynamic sampling would throw away: all rows paid the same, or none scored.
        positive: the share of rows with an advantage above zero.
        spread: the standard deviation of the advantages.
        largest: the largest advantage, by size.
        shares: by part of the formula, its share of the advantages' variance. The shares add up to 1; one is negative
            where the part pulls against the rest. Empty where nothing varies or the reward is a function.
        of_length: the share of the advantages' variance that the response's length explains, within groups: the
            squared correlation with the number of words; NaN where one of them doesn't vary.
        with_length: that correlation, with its sign.
        against: what another reward would change; None where none was given.
    """

    estimator: str
    reward: str
    rows: int
    unscored: int
    groups: int
    alone: int
    dead: int
    thrown_away: int
    positive: float
    spread: float
    largest: float
    shares: Mapping[str, float]
    of_length: float
    with_length: float
    against: Against | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON: None where a number doesn't exist."""
        plain = asdict(self)
        return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in plain.items()}


def simulate(
    reward: Side,
    data: Path,
    *,
    estimator: str = "grpo",
    against: Side | None = None,
    step: int | None = None,
    limit: int | None = None,
    progress: Callable[[float, int], object] | None = None,
) -> Simulation:
    """The advantages that an estimator would make of rollouts.

    Args:
        reward: what pays.
        data: rows with responses and groups, as :func:`rewardkit.comparison.compare` reads them.
        estimator: one of `ESTIMATORS`.
        against: another reward, to say what it would change.
        step: the training step, for schedules.
        limit: the first so many rows only.
        progress: told the share of the files that is read, and the rows.

    Raises:
        ConfigError: an unknown estimator, or gdpo with a Python function, whose parts can't be seen.
        DataError: rows that can't be read; rows without groups, or none with two rows.
        CompileError: a formula needs what the rows don't have.
    """
    sides = (reward,) if against is None else (reward, against)
    if estimator not in ESTIMATORS:
        raise ConfigError(f"no estimator {estimator!r}", hint=f"one of {', '.join(ESTIMATORS)}")
    if estimator == "gdpo" and not all(isinstance(side, FormulaSide) for side in sides):
        raise ConfigError("gdpo normalises each part of a formula, and a Python function has no parts")
    held = [_Held(side) for side in sides]
    codes: list[Codes] = []
    words: list[Floats] = []
    rows = 0
    for part in parts_of(sides, data, step=step, limit=limit):
        for one in held:
            one.add(part.batch)
        codes.append(part.codes)
        words.append(np.array([len(text.split()) for text in part.batch.responses], dtype=np.float64))
        rows += len(part.batch)
        if progress is not None:
            progress(part.done, rows)
    return _Simulator(estimator, np.concatenate(codes), np.concatenate(words)).result(held, data)


class _Held:
    """What one side pays all rows."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self._totals: list[Floats] = []
        self._parts: list[Floats] = []

    def add(self, batch: Any) -> None:
        paid = self.side.pay(batch)
        self._totals.append(paid.total)
        self._parts.append(np.array([paid.parts[label] for label in self.side.labels]).reshape(-1, len(batch)))

    @property
    def total(self) -> Floats:
        return np.concatenate(self._totals)

    @property
    def parts(self) -> Floats:
        """Shape (labels, n)."""
        return np.concatenate(self._parts, axis=1)

    def weights(self) -> list[float]:
        assert isinstance(self.side, FormulaSide)
        weights = part_weights(self.side.program.reward)
        return [weights.get(label, 1.0) for label in self.side.labels]


class _Simulator:
    def __init__(self, estimator: str, codes: Codes, words: Floats) -> None:
        self.estimator = estimator
        self._words = words
        _, inverse, counts = np.unique(codes, return_inverse=True, return_counts=True)
        self.member: Mask = (counts[inverse] > 1) & (codes >= 0)
        self.codes = codes

    def result(self, held: list[_Held], data: Path) -> Simulation:
        if not self.member.any():
            none = "no two rows of a group" if (self.codes >= 0).any() else "no column `group`, `uid` or `prompt`"
            raise DataError(
                f"{data} has {none}: an advantage compares the responses to one prompt",
                hint="give rollouts of several responses a prompt, with a group in each row",
            )
        first = held[0]
        total, parts = self._filled(first)
        advantages, of_parts = self._advantages(first, total, parts)
        codes, member = self.codes[self.member], self.member
        dead, same = in_groups(advantages, codes), in_groups(total, codes)
        unscored = np.isnan(first.total)
        against = None
        if len(held) > 1:
            other, other_parts = self._filled(held[1])
            theirs, _ = self._advantages(held[1], other, other_parts)
            signs = [np.where(np.abs(a) < ZERO, 0, np.sign(a)) for a in (advantages, theirs)]
            against = Against(
                held[1].side.name,
                int((signs[0] * signs[1] < 0).sum()),
                int(((signs[0] == 0) & (signs[1] != 0)).sum()),
                int(((signs[0] != 0) & (signs[1] == 0)).sum()),
                in_groups(theirs, codes).dead,
            )
        length = in_groups(self._words[member], codes).centred
        correlation = _correlation(advantages, length)
        return Simulation(
            estimator=self.estimator,
            reward=first.side.name,
            rows=len(self.codes),
            unscored=int(unscored.sum()),
            groups=dead.groups,
            alone=int((~member).sum()),
            dead=dead.dead,
            thrown_away=same.dead,
            positive=float((advantages > ZERO).mean()),
            spread=float(advantages.std()),
            largest=float(advantages[np.abs(advantages).argmax()]),
            shares=_shares(first.side.labels, of_parts, advantages),
            of_length=correlation**2,
            with_length=correlation,
            against=against,
        )

    def _filled(self, held: _Held) -> tuple[Floats, Floats]:
        """Totals and parts of the rows in groups; an unscored row has its group's mean of each."""
        total, parts = held.total[self.member], held.parts[:, self.member]
        codes = self.codes[self.member]
        missing = np.isnan(total)
        if missing.any():
            parts = np.where(missing, np.nan, parts)
            total = self._with_means(total, codes)
            parts = np.array([self._with_means(part, codes) for part in parts]).reshape(len(held.side.labels), -1)
        return total, parts

    @staticmethod
    def _means(values: Floats, codes: Codes) -> Floats:
        _, codes = np.unique(codes, return_inverse=True)
        has = ~np.isnan(values)
        sums = np.bincount(codes, np.where(has, values, 0.0))
        means: Floats = (sums / np.maximum(1, np.bincount(codes, has)))[codes]
        return means

    def _with_means(self, values: Floats, codes: Codes) -> Floats:
        return np.where(np.isnan(values), self._means(values, codes), values)

    def _advantages(self, held: _Held, total: Floats, parts: Floats) -> tuple[Floats, Floats]:
        """The advantages, and what of them each part makes, shape (labels, n)."""
        codes = self.codes[self.member]
        if self.estimator == "gdpo":
            weights = held.weights()
            advantages = gdpo(list(parts), weights, codes, np.maximum(1.0, self._words[self.member]))
            of_parts = [w * LINEAR["grpo"](part, codes) for part, w in zip(parts, weights, strict=True)]
            return advantages, np.array(of_parts).reshape(len(parts), -1)
        advantages = LINEAR[self.estimator](total, codes)
        centred = total - self._means(total, codes)
        # The estimator scales each group by one number: what it makes of a part is the part, centred, by that number.
        scale = np.divide(advantages, centred, out=np.zeros_like(total), where=np.abs(centred) > ZERO)
        return advantages, np.array([(part - self._means(part, codes)) * scale for part in parts]).reshape(
            len(parts), -1
        )


def _shares(labels: tuple[str, ...], of_parts: Floats, advantages: Floats) -> dict[str, float]:
    if not len(of_parts):
        return {}
    along = of_parts @ (advantages - advantages.mean())
    whole = float(along.sum())
    if abs(whole) < 1e-12:
        return {}
    return {label: float(x / whole) for label, x in zip(labels, along, strict=True) if label != FLOOR or abs(x) > 1e-12}


def _correlation(a: Floats, b: Floats) -> float:
    x, y = a - a.mean(), b - b.mean()
    size = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / size if size > 1e-12 else math.nan
