"""Answer checking against verl and math-verify: both sides in one process, on the same rows.

    python benchmarks/answers.py [--data FOLDER] [--rows 600]

Rows: GSM8K solutions, filled up to about 300 tokens with other solutions' steps, ending in a marker, a sentence or a
box, half of them with a wrong number; and (gold, answer, expected) triples for mathematics. FOLDER holds
``gsm8k_test.jsonl`` and ``answer_triples.jsonl``; without it the repository's own cases are used. Prints microseconds
of CPU time a response, ratios, and agreement with the labels.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rewardkit.answers import grade_gsm8k, grade_math, grade_math_many, shared_pool

Row = tuple[str, Any, bool]
ENDS = {
    "####": "{body}\n#### {n}",
    "sentence": "{body}\nThe answer is ${n}.",
    "box": "{body}\nSo the final answer is $\\boxed{{{n}}}$.",
    "no marker": "{body}\nSo altogether that makes {n} dollars.",
}


def _lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def gsm8k_rows(folder: Path | None, n: int) -> dict[str, list[Row]]:
    """Responses of about 1,200 characters for each way to end; every second one is wrong."""
    rng = random.Random(0)
    if folder is not None:
        solutions = [str(row["answer"]) for row in _lines(folder / "gsm8k_test.jsonl")]
    else:
        solutions = [f"She has {i} eggs and sells {i} * 2 = {2 * i} of them.\n#### {2 * i}" for i in range(1, 400)]
    bodies, golds = [], []
    for solution in solutions[:n]:
        body, _, gold = re.sub(r"<<.*?>>", "", solution).rpartition("\n#### ")
        while len(body) < 1_000:
            body = rng.choice(solutions).rpartition("\n#### ")[0] + "\n" + body
        bodies.append(body[-1_200:])
        golds.append(gold.strip())
    rows: dict[str, list[Row]] = {}
    for name, end in ENDS.items():
        rows[name] = []
        for i, (body, gold) in enumerate(zip(bodies, golds, strict=True)):
            said = gold if i % 2 else str(int(gold.replace(",", "")) + 1)
            rows[name].append((end.format(body=body, n=said), gold, bool(i % 2)))
    return rows


def math_rows(folder: Path | None) -> list[Row]:
    """Mathematics with a label; long responses as they are."""
    if folder is None:
        cases = _lines(Path(__file__).parents[1] / "tests" / "data" / "answers_math.jsonl")
        return [(str(c["response"]), str(c["gold"]), bool(c["expect"])) for c in cases if c["expect"] is not None]
    rows = [r for r in _lines(folder / "answer_triples.jsonl") if r["category"] == "semantic"]
    return [(str(r["pred"]), r["gold"], bool(r["expected"])) for r in rows]


def timed(grade: Callable[[str, Any], float], rows: list[Row], repeats: int) -> tuple[float, float]:
    """Best microseconds of CPU time a response over the repeats, and agreement with the labels."""
    best = float("inf")
    agree = 0
    for _ in range(repeats):
        started = time.thread_time()
        values = [grade(response, gold) for response, gold, _ in rows]
        best = min(best, time.thread_time() - started)
        agree = sum((value == 1) == right for value, (_, _, right) in zip(values, rows, strict=True))
    return 1e6 * best / len(rows), agree / len(rows)


def math_verify() -> Callable[[str, Any], float] | None:
    """math-verify as its README uses it; a gold without delimiters is put between dollars."""
    try:
        from math_verify import parse, verify
    except ImportError:
        return None

    def grade(response: str, gold: Any) -> float:
        gold = str(gold[0] if isinstance(gold, list) else gold)
        target = gold if "$" in gold or "\\boxed" in gold else f"${gold}$"
        return float(verify(parse(target), parse(response)))

    return grade


def verl() -> Callable[[str, Any], float] | None:
    """verl's scorer in its strict mode, on a gold as its preprocessing leaves it."""
    try:
        from verl.utils.reward_score.gsm8k import compute_score
    except ImportError:
        return None
    return lambda response, gold: float(compute_score(response, gold.replace(",", "")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--rows", type=int, default=600)
    options = parser.parse_args()
    folder = options.data
    if folder is None and (Path(__file__).parents[2] / "shared" / "data").is_dir():
        folder = Path(__file__).parents[2] / "shared" / "data"
    others = {"verl strict": verl(), "math-verify": math_verify()}
    for name, rows in gsm8k_rows(folder, options.rows).items():
        ours, agreement = timed(lambda r, g: grade_gsm8k(r, g).value, rows, 9)
        print(f"gsm8k, {name}: {len(rows)} rows of {sum(len(r) for r, _, _ in rows) // len(rows)} characters")
        print(f"  rewardkit    {ours:9.1f} us  agrees {agreement:.3f}")
        for other, grade in others.items():
            if grade is not None:
                some = rows[:100] if other == "math-verify" else rows
                theirs, their_agreement = timed(grade, some, 1 if other == "math-verify" else 9)
                print(f"  {other:12} {theirs:9.1f} us  agrees {their_agreement:.3f}  {theirs / ours:6.1f} times ours")
    rows = math_rows(folder)
    shared_pool().warm()
    grade_math(r"$\sin^2 x + \cos^2 x$", "1")
    print(f"math: {len(rows)} rows")
    one, agreement = timed(lambda r, g: grade_math(r, g).value, rows, 3)
    print(f"  rewardkit    {one:9.1f} us  agrees {agreement:.3f}  (one at a time)")
    started = time.perf_counter()
    grade_math_many([r for r, _, _ in rows], [g for _, g, _ in rows])
    many = 1e6 * (time.perf_counter() - started) / len(rows)
    print(f"  rewardkit    {many:9.1f} us  (as one batch)")
    if (grade := others["math-verify"]) is not None:
        theirs, their_agreement = timed(grade, rows, 1)
        print(f"  math-verify  {theirs:9.1f} us  agrees {their_agreement:.3f}  {theirs / one:6.1f} times ours")
    shared_pool().close()


if __name__ == "__main__":
    main()
