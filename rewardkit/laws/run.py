"""Run laws on a reward: as tests for pytest, or for a report."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Flaky, HypothesisDeprecationWarning, HypothesisException

from rewardkit.algebra.expression import Reward, TokenReward
from rewardkit.batch import Batch, Sample
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
        """True when no example broke it. That is evidence, not proof."""
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
        FormulaError: text that is not a formula.
    """
    try:
        import pytest
    except ImportError as e:
        raise MissingDependencyError(
            "laws() makes tests for pytest, which is not installed", hint="pip install 'rewardkit-rl[testing]'"
        ) from e
    trials = Trials(compile(reward), samples=samples, examples=examples)
    chosen = [*ALWAYS, *stated]

    def test(law: Law) -> None:
        trials.run(law)

    return pytest.mark.parametrize("law", chosen, ids=[law.name for law in chosen])(test)


def check(
    reward: Reward | TokenReward | str,
    *stated: Law,
    samples: Sequence[Sample] = (),
    examples: int = EXAMPLES,
) -> list[Outcome]:
    """Every law's outcome, without pytest. See :func:`laws`."""
    trials = Trials(compile(reward), samples=samples, examples=examples)
    outcomes = []
    for law in (*ALWAYS, *stated):
        try:
            trials.run(law)
        except LawBroken as e:
            outcomes.append(Outcome(law, e))
        else:
            outcomes.append(Outcome(law, None))
    return outcomes


class Trials:
    """The batches that all laws of a reward are tried on. They are drawn once: that takes longer than most laws do.

    Raises:
        ParameterError: fewer than one example.
    """

    def __init__(self, program: Program, *, samples: Sequence[Sample] = (), examples: int = EXAMPLES) -> None:
        if examples < 1:
            raise ParameterError(f"examples={examples}; expected at least 1")
        self._program, self._samples, self._examples = program, samples, examples

    @cached_property
    def _batches(self) -> Sequence[Batch]:
        drawn: list[Batch] = []
        self._on_each_batch(drawn.append, Phase.generate)
        return drawn

    def run(self, law: Law) -> None:
        """Try a law on all batches.

        Raises:
            LawBroken: with the smallest batch that was found to break it.
        """
        first = self._first_fault(law)
        if first is None:
            return
        smallest = (Phase.generate, Phase.target, Phase.shrink)
        with suppress(Flaky):
            self._on_each_batch(lambda batch: law.check(self._program, batch), *smallest)
        if not isinstance(first, HypothesisException):  # else the law called `assume`, and nothing broke it
            raise first

    def _first_fault(self, law: Law) -> Exception | None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HypothesisDeprecationWarning)  # of `assume`, which this is no place for
            for batch in self._batches:
                try:
                    law.check(self._program, batch.take(range(len(batch))))  # no law sees what another left in a batch
                except Exception as e:
                    return e
        return None

    def _on_each_batch(self, function: Callable[[Batch], object], *phases: Phase) -> None:
        # No database: a law is run on formulas that change, and old examples would be replayed on new ones.
        @seed(0)
        @settings(
            max_examples=self._examples,
            deadline=None,
            database=None,
            print_blob=False,
            phases=phases,
            suppress_health_check=list(HealthCheck),
        )
        @given(groups(self._samples, programs=_runs_programs(self._program)))
        def each(batch: Any) -> None:
            function(batch)

        each()


def _runs_programs(program: Program) -> bool:
    """Whether ground truths have to be tests of programs for a formula to look at responses at all."""
    return any(node.term is not None and node.term.name == "code_tests" for node in program.terms.values())
