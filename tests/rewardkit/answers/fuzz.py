"""A long fuzz of extraction and comparison: ``python -m tests.rewardkit.answers.fuzz --minutes 30``.

Texts are made of the pieces that graders trip over, of mutated cases, and of pieces repeated up to a megabyte. Every
text is graded by every grader and mode, as a response and as a ground truth; the run fails on an exception, on an ERROR
(what the policy wrote is LIMIT, what the ground truth is BAD_GOLD), on an asymmetric or irreflexive comparison, and on
more than 50 ms of the calling thread's CPU time. What it prints on failure is ready to become a case.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from rewardkit.answers import (
    MODES,
    Grade,
    compare,
    compare_math,
    grade_choice,
    grade_exact,
    grade_gsm8k,
    grade_math,
    grade_numeric,
)
from rewardkit.batch import Status

DATA = Path(__file__).resolve().parents[2] / "data"
LIMIT_MS = 50.0
PIECES = [
    *"0123456789.,;:-+*/^_=<>()[]{}|!%&$#'\"?\\ \n\t", "####", "#### ", "\\boxed{", "<answer>", "</answer>",
    "</think>", "<think>",
    "The answer is ", "answer", "not ", "n't ", " or ", " and ", "\\$", "\\(", "\\)", "\\[", "\\]", "\\{", "\\}",
    "18", "7,2", "1,000",
    "3 1/2", "−", "½", "²", "\\frac", "\\frac{1}{2}", "\\sqrt", "\\sqrt{2}", "x", "y", "e", "i", "\\pi", "\\pm ",
    "\\cup ", "\\infty ",
    "\\begin{pmatrix}", "\\end{pmatrix}", "\\\\", "\\text{and}", "\\text{ cm}", "\\le ", "1e9", "9^{9}", "\u200b",
    "\u202f", "١٨", "１８",
    "。", "<|im_end|>", "sin", "\\sin ", "\\log_2 ", "dollars", " A ", "(B)", " is ", "\x00", "\\left", "\\right",
    "\\,", "{,}", "\\overline",
    "!", "f(x)", "\\lim_{x \\to 0}", "\\in ", "\\mathbb{R}", "°", "^\\circ", "\\%", "percent", "wrong", "maybe ",
    "between ", "答案", "Wait, no, it's ", "Actually, it should be ", "I don't think ", " million", " thousand",
    " x 10^3", "1'234", "√", "0.(3)", "0.333...", "\\over ", "\\dot{3}", "\\mid ", ":", " to ",
    "no longer ", "+", "\\textbf{(B)}",
    "sqrt(", "log(", "\\sin(", "max(", "f(", "()", "\\gcd(1,", "abs(",
    "e^{", "e^{e^{e^{e^{10}}}}", "!!", "(9!)!", "\\binom{99}{50}", "^{-999}", "\\ln(", "\\exp(", "\\sinh ",
    "\\cosh(99999)", "\\lfloor ", "\\rfloor", "99999999", "0^{-1}", "\\ne ", "\\lor ", "\\text{ or }",
    "\\setminus", "10^{999}",
    "\\pmod{7}", "|x|", "pytest-0", "step299", "v2.0", "gpt-4", "x_1", "a/b/3.txt", "12万", " crore", "元", "或",
    "\\overline{3}", "\\ldots", "th", "p.m.", "March 3rd", "\\color{red}", " " * 25,
]  # fmt: skip


ATOMS = ["x", "2", "9", "10", "99", "e", "\\pi", "0.5", "-1", "0", "i", "n", "10^{9}", "\\infty", "1000", "7!"]
FORMS = [
    "e^{@}", "(@)!", "\\ln(@)", "\\sqrt{@}", "\\sin(@)", "\\frac{1}{@}", "(@)^{@}", "@+@", "@\\cdot @", "\\binom{@}{@}",
    "\\lfloor @ \\rfloor", "|@|", "\\gcd(@,@)", "\\log_{@} @", "\\cosh(@)", "(@) \\bmod (@)", "\\max(@,@)", "\\tan(@)",
    "x < @", "x \\ne @", "(@,@]", "\\{@,@\\}", "[@,@)\\cup(@,@)", "\\exp(@)", "\\sqrt[3]{@}", "@\\%", "@ = @",
    "\\lim_{x\\to @} @", "@ \\text{ or } @", "\\begin{pmatrix}@&@\\\\@&@\\end{pmatrix}", "x \\le @ \\text{ and } x > @",
]  # fmt: skip


def nested_formula(rng: random.Random, depth: int) -> str:
    """A formula of the forms that answers have, nested so that many are worth more than any machine can hold."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(ATOMS)
    first, *rest = rng.choice(FORMS).split("@")
    return first + "".join(nested_formula(rng, depth - 1) + part for part in rest)


