"""Plain data there and back, and texts that are none."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict, defaultdict, namedtuple
from enum import IntEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.programs.inside.plain import MOST_NESTED, NotPlain, dumps, loads, pack, unpack

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=10**1300)
    | st.floats(allow_nan=False)
    | st.text(st.characters())
    | st.binary()
    | st.complex_numbers(allow_nan=False)
)
keys = scalars | st.tuples(scalars, scalars) | st.frozensets(scalars)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(keys, inner)
        | st.sets(keys)
        | st.frozensets(keys)
    ),
    max_leaves=20,
)


def there_and_back(value: Any) -> Any:
    return unpack(loads(dumps(pack(value))))


def typed(value: Any) -> Any:
    """A value with the types of all its parts, for comparison: 1, 1.0 and True are equal."""
    if isinstance(value, (list, tuple)):
        return type(value), [typed(part) for part in value]
    if isinstance(value, (set, frozenset)):
        return type(value), {typed(part) for part in value} if all(map(simple, value)) else len(value)
    if isinstance(value, dict):
        return dict, [(typed(k), typed(v)) for k, v in value.items()]
    return type(value), repr(value)


def simple(value: Any) -> bool:
    return not isinstance(value, (tuple, frozenset))


@given(values)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    back = there_and_back(value)
    assert back == value
    assert typed(back) == typed(value)


def test_nan_and_infinities_come_back() -> None:
    nan, inf, low = there_and_back([math.nan, math.inf, -math.inf])
    assert (math.isnan(nan), inf, low) == (True, math.inf, -math.inf)


class Liar(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__

    def __index__(self) -> int:
        return 42

    def __int__(self) -> int:
        return 42


class Colour(IntEnum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Liar(7), 7),
        (Colour.RED, 1),
        (Counter("aab"), {"a": 2, "b": 1}),
        (OrderedDict(a=1), {"a": 1}),
        (defaultdict(list, a=[1]), {"a": [1]}),
        (namedtuple("P", "x y")(1, 2), (1, 2)),
        (bytearray(b"ab"), b"ab"),
        (type("S", (str,), {"__str__": lambda _: "lie"})("true"), "true"),
    ],
)
def test_a_subclass_is_what_it_holds(value: Any, plain: Any) -> None:
    back = there_and_back(value)
    assert (type(back), back) == (type(plain), plain)


@pytest.mark.parametrize("value", [object(), print, range(3), iter([1]), (x for x in ""), math, {1: {2: object()}}])
def test_what_is_not_plain_is_said(value: Any) -> None:
    with pytest.raises(NotPlain, match="not plain data"):
        pack(value)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {0: value}
    return value


def test_nesting_has_a_bound() -> None:
    assert there_and_back(nested(MOST_NESTED)) == nested(MOST_NESTED)
    with pytest.raises(NotPlain, match="deep"):
        pack(nested(MOST_NESTED + 1))
    cycle: list[Any] = []
    cycle.append(cycle)
    with pytest.raises(NotPlain, match="deep"):
        pack(cycle)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\0",
        b"\xff\xfe",
        b"{",
        b"[" * 1_000_000,
        b"[" * 500 + b"]" * 500,
        b'{"t": 1}',
        b'{"t": "ab"}',
        b'{"s": "ab"}',
        b'{"s": [[]]}',
        b'{"d": [[[], 1]]}',
        b'{"d": ["ab", "cd"]}' * 2,
        b'{"d": [[1]]}',
        b'{"d": 7}',
        b'{"i": "zz"}',
        b'{"i": 7}',
        b'{"i": []}',
        b'{"b": "\\ud800"}',
        b'{"b": 3}',
        b'{"c": [1]}',
        b'{"c": [1' + b"0" * 400 + b", 0]}",
        b'{"": 1}',
        b'{"ib": "0"}',
        b'{"x": 1}',
        b'{"t": [], "s": []}',
        b"{}",
        b"9" * 10_000,
    ],
)
def test_a_text_that_is_no_data_is_refused(text: bytes) -> None:
    with pytest.raises(NotPlain):
        unpack(loads(text))


@given(
    st.recursive(
        st.none() | st.integers() | st.text() | st.floats(),
        lambda x: st.lists(x) | st.dictionaries(st.sampled_from(["t", "s", "d", "f", "i", "b", "c", "q"]), x),
    )
)
def test_any_json_is_data_or_refused(tree: Any) -> None:
    try:
        value = unpack(tree)
    except NotPlain:
        return
    pack(value)


def test_keys_of_one_hash_are_refused_before_they_take_quadratic_time() -> None:
    same = [k * (2**61 - 1) for k in range(1, 30_000)]
    for tree in ({"s": pack(same)}, {"f": pack(same)}, {"d": [[key, 0] for key in pack(same)]}):
        with pytest.raises(NotPlain, match="same hash"):
            unpack(tree)
    assert unpack({"s": list(range(30_000))}) == set(range(30_000))
