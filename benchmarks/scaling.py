"""How the time of a batch grows: with its rows, with the tokens of a response, with the terms of the formula.

    python benchmarks/scaling.py --tokenizer LLAMA3 --answers gsm8k_test.jsonl

Rows and tokens double four times; a line is fitted through the medians, and its residuals are shown as shares of each
time. Responses are decoded from token ids and scored, all different, by `gsm8k() + 0.1 * ends_with('.?!')`. The terms
are ten different ones over the same texts.
"""

from __future__ import annotations

import os
import platform
import random
import statistics
import time

import material
import numpy as np

from rewardkit import Batch, compile
from rewardkit.engine.detokenizer import Decoder

FORMULA = "gsm8k() + 0.1 * ends_with('.?!')"
TERMS = (
    "length(0.01)",
    "ends_with('.?!')",
    "starts_with('The')",
    "contains('=')",
    "length(0.001, unit='characters')",
    "brevity(target=150)",
    "tag_count()",
    "exact()",
    "script_share('Latin')",
    "think_answer()",
)
DOUBLINGS = 4


def seconds(action: object, rounds: int) -> float:
    """The median of a few rounds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()  # type: ignore[operator]
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def fitted(sizes: list[int], times: list[float]) -> str:
    slope, offset = np.polyfit(sizes, times, 1)
    residuals = [(t - (slope * n + offset)) / t for n, t in zip(sizes, times, strict=True)]
    shown = "  ".join(f"{n}: {t * 1000:.1f} ms ({r:+.1%})" for n, t, r in zip(sizes, times, residuals, strict=True))
    return f"{shown}\n    {slope * 1e6:.2f} us each, {offset * 1000:+.1f} ms offset"


def main() -> None:
    parser = material.parser(__doc__, rounds=5)
    args = parser.parse_args()
    tokenizer, answers, _ = material.load(args)
    decoder = Decoder(tokenizer)
    steps = [tokenizer.encode(a.partition("\n####")[0] + "\n", add_special_tokens=False) for a in answers]
    end = tokenizer.encode("#### 18", add_special_tokens=False)
    rng = random.Random(0)

    def ids(length: int) -> np.ndarray:
        line = list(end)
        while len(line) < length:
            line = steps[rng.randrange(len(steps))] + line
        return np.asarray(line[-length:])

    program = compile(FORMULA)

    def scored(lines: list[np.ndarray]) -> object:
        return lambda: program(Batch(decoder(lines), ground_truths=["18"] * len(lines)))

    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}; {FORMULA}")
    rows = [512 * 2**k for k in range(DOUBLINGS + 1)]
    print(
        "rows of 256 tokens\n   ",
        fitted(rows, [seconds(scored([ids(256) for _ in range(n)]), args.rounds) for n in rows]),
    )
    widths = [64 * 2**k for k in range(DOUBLINGS + 1)]
    times = [seconds(scored([ids(width) for _ in range(1024)]), args.rounds) for width in widths]
    print("tokens of 1,024 rows\n   ", fitted(widths, times))
    batch = Batch(decoder([ids(512) for _ in range(2048)]), ground_truths=["18"] * 2048)
    lines = [ids(512) for _ in range(2048)]
    times = []
    for count in (1, len(TERMS)):
        some = compile(" + ".join(TERMS[:count]))
        times.append(
            seconds(lambda some=some: some(Batch(decoder(lines), ground_truths=batch.ground_truths)), args.rounds)
        )
    one, ten = (1000 * t for t in times)
    print("terms over 2,048 rows of 512 tokens, decoding included")
    print(f"    1: {one:.1f} ms  {len(TERMS)}: {ten:.1f} ms, {ten / one:.2f} times one")


if __name__ == "__main__":
    main()
