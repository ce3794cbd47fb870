"""Which mutants do the examples notice?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from rewardkit.algebra.expression import Reward, TokenReward
from rewardkit.analysis.mutation.examples import Example
from rewardkit.analysis.mutation.mutants import Mutant, mutants
from rewardkit.batch import Batch, Floats
from rewardkit.engine.program import Program, compile
from rewardkit.errors import RewardKitError

_TOLERANCE: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Noticed:
    """What the examples say of a formula and of its mutants.

    Attributes:
        failed: examples that the formula itself does not pay as they say, with what it pays.
        caught: mutants that some example notices, with the first that does.
        survived: mutants that none does.
    """

    failed: tuple[tuple[Example, float], ...]
    caught: tuple[tuple[Mutant, Example], ...]
    survived: tuple[Mutant, ...]


def notice(root: Reward | TokenReward, examples: Sequence[Example]) -> Noticed:
    """Run every mutant on the examples.

    An example that says what it should be paid notices a mutant that pays it otherwise; one that doesn't, a mutant that
    pays it otherwise than the formula does.

    Raises:
        CompileError: the formula needs what the examples lack.
    """
    batch = _batch(examples)
    own = _totals(compile(root), batch)
    said = np.array([np.nan if e.pay is None else e.pay for e in examples])
    wanted = np.where(np.isnan(said), own, said)
    wrong = ~np.isnan(said) & _differ(own, said)
    caught: list[tuple[Mutant, Example]] = []
    survived: list[Mutant] = []
    for mutant in mutants(root):
        try:
            program = compile(mutant.reward)
        except RewardKitError:  # a name that now stands twice: nobody could have written it
            continue
        seen = np.flatnonzero(_differ(_totals(program, batch), wanted) & ~wrong)
        if len(seen):
            caught.append((mutant, examples[int(seen[0])]))
        else:
            survived.append(mutant)
    failed = tuple((examples[i], float(own[i])) for i in np.flatnonzero(wrong).tolist())
    return Noticed(failed, tuple(caught), tuple(survived))


def _batch(examples: Sequence[Example]) -> Batch:
    """The examples as a batch; those without a group are a group together, those without tokens have none."""
    samples = [e.sample for e in examples]
    if any(s.tokens is not None for s in samples):
        samples = [s if s.tokens is not None else replace(s, tokens=[]) for s in samples]
    return Batch.of([s if s.group is not None else replace(s, group=0) for s in samples])


def _totals(program: Program, batch: Batch) -> Floats:
    return program(batch).total


def _differ(a: Floats, b: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return ~np.isclose(a, b, rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True)
