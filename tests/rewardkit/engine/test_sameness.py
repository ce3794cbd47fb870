"""What is equal runs once; what only looks equal does not."""

from __future__ import annotations

import types
from collections import namedtuple
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from rewardkit import Batch, Sample, compile, fingerprint, from_json, parse, term, to_json
from rewardkit.errors import ParseError


@term(bounds=(0, None), needs=("ground_truth",))
def spelled(sample: Sample) -> float:
    return float(len(repr(sample.ground_truth)))


class Named(str):
    def __repr__(self) -> str:
        return "a text of another kind"


Row = namedtuple("Row", "value")
LOOK_EQUAL: list[list[Any]] = [
    [1, 1.0, True, "1", np.int64(1), np.float64(1)],
    [0.0, -0.0],
    [(1,), (1.0,), (True,), [1], [1.0]],
    [((1, "a"),), ((True, "a"),)],
    [Decimal("1.0"), Decimal("1.00")],
    [frozenset({1}), frozenset({True})],
    [Row(1), Row(1.0), (1,)],
    ["a", Named("a")],
    [{"a": 1}, {"a": True}],
    [float("nan"), float("nan")],
]


@pytest.mark.parametrize("ground_truths", LOOK_EQUAL, ids=repr)
def test_ground_truths_that_only_look_equal_are_each_scored(ground_truths: list[Any]) -> None:
    together = compile(spelled())(Batch(["x"] * len(ground_truths), ground_truths=ground_truths)).total
    alone = [compile(spelled())(Batch(["x"], ground_truths=[ground_truth])).total[0] for ground_truth in ground_truths]
    assert together.tolist() == alone == [len(repr(ground_truth)) for ground_truth in ground_truths]


@pytest.mark.parametrize("column", ["prompt", "data_source", "truncated"])
def test_other_columns_that_only_look_equal_are_each_scored(column: str) -> None:
    @term(bounds=(0, None), reads=(column,))  # type: ignore[arg-type]
    def shown(sample: Sample) -> float:
        return float(len(repr(getattr(sample, column))))

    values: list[Any] = [1, True, 1.0, "1", None]
    name = column if column == "truncated" else f"{column}s"
    assert compile(shown())(Batch(["x"] * 5, **{name: values})).total.tolist() == [len(repr(v)) for v in values]


def test_equal_lists_of_ground_truths_run_once() -> None:
    program = compile("exact()")
    leaves = program.leaves(Batch(["a"] * 4, ground_truths=[["a", "b"], ["a", "b"], ["b"], ["b"]]))
    assert [spent.ran for spent in leaves.costs.values()] == [2]
    assert program.finish(leaves).total.tolist() == [1, 1, 0, 0]


def test_ground_truths_nested_without_end_are_no_fault_of_the_run() -> None:
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    assert len(compile("exact()")(Batch(["a", "a"], ground_truths=[deep, deep])).total) == 2


def contains(word: Any) -> Any:
    @term(bounds=(0, 1))
    def has(sample: Sample) -> float:
        return float((word() if callable(word) else word) in sample.response)

    return has


@pytest.mark.parametrize(
    ("one", "other"), [("x", "y"), (lambda: "x", lambda: "y"), (("x",)[0], Named("y"))], ids=["text", "function", "own"]
)
def test_terms_of_one_factory_are_each_run(one: Any, other: Any) -> None:
    """They have one source and one name; what the factory gave them is another."""
    first, second = contains(one), contains(other)
    scores = compile(10 * first() + second())(Batch(["x", "y", "xy", ""]))
    assert scores.total.tolist() == [10, 1, 11, 0]
    assert first() != second()
    assert fingerprint(first()) != fingerprint(second())


def test_the_same_factory_with_the_same_value_makes_the_same_term() -> None:
    assert contains("x")() == contains("x")()
    assert fingerprint(contains("x")()) == fingerprint(contains("x")())


def without_source(body: str) -> Callable[..., Any]:
    """A function as a console or ``exec`` makes it: nobody can read its source."""
    space: dict[str, Any] = {"Sample": Sample}
    code = f"def measured(sample: Sample) -> float:\n    return {body}\n"
    module = compile_python(code)
    return types.FunctionType(module, space, "measured")


def compile_python(code: str) -> types.CodeType:
    import builtins

    module = builtins.compile(code, "<no file>", "exec")
    return next(constant for constant in module.co_consts if isinstance(constant, types.CodeType))


def test_terms_without_source_differ_where_only_names_do() -> None:
    longer, shorter = (without_source(f"float(len(sample.{part} or ''))") for part in ("response", "prompt"))
    one, other = (term(bounds=(0, None), reads=("prompt",))(function) for function in (longer, shorter))
    assert one() != other()
    batch = Batch(["abc"], prompts=["abcdef"])
    assert compile(10 * one() + other())(batch).total.tolist() == [36]


def test_the_fingerprint_of_a_term_without_source_does_not_depend_on_where_its_code_lies() -> None:
    one, other = (term(bounds=(0, None))(without_source("float(sum(map(lambda c: 1, 'ab')))")) for _ in range(2))
    assert one() == other()
    assert fingerprint(one()) == fingerprint(other())


@term(bounds=(0, None))
def written(sample: Sample, value: int | bool | str, values: list[Any] = []) -> float:  # noqa: B006
    return float(len(repr((value, values))))


def test_a_truth_value_is_another_parameter_than_a_number() -> None:
    nodes = [written(1), written(True), written("1"), written(1, [1]), written(1, [True])]
    assert len(set(nodes)) == len({fingerprint(node) for node in nodes}) == 5
    formula = sum((10**i * node for i, node in enumerate(nodes[1:], 1)), 1 * nodes[0])
    alone = [float(compile(node)(Batch(["x"])).total[0]) for node in nodes]
    assert compile(formula)(Batch(["x"])).total.tolist() == [sum(10**i * v for i, v in enumerate(alone))]
    assert parse(repr(formula), {"written": written}) == formula
    assert from_json(to_json(formula), {"written": written}) == formula


@pytest.mark.parametrize("text", [None, 3, {}, []])
def test_json_that_is_no_text_is_refused(text: Any) -> None:
    with pytest.raises(ParseError, match="is text; got"):
        from_json(text)


def test_a_key_that_stands_twice_in_a_json_formula_is_refused() -> None:
    with pytest.raises(ParseError, match="'value' stands twice"):
        from_json('{"rewardkit": 1, "formula": {"op": "number", "params": {"value": 1, "value": 2}}}')
