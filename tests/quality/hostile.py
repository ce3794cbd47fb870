"""Megabytes that cost a careless pattern minutes, and what our graders and terms take for them.

    python -m tests.quality.hostile    # the dearest of each in ms of CPU time, the best of three; fails above 50

The tests give the same texts to the same graders and terms, and time nothing. Not collected by pytest.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from rewardkit import Batch, Status, compile
from rewardkit.answers import MODES, Grade, grade_choice, grade_exact, grade_gsm8k, grade_math, grade_numeric

LIMIT_MS = 50.0
FORMULAS = [
    "answer_key()",
    "bleu()",
    "brevity(5)",
    "brevity(5, unit='characters')",
    "chrf(words=2)",
    "choice()",
    "column('turn_scores', low=0, high=1)",
    "contains('a')",
    "copy_share(2)",
    "copy_share(3, unit='characters')",
    "cosine_length(1, -0.5, max_length=7)",
    "countdown()",
    "ends_with('.?!')",
    "exact()",
    "exactly_one_answer()",
    "follows()",
    "follows(strict=False, pay='share')",
    "fuzzy_match()",
    "gsm8k()",
    "iou()",
    "json_valid()",
    'json_valid(\'{"type": "array", "uniqueItems": true}\', fenced=True)',
    "length(0.1)",
    "length_target(5, width=3, unit='words')",
    "length_target('target', width=3)",
    "match_count('a', cap=3)",
    "matches('a.*b')",
    "numeric(tolerance=1)",
    "overlong(9, 4)",
    "overlong(9, 4, unit='words')",
    "point_in_box()",
    "repetition(2)",
    "repetition(2, fold_digits=True)",
    "repetition(2, unit='tokens')",
    "rouge_l()",
    "script_share('Latin')",
    "starts_with('a')",
    "tag_count()",
    "think_answer()",
    "think_answer(answer=None, prefilled=True)",
    "token_f1()",
    "tool_call()",
    "tool_call(form='openai')",
    "turn_count()",
    "tool_call_match()",
    "tool_call_match(compat='rlla')",
    "tool_call_match(pay='share', order=True)",
]


def answers() -> dict[str, str]:
    """Made of what graders look for."""
    n = 1 << 20
    units = [
        "#### ", "#", "1,", "1 ", "\n", "1\n", "\\boxed{", "\\boxed{1}", "answer ", "The answer is ", "<answer>",
        "<think>",
        "</think>", "<|", "<|im_end|>", ".", "-", "-.", "-5", "$", "é", "1é", "1? ", "1st ", "\\frac{1}{", "1/",
        "1=", "(", "not ",
        "x1", "box", "1\u200b", "½", "١", "1?", "1?\n", "x 1. ", "1e", "1 or ", "$x", "\\(", "\\[ ",
        "\\begin{pmatrix}", "a. ", "A ",
        "is A or ", "not A ", "#### 9^{9}! ", "\\{", "\\pm", "|",
        "\\textbf{(B)}", "                          answer^3",
    ]  # fmt: skip
    texts = {repr(unit): (unit * (n // len(unit) + 1))[:n] for unit in units}
    texts["digits after ####"] = "#### " + "9" * (n - 5)
    texts["blanks after ####"] = "####" + " " * (n - 4)
    texts["blanks before a number"] = " " * (n - 1) + "1"
    texts["blanks after a label"] = "The answer is" + " " * (n - 13)
    texts["divisions after a label"] = "The answer is " + "0/" * (n // 2 - 7)
    texts["over the limit"] = "1" * (n + 1)
    return texts


def texts() -> dict[str, str]:
    """Made of what terms look for."""
    size = 1 << 20
    return {
        "a": "a" * size,
        "digits": "1a22 " * (size // 5),
        "haha": "ha" * (size // 2),
        "blank": " " * size,
        "words": " ".join(map(str, range(size // 7))),
        "few-words": "ab cd ef " * 7000,
        "han": "\u8fd9" * size,
        "many-han": "".join(chr(0x4E00 + i % 20000) for i in range(size)),
        "tags": "<think>" * (size // 7),
        "closing": "</answer>" * (size // 9),
        "brackets": "[" * size,
        "pairs": "[]," * (size // 3),
        "quotes": '"' * size,
        "calls": "<tool_call>" * (size // 11),
        "boxes": "\\boxed{" * (size // 7),
        "backslashes": "\\" * size,
        "dots": "." * (size - 1) + "a",
    }


def graders() -> dict[str, Callable[[str], Grade]]:
    """Every grader in every mode of our own, against a fixed ground truth."""
    return {
        **{f"gsm8k {mode}": (lambda t, m=mode: grade_gsm8k(t, "18", mode=m)) for mode in MODES if mode != "trl"},
        "numeric": lambda t: grade_numeric(t, "18", tolerance=1),
        "choice": lambda t: grade_choice(t, "B"),
        "exact": lambda t: grade_exact(t, "B", normalize="words"),
        "math": lambda t: grade_math(t, "x^2"),
        "math strict": lambda t: grade_math(t, "x^2", mode="strict"),
    }


def score(formula: str, text: str) -> Status:
    """The status of a formula's total for one text."""
    batch = Batch([text], ground_truths=["4"], prompts=["what is four"], tokens=[[1, 2, 3]])
    return Status(int(compile(formula)(batch).status[0]))


def cost(call: Callable[[str], object], text: str) -> float:
    """Milliseconds of this thread's CPU time, the best of three."""
    spent = []
    for _ in range(3):
        started = time.thread_time()
        result = call(text)
        spent.append(1000 * (time.thread_time() - started))
        if spent[-1] < LIMIT_MS or result is Status.TIMEOUT:
            break
    return 0.0 if result is Status.TIMEOUT else min(spent)


def main() -> int:
    calls: dict[str, tuple[Callable[[str], object], dict[str, str]]] = {
        **{name: (grade, answers()) for name, grade in graders().items()},
        **{formula: ((lambda t, f=formula: score(f, t)), texts()) for formula in FORMULAS},
    }
    slow = 0
    for name, (call, given) in calls.items():
        milliseconds, worst = max((cost(call, text), what) for what, text in given.items())
        slow += milliseconds > LIMIT_MS
        print(f"{name:70} {milliseconds:8.1f} ms  {worst}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
