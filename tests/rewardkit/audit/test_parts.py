"""The parts of a formula add up to what it pays."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from rewardkit import Batch, compile, parse
from rewardkit.algebra.expression import Reward, TokenReward
from rewardkit.audit import FormulaSubject, problem_of
from rewardkit.audit.parts import parts, shaping
from tests.strategies import batches, formulas


@given(formulas, batches())
def test_parts_add_up(formula: Reward | TokenReward, batch: Batch) -> None:
    program = compile(formula)
    leaves = program.leaves(batch)
    values = program.trace(leaves, step=batch.step, groups=batch.groups)
    root = values[program.reward]
    by_part = parts(formula, values, len(batch))
    total = np.sum([*by_part.values(), np.zeros(len(batch))], axis=0)
    scored = ~np.isnan(root.value)
    np.testing.assert_allclose(total[scored], root.value[scored], rtol=1e-6, atol=1e-6)


def test_what_was_paid_for_what() -> None:
    subject = FormulaSubject(compile("length(0.1) + 2 * gsm8k() - 0.5 * repetition(2).named('loops')"))
    problem = problem_of({"prompt": "?", "ground_truth": "72"})
    assert problem is not None
    by_part = subject.parts([problem.sample("so it is 72"), problem.sample("so so so so")])
    assert {k: v.round(3).tolist() for k, v in by_part.items()} == {
        "length(0.1)": [0.4, 0.4],
        "2 * gsm8k()": [2.0, 0.0],
        "-0.5 * loops": [0.0, -0.333],
    }


def test_shaping_is_what_no_ground_truth_has_a_say_in() -> None:
    assert shaping(parse("length(0.1) + 2 * gsm8k() + observe(length())")) == {"length(0.1)"}
    assert shaping(parse("when(length() > 30, 1, gsm8k())")) == {"1 where length() > 30"}
    assert shaping(parse("when(gsm8k(), 1 + length(0.1), 0)")) == {"length(0.1)"}
