"""Run laws on a reward: as tests for pytest, or for a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import HealthCheck, Phase, given, settings

from rewardkit.algebra.expression import Reward, TokenReward
from rewardkit.batch import Sample
from rewardkit.engine.program import Program, compile
from rewardkit.errors import MissingDependencyError, ParameterError
from rewardkit.laws.always import ALWAYS
from rewardkit.laws.law import Law, LawBroken
from rewardkit.laws.texts import groups

EXAMPLES: Final = 100
"""Batches that each law is tried on; hypothesis's own default."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one law: kept on all examples, or broken by the smallest one that was found."""

    law: Law
    broken: LawBroken | None

    @property
    def kept(self) -> bool:
        """True when no example broke it; that is evidence, not proof."""
        return self.broken is None


def laws(
    reward: Reward | TokenReward | str,
    *stated: Law,
    samples: Sequence[Sample] = (),
    examples: int = EXAMPLES,
) -> Callable[..., None]:
    """Tests of a reward for pytest, one for each law.

    ``test_my_reward = laws(reward, dominates(gsm8k()))`` at the top level of a test file is all it takes.

    Args:
        reward: a formula or its text.
        stated: laws beside those that every reward has to keep.
        samples: real rows to start from.
        examples: batches that each law is tried on.

    Raises:
        MissingDependencyError: no pytest.
        FormulaError: text that is no formula.
    """
    try:
        import pytest
    except ImportError as e:
        raise MissingDependencyError(
            "laws() makes tests for pytest, which is not installed", hint="pip install 'rewardkit-rl[testing]'"
        ) from e
    program = compile(reward)
    chosen = [*ALWAYS, *stated]

    def test(law: Law) -> None:
        run_law(program, law, samples=samples, examples=examples)

    return pytest.mark.parametrize("law", chosen, ids=[law.name for law in chosen])(test)


def check(
    reward: Reward | TokenReward | str,
    *stated: Law,
    samples: Sequence[Sample] = (),
    examples: int = EXAMPLES,
) -> list[Outcome]:
    """Every law's outcome, without pytest; see :func:`laws`."""
    program = compile(reward)
    outcomes = []
    for law in (*ALWAYS, *stated):
        try:
            run_law(program, law, samples=samples, examples=examples)
        except LawBroken as e:
            outcomes.append(Outcome(law, e))
        else:
            outcomes.append(Outcome(law, None))
    return outcomes


def run_law(program: Program, law: Law, *, samples: Sequence[Sample] = (), examples: int = EXAMPLES) -> None:
    """Try one law on many batches.

    Raises:
        LawBroken: with the smallest batch that was found to break it.
        ParameterError: fewer than one example.
    """
    if examples < 1:
        raise ParameterError(f"examples={examples}; expected at least 1")

    # No database: a law is run on formulas that change, and old examples would be replayed on new ones.
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        print_blob=False,
        phases=(Phase.generate, Phase.target, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(groups(samples))
    def holds(batch: Any) -> None:
        law.check(program, batch)

    holds()
