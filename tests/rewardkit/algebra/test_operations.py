"""What every operation says of itself is true. A new operation is in all of these the moment it is defined."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, assume, find, given, settings
from hypothesis import strategies as st

from rewardkit import Batch, Status, bounds, compile, fingerprint, from_json, parse, to_json, when
from rewardkit.algebra.bounds import all_bounds
from rewardkit.algebra.direction import Direction
from rewardkit.algebra.expression import Reward, TokenReward, Verdict
from rewardkit.algebra.interval import Interval
from rewardkit.algebra.operation import OPERATIONS, RULES, Context, Expression, Operation, may_step_out
from rewardkit.algebra.parse import parse_any
from rewardkit.algebra.registry import functions
from rewardkit.algebra.values import Values
from rewardkit.analysis.mutation import mutants
from rewardkit.errors import FormulaError
from tests.reference import Reference
from tests.strategies import STRATEGIES, TERMS, batches

NAMES = sorted(OPERATIONS)
LEAVES = {"number", "schedule", "term"}
NO_DIRECTION = {"group_share"}  # which values are equal: it pays failures itself, and nothing else has a direction


def test_every_operation_has_a_strategy_and_a_second_implementation() -> None:
    """Add a line to a table of `tests/strategies.py`, and a method to `tests/reference.py`."""
    assert set(OPERATIONS) - set(STRATEGIES) == set()
    assert {name for name in OPERATIONS if not hasattr(Reference, f"_{name}")} == set()


def nodes(name: str) -> Any:
    return STRATEGIES.get(name, st.nothing()).filter(lambda node: name in {n.operation.json_name for n in node.walk()})


def formula_of(node: Expression) -> Any:
    """The node as a formula that compiles: a condition is paid."""
    formula = node if isinstance(node, Reward | TokenReward) else when(node, 1, 0)
    try:
        compile(formula)
    except FormulaError:  # two nodes under one name
        assume(False)
    return formula


@pytest.mark.parametrize("name", NAMES)
@given(st.data(), batches())
@settings(max_examples=8)
def test_the_engine_pays_what_the_reference_pays_within_the_bounds(name: str, data: Any, batch: Batch) -> None:
    formula = formula_of(data.draw(nodes(name)))
    program, reference, interval = compile(formula), Reference(formula, batch), bounds(formula)
    scores = program(batch)
    for i in range(len(batch)):
        expected = reference.total(i)
        assert Status(int(scores.status[i])) is expected.status
        if expected.value is None:
            assert np.isnan(scores.total[i])
        else:
            np.testing.assert_allclose(scores.total[i], expected.value, rtol=1e-9, atol=1e-9)
            slack = 1e-9 * max(1.0, abs(expected.value))
            assert interval.low - slack <= scores.total[i] <= interval.high + slack
    leaves = program.leaves(batch)
    again = program.finish(leaves, step=batch.step, groups=batch.groups)
    np.testing.assert_array_equal(again.total, scores.total)
    np.testing.assert_array_equal(again.status, scores.status)


@pytest.mark.parametrize("name", NAMES)
@given(st.data())
@settings(max_examples=8)
def test_text_json_and_pickles_read_back(name: str, data: Any) -> None:
    node = data.draw(nodes(name))
    again = parse_any(repr(node), TERMS)
    assert (again, type(again), repr(again)) == (node, type(node), repr(node))
    formula = formula_of(node)
    assert from_json(to_json(formula), TERMS) == formula
    assert copy.deepcopy(node) == node  # as pickling does it
    names = {n["op"] for n in _plain_nodes(json.loads(to_json(formula))["formula"])}
    assert name in names


def _plain_nodes(plain: dict[str, Any]) -> list[dict[str, Any]]:
    return [plain, *(n for a in plain.get("args", []) for n in _plain_nodes(a))]


@pytest.mark.parametrize("name", NAMES)
@given(st.data())
@settings(max_examples=5)
def test_what_a_slip_makes_of_it_could_have_been_written(name: str, data: Any) -> None:
    formula = formula_of(data.draw(nodes(name)))
    for mutant in mutants(formula):
        assert mutant.reward != formula
        assert parse(repr(mutant.reward), TERMS) == mutant.reward


@pytest.mark.parametrize("name", sorted(set(NAMES) - LEAVES - NO_DIRECTION))
@given(st.data())
@settings(max_examples=25)
def test_it_moves_the_way_that_it_says_when_one_operand_rises(name: str, data: Any) -> None:
    node = data.draw(nodes(name).filter(lambda node: node.operation.json_name == name))
    known = all_bounds(node)
    intervals = [known[a] for a in node.args]
    i = data.draw(st.integers(0, len(node.args) - 1))
    before = [data.draw(_within(a, known[a])) for a in node.args]
    after = [*before[:i], data.draw(_within(node.args[i], intervals[i])), *before[i + 1 :]]
    low, high = sorted([before, after], key=lambda values: values[i])
    others = data.draw(st.lists(_within(node.args[0], intervals[0]), min_size=3, max_size=3))
    moved = _value(node, high, others) - _value(node, low, others)
    scale = 1e-9 * max(1.0, *(abs(v) for v in (*low, *high)))
    direction = node.operation.monotonicity(i, intervals)
    if direction in (Direction.NONE, Direction.RISES):
        assert moved >= -scale
    if direction in (Direction.NONE, Direction.FALLS):
        assert moved <= scale


def _within(operand: Expression, interval: Interval) -> Any:
    """A value of an operand, not too far out where it has no bounds."""
    low, high = max(interval.low, -1e3), min(interval.high, 1e3)
    if not isinstance(operand, Reward | TokenReward) or isinstance(operand, Verdict):
        return st.sampled_from([0.0, 1.0])
    return st.floats(min(low, high), max(low, high))


def _value(node: Expression, operands: list[float], others: list[float]) -> float:
    """What a node is worth on the first of four rows of one group; the first operand of the others is given."""
    batch = Batch(["x"] * 4, data_sources=["a"] * 4, groups=["g"] * 4, tokens=[[0]] * 4)
    columns = [np.array([v, *(others if k == 0 else [v] * 3)]) for k, v in enumerate(operands)]
    nothing = np.zeros(4, dtype=np.int8)
    values = [Values(column, nothing, nothing.astype(bool)) for column in columns]
    context = Context({}, dict.fromkeys(node.walk(), Direction.RISES), batch, None, batch.groups)
    return float(node.operation.values(node, values, context).value[0])


@pytest.mark.parametrize("name", NAMES)
@given(st.data(), batches())
@settings(max_examples=5)
def test_it_is_never_not_applicable_where_it_says_so(name: str, data: Any, batch: Batch) -> None:
    formula = formula_of(data.draw(nodes(name)))
    program = compile(formula)
    leaves = program.leaves(batch)
    for node, values in program.trace(leaves, step=batch.step, groups=batch.groups).items():
        if not may_step_out(node) and not np.isin(values.status, [-1]).any():
            ran = all((leaves.columns[n].statuses != -1).all() for n in node.walk() if n.term is not None)
            assert not ran or not (values.status == Status.NOT_APPLICABLE).any(), repr(node)


@pytest.mark.parametrize("rule", RULES)
def test_a_forgotten_rule_is_refused_at_import_by_name(rule: str) -> None:
    said = {name: getattr(OPERATIONS["clip"], name) for name in RULES}
    said["json_name"] = "probe"
    del said[rule]
    with pytest.raises(TypeError, match=f"the operation Probe lacks its rule `{rule}`"):
        type("Probe", (Operation,), {"__slots__": (), **said})
    assert "probe" not in OPERATIONS


def test_two_operations_of_one_name_are_refused() -> None:
    said = {name: getattr(OPERATIONS["clip"], name) for name in RULES}
    with pytest.raises(TypeError, match="Clip is called 'clip' already"):
        type("Probe", (Operation,), {"__slots__": (), **said})


def test_functions_say_the_needs_of_what_they_build() -> None:
    of_terms = {"rubric": {"model": "m"}}
    for name, options in of_terms.items():
        assert {"response", *functions()[name].needs} == compile(functions()[name].build(**options)).needs, name
    built = {
        name: [n for n in OPERATIONS if n == name or (n == "schedule" and name == "linear")]
        for name in functions()
        if name not in of_terms
    }
    for name, (operation,) in built.items():
        node = STRATEGIES[operation].filter(lambda n, o=operation: n.operation.json_name == o)
        example = _one(node)
        assert set(functions()[name].needs) == set(example.operation.needs()), name


def _one(strategy: Any) -> Expression:
    return find(strategy, lambda _: True, settings=settings(phases=[Phase.generate]))


def test_nodes_that_differ_in_a_parameter_alone_are_different() -> None:
    a, b = parse("clip(alpha(), 0, 1)", TERMS), parse("clip(alpha(), 0, 2)", TERMS)
    assert a != b
    assert len({a, b, parse("clip(alpha(), 0, 1)", TERMS)}) == 2
    assert fingerprint(a) != fingerprint(b)
