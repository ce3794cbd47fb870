"""What is said to be equal is equal: the functions run beside their formulas, on texts that hold what they look for."""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit import Batch, compile, parse
from rewardkit.audit.function import FunctionSubject
from rewardkit.errors import ConfigError
from rewardkit.translate import Level, Translation, translate, translate_file
from tests.rewardkit.translate.sources import CASES

PIECES = [
    "<think>", "</think>", "<answer>", "</answer>", "\n", " ", "a", "b", "please", "First", "Then", "Finally", "####",
    "#### 42", "#### 1,042.5", "#### -7", "42", "7", "-7", ".", "?", "!", "As an AI", "boxed", "it is", "$", ",",
    "\n<answer>", "\t", "A" * 40, "0" * 301,
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=9).map("".join)
GOLDS = st.sampled_from(["42", "7", "-7", "1042.5"])
SOURCES = st.sampled_from(["openai/gsm8k", "math", "aime", "other"])


def by_hand(translation: Translation, source: str, batch: Batch) -> np.ndarray:
    """What the functions of a source pay; what it imports of trainers is left out."""
    tree = ast.parse(source)
    tree.body = [s for s in tree.body if isinstance(s, ast.FunctionDef | ast.Import) or "GRPO" not in ast.unparse(s)]
    space: dict[str, Any] = {}
    exec(builtins.compile(tree, "reward.py", "exec"), space)  # noqa: S102  (a source of this test's own)
    total = np.zeros(len(batch))
    for name, weight in translation.functions:
        pay = FunctionSubject(space[name], name).pay(list(batch))
        assert not pay.reasons
        total += weight * pay.total
    return total


def installed(package: str, file: str) -> Path:
    """A file of an installed package, which is not imported."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"needs {package}")
    return Path(spec.origin).parent / file


@pytest.mark.parametrize("name", CASES)
def test_each_is_read_as_its_formula(name: str) -> None:
    case = CASES[name]
    found = translate(case.source)
    assert found.formula is not None
    assert parse(found.formula) == parse(case.formula), found.formula
    assert found.level is case.level
    assert found.complete == (case.level < Level.LEFT_OUT)
    if case.level > Level.EQUAL:
        told = [n for n in found.notes if n.level is case.level]
        assert told and all(n.says for n in told), "what is not equal is told of"


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.level <= Level.NEARLY])
@settings(max_examples=25, deadline=None)
@given(rows=st.lists(st.tuples(TEXTS, GOLDS, SOURCES), min_size=1, max_size=8))
def test_what_is_said_to_be_equal_is_equal(name: str, rows: list[tuple[str, str, str]]) -> None:
    found = translate(CASES[name].source)
    assert found.formula is not None
    texts, golds, sources = (list(column) for column in zip(*rows, strict=True))
    if found.level is Level.NEARLY:  # the rare characters that its note names
        texts = ["".join(c for c in text if c.isascii() and (c.isprintable() or c in "\n\t")) for text in texts]
    batch = Batch(texts, golds, data_sources=sources)
    scores = compile(parse(found.formula))(batch)
    assert not scores.unscored.any()
    assert scores.total == pytest.approx(by_hand(found, CASES[name].source, batch), abs=1e-9)


def test_verl_s_own_file_is_read_as_its_rule() -> None:
    file = installed("verl", "utils/reward_score/gsm8k.py")
    found = translate_file(file)
    assert (found.formula, found.level) == ("gsm8k(mode='verl-strict')", Level.EQUAL)
    routes = translate_file(file.with_name("__init__.py"), ("default_compute_score",))
    assert routes.formula is not None and routes.formula.startswith("route({'openai/gsm8k': gsm8k(mode='verl-strict')")
    assert not routes.complete, "code is graded by no term"


def test_trl_s_own_format_is_equal() -> None:
    file = installed("trl", "rewards/format_rewards.py")
    found = translate_file(file)
    assert found.level is Level.EQUAL and found.formula is not None
    batch = Batch(["<think>a</think>b", "<think><think></think>", "no", "<think>a\n</think>\n", " <think>a</think>"])
    theirs = by_hand(found, file.read_text(), batch)
    assert compile(parse(found.formula))(batch).total.tolist() == theirs.tolist()
    assert 0 < theirs.mean() < 1


def test_a_note_stands_at_its_line_and_says_what_is_lost() -> None:
    found = translate(CASES["a part that no term says"].source)
    (lost,) = [n for n in found.notes if n.level is Level.LEFT_OUT]
    assert lost.line == 6 and lost.code == "math.cos(len(solution_str))"
    assert "cosine_length" in lost.says and "left out" in lost.says


def test_comparing_a_batch_names_the_group_terms() -> None:
    found = translate(
        "def f(completions, **kw):\n    n = [len(c) for c in completions]\n    return [x - min(n) for x in n]\n"
    )
    assert not found.complete and any("group_minmax" in n.says for n in found.notes)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def f(:", "no Python"),
        ("x = 1", "no function that looks like a reward"),
        ("def g(a): return a", "no function"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error(source: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        translate(source)


def test_the_file_is_never_run(tmp_path: Path) -> None:
    flag = tmp_path / "ran"
    file = tmp_path / "reward.py"
    file.write_text(f"open({str(flag)!r}, 'w').close()\nx = 10 ** 10 ** 10\n" + CASES["recipe"].source)
    assert translate_file(file).formula == CASES["recipe"].formula
    assert not flag.exists()


def test_what_is_nested_too_deep_is_named_or_refused() -> None:
    deep = "+".join(["1"] * 3000)
    source = f"X = {deep}\ndef compute_score(data_source, solution_str, ground_truth):\n    return {deep}\n"
    with contextlib.suppress(ConfigError):
        found = translate(source)
        assert not found.complete and any("deep" in n.says or "every response" in n.says for n in found.notes)


def test_many_branches_end() -> None:
    lines = "\n".join(f"    if 'w{i}' in solution_str:\n        return {i}" for i in range(300))
    found = translate(f"def compute_score(data_source, solution_str, ground_truth):\n{lines}\n    return 0.5\n")
    assert found.notes


STATEMENTS = [
    "if 'a' in solution_str:\n        s += 1", "s = len(solution_str)", "s = s * s", "return s", "s = foo(s)",
    "for c in solution_str:\n        s += 1", "s = min(s, 3)", "s = [s]", "while s:\n        s -= 1", "s = s[0]",
    "if s:\n        return s\n    else:\n        s = None", "s = re.findall('a', solution_str)", "s = s.strip()",
    "try:\n        s = float(solution_str)\n    except ValueError:\n        return 0", "s = solution_str.split('a')",
    "s = s == ground_truth", "s = {'score': s}", "s = not s", "s, t = s", "s = -s", "s = s[1:]", "s = len(s)",
    "s = s.split()", "s = 'a' * s", "s = solution_str.split('a')[-1].isdigit()",
    "s, t = verify(solution_str, ground_truth)", "s = ground_truth.startswith('a')", "s = 1 if foo(s) else 2",
    "s = s / 0", "s = s in 'ab'", "s = data_source == s", "s = [s for s in s]",
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(STATEMENTS), max_size=7))
def test_anything_is_read_without_an_exception(statements: list[str]) -> None:
    body = "\n    ".join(["s = 0", *statements, "return s"])
    found = translate(f"def compute_score(data_source, solution_str, ground_truth, extra_info=None):\n    {body}\n")
    assert found.formula is None or parse(found.formula) is not None
    assert found.level is Level.EQUAL or any(n.level is found.level and n.says for n in found.notes)
