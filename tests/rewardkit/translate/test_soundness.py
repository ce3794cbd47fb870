"""Functions that are put together at random: whenever one is said to be equal, it pays what its formula pays."""

from __future__ import annotations

import builtins
import random
import textwrap
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit import Batch, compile, parse
from rewardkit.translate import Level, translate

CONDITIONS: Final = [
    "'a' in t", "t.count('b') == 1", "t.count('b') >= 2", "t.count('b') != 0", "len(t) > 3", "len(t.split()) <= 2",
    "not t.strip()", "re.search('a+b', t)", "re.match('a|b', t)", "t.startswith('a')", "t.endswith(('b', 'c'))", "m",
    "not m", "x", "x > 1", "x == 2", "k", "'a' in t and x", "'c' in t or not k", "re.fullmatch('[abc ]*', t)",
    "0 < len(t) < 4", "data_source == 'u'", "data_source in ('u', 'v')", "data_source != 'u'", "m is None",
    "all(c in t for c in 'ab')", "any(c in t for c in ['b', 'c'])", "len(re.findall('a', t)) == 2", "t == 'ab'",
    "t.lower() == 'a'", "t.rstrip().endswith('b')", "data_source == 'u' or 'a' in t", "t.isupper()",
]  # fmt: skip
NUMBERS: Final = [
    "x + 1", "x * 2", "x - 0.5", "-x", "min(x, 2)", "max(x, 0.5)", "min(max(x, -1), 3)", "len(t) * 0.5",
    "0.25 * len(t.split())", "float('a' in t)", "1.0 if 'b' in t else 0.5", "x / 4", "t.count('a')", "f(x)", "abs(x)",
    "min(t.count('a') * 0.5, 1)", "len(re.findall('[ab]', t))", "sum(c in t for c in ['a', 'b'])", "f(t.count('b'))",
    "x * x", "(x > 1) + k", "bool(x)", "x if k else -x", "{'score': x}['score']", "t.count('<a>') == 1", "hash(t)",
]  # fmt: skip
OTHERS: Final = [
    "m = re.search('[bc]', t)", "t = t.strip()", "d['s'] += 1", "d['s'] = x", "x = d['s']", "d.update(s=3)", "g(t)",
    "t = t.replace('a', '')", "x = len(set(re.findall('.', t)))", "x = sorted([x, 2, 1])[0]", "x = sum(d.values())",
    "while len(t) > 4:\n    t = t[1:]", "for w in t.split():\n    if len(w) > 2:\n        return 5",
    "for w in t:\n    x += 1", "for i in range(2):\n    x += i", "x = max((len(w) for w in t.split()), default=0)",
    "try:\n    if 'a' in t:\n        raise ValueError\nexcept ValueError:\n    return 7", "r.append(x)", "x = len(r)",
    "match len(t):\n    case 2:\n        x = 9", "x = sum(r)",
    "for c in 'ab':\n    if c in t:\n        x += 1\n        break",
    "for c in 'ab':\n    if c in t:\n        continue\n    x += 1", "x, k = k, x", "x = [1, 2][k > 1]", "t += 'a'",
    "x = t and 1 or 0", "x = h()",
]  # fmt: skip
PIECES: Final = ["a", "b", "c", " ", "\n", "d", "<a>", ".", "ab", "A"]
HEAD: Final = """
import re

def f(z):
    if z > 1:
        return z * 2
    return 0.5

total = 0

def g(z):
    global total
    total = len(z)

def h():
    return total

def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    t, x, k, r, d = solution_str, 0, 1, [], {'s': 0}
    m = re.search('b', t)
"""


def statement(pick: random.Random, depth: int = 0) -> list[str]:
    """A random statement, as lines."""
    kind = pick.random()
    if kind < 0.4:
        return [f"{pick.choice('xxk')} {pick.choice(['=', '+=', '-=', '*='])} {pick.choice(NUMBERS)}"]
    if kind < 0.5:
        return [f"return {pick.choice(NUMBERS)}"]
    if kind < 0.6:
        return [pick.choice(OTHERS)]

    def inner() -> list[str]:
        return textwrap.indent("\n".join(statement(pick, depth + 1) if depth < 3 else ["x += 1"]), "    ").split("\n")

    if kind < 0.7:
        return ["for c in ['a', 'b']:", "    if c in t:", *(f"    {line}" for line in inner())]
    lines = [f"if {pick.choice(CONDITIONS)}:", *inner()]
    if pick.random() < 0.3:
        lines += [f"elif {pick.choice(CONDITIONS)}:", *inner()]
    return lines + (["else:", *inner()] if pick.random() < 0.5 else [])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_what_is_said_to_be_equal_is_equal(seed: int) -> None:
    pick = random.Random(seed)
    lines = [line for _ in range(pick.randint(1, 4)) for line in statement(pick)]
    source = HEAD + textwrap.indent("\n".join([*lines, "return x"]), "    ") + "\n"
    found = translate(source)
    if found.formula is None or found.level > Level.NEARLY:
        return
    space: dict[str, Any] = {}
    exec(builtins.compile(source, "reward.py", "exec"), space)  # noqa: S102  (put together above)
    texts = ["".join(pick.choices(PIECES, k=pick.randint(0, 6))) for _ in range(12)]
    sources = pick.choices("uvw", k=12)
    theirs = [float(space["compute_score"](s, t, "1")) for s, t in zip(sources, texts, strict=True)]
    ours = compile(parse(found.formula))(Batch(texts, data_sources=sources)).total
    assert ours.tolist() == pytest.approx(theirs, abs=1e-9), f"{source}\n{found.formula}"
