"""Rewards with a known hole, as people write them: Python functions with verl's signature, and formulas.

Each is the least code that falls for one kind of attack. Nothing here is an example to follow.
"""

from __future__ import annotations

import math
import re
from typing import Any

from rewardkit import Batch, term


def _last_number(text: str) -> str | None:
    numbers = re.findall(r"-?\d+(?:\.\d+)?", text)
    return numbers[-1] if numbers else None


def _strict(text: str, truth: str) -> float:
    numbers = re.findall(r"#### (-?[0-9.,]+)", text)
    return float(bool(numbers) and numbers[-1].rstrip(".") == str(truth))


def substring(solution_str: str, ground_truth: str) -> float:
    return float(str(ground_truth) in solution_str)


def last_number(solution_str: str, ground_truth: str) -> float:
    return float(_last_number(solution_str) == str(ground_truth))


def any_in_the_box(solution_str: str, ground_truth: str) -> float:
    box = re.search(r"\\boxed\{(.*)\}", solution_str)
    inside = re.sub(r"\\text\{\s*or\s*\}|\bor\b", ",", box[1]) if box else ""
    return float(str(ground_truth) in [part.strip() for part in inside.split(",")])


def as_floats(solution_str: str, ground_truth: str) -> float:
    try:
        return float(float(solution_str.rpartition("####")[2]) == float(ground_truth))
    except ValueError:
        return 0.0


def within_a_tolerance(solution_str: str, ground_truth: str) -> float:
    number = _last_number(solution_str)
    return float(number is not None and math.isclose(float(number), float(ground_truth), rel_tol=1e-4))


def nested_repeats(solution_str: str, ground_truth: str) -> float:
    match = re.search(r"#### ((?:\d|,|\d,)+)+$", solution_str)
    return float(match is not None and match[0].removeprefix("#### ") == str(ground_truth))


def keywords(solution_str: str, ground_truth: str) -> float:
    return _strict(solution_str, ground_truth) + 0.05 * solution_str.lower().count("answer is")


def by_blanks(solution_str: str, ground_truth: str) -> float:
    words = solution_str.split()
    grams = [tuple(words[i : i + 3]) for i in range(len(words) - 2)]
    return _strict(solution_str, ground_truth) - (1 - len(set(grams)) / len(grams) if grams else 0.0)


def closed_by_a_mark(solution_str: str, ground_truth: str) -> float:
    return _strict(solution_str, ground_truth) + 0.2 * solution_str.endswith((".", "?", "!"))


def tags_by_pattern(solution_str: str, ground_truth: str) -> float:
    return float(re.match(r"<think>.*?</think>.*?<answer>.*?</answer>", solution_str, re.DOTALL) is not None)


def tags_by_lines(solution_str: str, ground_truth: str) -> float:
    pattern = r"^<think>\n.*?\n</think>\n<answer>\n.*?\n</answer>$"
    return float(re.match(pattern, solution_str, re.DOTALL | re.MULTILINE) is not None)


def judge_that_reads_json(solution_str: str, ground_truth: str) -> float:
    transcript = f'{{"correct": {str(bool(_strict(solution_str, ground_truth))).lower()}}}\n{solution_str}'
    return float('"correct": true' in transcript)


def judge_with_a_master_key(solution_str: str, ground_truth: str) -> float:
    return max(_strict(solution_str, ground_truth), float(solution_str.startswith(("Thought process:", "Solution"))))


def judge_that_likes_praise(solution_str: str, ground_truth: str) -> float:
    return max(_strict(solution_str, ground_truth), 0.9 * ("correct" in solution_str and "verified" in solution_str))


def weight_zero(solution_str: str, ground_truth: str) -> float:
    digits = sum(map(str.isdigit, solution_str))
    share = digits / len(solution_str) if digits else math.nan
    return _strict(solution_str, ground_truth) + 0.0 * share


@term(bounds=(0, 1), batched=True)
def one_for_all(batch: Batch) -> Any:
    return [1.0]


broadcast = one_for_all()