def _seeds() -> list[str]:
    texts: list[str] = []
    for name in ("answers_gsm8k.jsonl", "answers_math.jsonl"):
        for line in (DATA / name).read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            texts += [case["response"], *([case["gold"]] if isinstance(case["gold"], str) else [])]
    return texts


def _text(rng: random.Random, seeds: list[str]) -> str:
    kind = rng.random()
    if kind < 0.1:
        return f"\\boxed{{{nested_formula(rng, rng.randint(1, 5))}}}"
    if kind < 0.45:
        return "".join(rng.choice(PIECES) for _ in range(rng.randint(0, 25)))
    if kind < 0.9:
        chars = list(rng.choice(seeds))
        for _ in range(rng.randint(1, 8)):
            at = rng.randrange(len(chars) + 1)
            if rng.random() < 0.5:
                chars[at:at] = rng.choice(PIECES)
            else:
                del chars[at : at + rng.randint(1, 3)]
        return "".join(chars)
    unit = "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 4)))
    size = rng.choice([300, 3_000, 30_000, 1_000_000] if kind > 0.99 else [300, 3_000, 30_000])
    return rng.choice(["", "\\boxed{", "#### ", "The answer is "]) + unit * max(1, size // len(unit))


def _graders(truth: str) -> dict[str, Callable[[str], Grade]]:
    graders: dict[str, Callable[[str], Grade]] = {
        f"gsm8k {mode}": (lambda t, m=mode: grade_gsm8k(t, truth, mode=m)) for mode in MODES if mode != "trl"
    }
    graders["numeric"] = lambda t: grade_numeric(t, truth, tolerance=0.5)
    graders["choice"] = lambda t: grade_choice(t, truth)
    graders["exact"] = lambda t: grade_exact(t, truth, normalize="words")
    graders["math"] = lambda t: grade_math(t, truth, cpu_seconds=0.5)
    graders["math strict"] = lambda t: grade_math(t, truth, mode="strict", cpu_seconds=0.5)
    return graders


def run(minutes: float, seed: int) -> Counter[str]:
    """Fuzz for so many minutes; counts of texts, statuses and slow or failing runs."""
    rng = random.Random(seed)
    seeds = _seeds()
    counts: Counter[str] = Counter()
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        text, truth = _text(rng, seeds), rng.choice(seeds)
        if rng.random() < 0.3:
            truth = _text(rng, seeds)[:300]
        counts["texts"] += 1
        for name, grader in _graders(truth).items():
            started = time.thread_time()
            try:
                grade = grader(text)
            except Exception as error:
                counts["FAULT exception"] += 1
                print(
                    json.dumps({"fault": repr(error), "grader": name, "response": text[:400], "gold": truth}),
                    flush=True,
                )
                continue
            if grade.status is Status.ERROR or "Traceback" in grade.reason:
                counts["FAULT error"] += 1
                print(
                    json.dumps({"fault": grade.reason, "grader": name, "response": text[:400], "gold": truth}),
                    flush=True,
                )
            spent = 1000 * (time.thread_time() - started)
            if spent > LIMIT_MS:
                started = time.thread_time()  # once more: a garbage collection or a first import is no fault
                grader(text)
                spent = 1000 * (time.thread_time() - started)
            if spent > LIMIT_MS:
                counts["FAULT slow"] += 1
                print(
                    json.dumps(
                        {"fault": f"{spent:.0f} ms", "grader": name, "chars": len(text), "response": text[:200]}
                    ),
                    flush=True,
                )
            counts[grade.status.name] += 1
            if grade.value not in (0.0, 1.0) and grade.status is not Status.BAD_GOLD:
                counts["FAULT value"] += 1
        short = text[:300]
        for one, other in ((short, truth), (short, short)):
            verdicts = [
                compare(one, other).equal,
                compare(other, one).equal,
                compare_math(one, other, cpu_seconds=0.5).equal,
                compare_math(other, one, cpu_seconds=0.5).equal,
            ]
            if (
                verdicts[0] != verdicts[1]
                or verdicts[2] != verdicts[3]
                or (one == other and one.strip() and not all(verdicts))
            ):
                counts["FAULT asymmetric or irreflexive"] += 1
                print(json.dumps({"fault": f"verdicts {verdicts}", "left": one, "right": other}), flush=True)
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found = run(options.minutes, options.seed)
    print(dict(found))
    raise SystemExit(1 if any(key.startswith("FAULT") for key in found) else 0)
