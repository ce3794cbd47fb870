"""The values that other reward libraries' own suites assert, and that their code computed, against our formulas.

A case is reproduced, or it differs on purpose and the reason is named here; any other difference fails. What no formula
is written for is counted as not covered.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rewardkit import Batch, compile, parse

WHY = {
    "periodic": "past max_len the peer's cosine goes round; ours stays at its end",
    "repeated tag": "a tag stands twice, so two parsers would read it differently; ours pays a tag once",
    "line ends": "the peer wants line ends around its tags; ours takes any blanks",
    "long word": "a run of over 64 characters, or a script without blanks, is read by characters",
    "unbounded": "the peer's penalty goes on falling past the end; ours stops at its bound",
}


@dataclass
class Row:
    """One value of a peer, and the formula and response that should give it."""

    id: str
    formula: str
    expected: float
    response: str = ""
    ground_truth: Any = None
    tokens: int | None = None
    ids: list[int] | None = None
    tolerance: float = 1e-6
    excuse: str | None = None

    def ours(self) -> float:
        ids = self.ids if self.ids is not None else [1] * self.tokens if self.tokens is not None else None
        batch = Batch(
            [self.response],
            ground_truths=None if self.ground_truth is None else [self.ground_truth],
            tokens=None if ids is None else [ids],
        )
        return float(compile(self.formula)(batch).total[0])


def repetition(params: dict[str, Any], unit: str) -> str:
    return f"{params['max_penalty']} * repetition({params['ngram_size']}, unit={unit!r})"


def cosine(params: dict[str, Any], correct: bool, unit: str) -> str:
    right = (params.get("max_value_correct", 1.0), params.get("min_value_correct", 0.5))
    wrong = (params.get("min_value_wrong", -1.0), params.get("max_value_wrong", -0.5))
    short, long = right if correct else wrong
    return f"cosine_length({short}, {long}, max_length={params['max_len']}, unit={unit!r})"


OPEN_R1_TAGS = r"tag_count(['<think>\n', '\n</think>\n', '\n<answer>\n', '\n</answer>'])"
STEPS = r"match_count('Step \\d+:|^\\d+\\.|\\n-|\\n\\*|First,|Second,|Next,|Finally,', cap=3) / 3"
TAG = r"<\\s*/?\\s*think\\s*>"
BLOCK = TAG.replace("/?", "") + "(.*?)" + TAG.replace("/?", "/")
BLANK = BLOCK.replace("(.*?)", r"\\s*")
THINKING = f"when(matches('(?is){BLOCK}') & ~matches('(?is){BLANK}'), FULL, when(matches('(?i){TAG}'), PARTIAL, 0))"
GEO3K = r"0.9 * math_equal(mode='strict') + 0.1 * matches('(?s)<think>.*</think>.*\\\\boxed\\{.*\\}')"
ALL_TAGS = ("<think>", "</think>", "<answer>", "</answer>")


def thinking(full: float, partial: float) -> str:
    return THINKING.replace("FULL", str(full)).replace("PARTIAL", str(partial))


def geo3k(weight: float) -> str:
    return GEO3K.replace("0.9", str(1 - weight)).replace("0.1", str(weight))


def format_excuse(text: str, tags: tuple[str, ...] = ALL_TAGS) -> str | None:
    if any(text.count(t) > 1 for t in tags):
        return "repeated tag"
    return "line ends" if "<think>\n" not in text else None


def word_excuse(text: str) -> str | None:
    return "long word" if any(len(w) > 64 for w in text.split()) or not text.isascii() else None


def oracle_rows(case: dict[str, Any]) -> list[Row] | None:
    name, params, given, value, key = (case[k] for k in ("function", "params", "inputs", "value", "id"))
    text = given.get("text", "")
    if name.startswith("get_repetition_penalty_reward (token"):
        return [Row(key, repetition(params, "tokens"), value, ids=given["completion_ids"])]
    if name.startswith("get_repetition_penalty_reward"):
        return [Row(key, repetition(params, "words"), value, text, excuse=word_excuse(text))]
    if name.startswith("get_cosine_scaled_reward (length = token"):
        over = "periodic" if given["length"] > params["max_len"] else None
        return [Row(key, cosine(params, given["correct"], "tokens"), value, tokens=given["length"], excuse=over)]
    if name.startswith("get_cosine_scaled_reward"):
        over = "periodic" if given["n_chars"] > params["max_len"] else None
        return [Row(key, cosine(params, value > 0, "characters"), value, text, excuse=over)]
    if name == "get_soft_overlong_punishment":
        formula = f"overlong({params['max_completion_len']}, {params['soft_punish_cache']})"
        return [Row(key, formula, value, tokens=given["length"])]
    if name == "format_reward":
        return [Row(key, "think_answer()", value, text, excuse=format_excuse(text))]
    if name == "think_format_reward":
        tags = ("<think>", "</think>")
        return [Row(key, "think_answer(answer=None)", value, text, excuse=format_excuse(text, tags))]
    if name == "tag_count_reward":
        return [Row(key, OPEN_R1_TAGS, value, text)]
    if name == "reasoning_steps_reward":
        return [Row(key, STEPS, value, text)]
    if name.startswith("ThinkingReward"):
        return [Row(key, thinking(1.0, 0.2), value, text)]
    return None


def suite_rows(case: dict[str, Any]) -> list[Row] | None:
    name, args, kwargs, expected, key = (case[k] for k in ("function", "args", "kwargs", "expected", "id"))
    made = {**((case["factory"] or {}).get("kwargs") or {})}
    values = expected if isinstance(expected, list) else [expected]
    if case["op"] not in ("eq", "approx") or not all(isinstance(v, int | float) for v in values):
        return None
    if name.endswith("get_repetition_penalty_reward"):
        if "ngram_size" not in made:
            return None
        if name.startswith("trl"):
            rows = zip(args[0], values, strict=True)
            return [Row(key, repetition(made, "tokens"), v, ids=ids) for ids, v in rows]
        texts = [c[0]["content"] for c in args[0]]
        return [
            Row(key, repetition(made, "words"), v, t, excuse=word_excuse(t)) for t, v in zip(texts, values, strict=True)
        ]
    if name == "trl.rewards.get_cosine_scaled_reward":
        if case["accessor"]:
            return None
        return [
            Row(key, cosine(made, v > 0, "tokens"), v, tokens=len(ids), tolerance=1e-4)
            for ids, v in zip(args[2], values, strict=True)
        ]
    if name == "open_r1.rewards.get_cosine_scaled_reward":
        return [
            Row(key, cosine(made, values[0] > 0, "characters"), values[0], args[0][0][0]["content"], tolerance=5e-3)
        ]
    if name.endswith("get_soft_overlong_punishment"):
        formula = f"overlong({made['max_completion_len']}, {made['soft_punish_cache']})"
        return [Row(key, formula, v, ids=ids) for ids, v in zip(kwargs["completion_ids"], values, strict=True)]
    if name == "apply_reward_shaping" and "overlong_buffer_length" in kwargs:
        shape = f"overlong({kwargs['max_response_length']}, {kwargs['overlong_buffer_length']})"
        return [
            Row(
                key,
                f"{reward} + {kwargs['overlong_buffer_penalty']} * {shape}",
                v,
                tokens=n,
                excuse="unbounded" if n > kwargs["max_response_length"] else None,
            )
            for reward, n, v in zip(kwargs["rewards"], kwargs["response_lengths"], values, strict=True)
        ]
    if name in ("open_r1.rewards.format_reward", "trl.rewards.think_format_reward"):
        form = "think_answer()" if name.startswith("open") else "think_answer(answer=None)"
        texts = [c[0]["content"] for c in args[0]]
        return [Row(key, form, v, t, excuse=format_excuse(t)) for t, v in zip(texts, values, strict=True)]
    if name == "open_r1.rewards.tag_count_reward":
        return [Row(key, OPEN_R1_TAGS, values[0], args[0][0][0]["content"])]
    if name == "open_r1.rewards.reasoning_steps_reward":
        return [Row(key, STEPS, values[0], args[0][0][0]["content"])]
    if name == "forge.data.rewards.ThinkingReward" and args:
        formula = thinking(made.get("full_reward", 1.0), made.get("partial_reward", 0.2))
        return [Row(key, formula, values[0], args[1])]
    if name == "nemo_rl.environments.rewards.format_reward" and case["accessor"] == [0]:
        think, answer = kwargs.get("think_tag", "think"), kwargs.get("answer_tag", "answer")
        formula = f"0.25 * matches('(?s)<{think}>.*?</{think}>') + 0.75 * matches('(?s)<{answer}>.*?</{answer}>')"
        return [Row(key, formula, values[0], args[1])]
    if name == "nemo_rl.environments.rewards.exact_answer_alphanumeric_reward" and case["accessor"] == [0]:
        return [Row(key, "exact(normalize='letters')", values[0], args[1], args[0])]
    if name == "open_instruct.ground_truth_utils.F1Verifier":
        return [Row(key, "token_f1()", values[0], args[1], args[2])]
    if name == "nemo_rl.environments.rewards.geo3k_reward" and case["accessor"] == [0]:
        return [Row(key, geo3k(kwargs.get("format_score", 0.1)), values[0], args[1], args[0])]
    if name == "reward_kit.rewards.length.count_tokens":
        return [Row(key, "length()", values[0], args[0])]
    return None


def cases(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


@pytest.mark.parametrize(
    ("file", "rows_of"), [("nonmath_cases.jsonl", suite_rows), ("nonmath_oracle.jsonl", oracle_rows)]
)
def test_values_of_peers(shared_data: Path, file: str, rows_of: Any, capsys: pytest.CaptureFixture[str]) -> None:
    counts: Counter[str] = Counter()
    uncovered: Counter[str] = Counter()
    unexplained = []
    for case in cases(shared_data / file):
        rows = rows_of(case)
        if rows is None:
            asserts_value = "value" in case or case["op"] in ("eq", "approx")
            counts["no formula" if asserts_value else "an order, a type or an exception: no value"] += 1
            uncovered[case["function"]] += 1
            continue
        outcome = "reproduced"
        for row in rows:
            ours = row.ours()
            if abs(ours - row.expected) <= row.tolerance:
                continue
            if row.excuse is None:
                unexplained.append((row, ours))
            outcome = f"differs on purpose: {WHY[row.excuse]}" if row.excuse else "unexplained"
        counts[outcome] += 1
    with capsys.disabled():
        print(f"\n{file}: {counts.total()} cases")
        for outcome, count in counts.most_common():
            print(f"  {count:4d} {outcome}")
        print("  of which:", ", ".join(f"{name} {n}" for name, n in uncovered.most_common()))
    assert not unexplained
    assert counts["reproduced"] > 0


def test_the_length_reward_of_kimi(shared_data: Path) -> None:
    """open-r1's is a whole group's: by the place between the shortest and the longest, wrong ones never above 0."""
    shorter = "(0.5 - group_minmax(length(unit='characters')))"
    of_right, of_wrong = (compile(parse(f)) for f in (shorter, f"minimum(0, {shorter})"))
    rows = [row for row in cases(shared_data / "nonmath_oracle.jsonl") if row["function"].startswith("len_reward")]
    assert len(rows) >= 5
    for row in rows:
        batch = Batch(["x" * n for n in row["inputs"]["n_chars"]], groups=["g"] * len(row["value"]))
        right, wrong = of_right(batch).total, of_wrong(batch).total
        for value, if_right, if_wrong in zip(row["value"], right, wrong, strict=True):
            assert value in (pytest.approx(if_right), pytest.approx(if_wrong))
