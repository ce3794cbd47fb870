"""Tests of programs, one after another: code_tests() beside verl's prime_code, on the same programs.

    python benchmarks/code_tests.py                # 40 right programs of 5 tests each, three rounds
    python benchmarks/code_tests.py --programs 200

The sides take turns, round by round; medians. `tests a second` is wall time, and `CPU ms a test` the processor time of
this process and of all that it started, which other work on the machine does not change. prime_code starts a manager
and a process for each program, and runs its tests there one after another; code_tests() runs each test in a process of
its own, which the program can't leave. Both get programs that pass, so that neither stops early.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import time
from collections.abc import Callable

import psutil
from verl.utils.reward_score import prime_code

from rewardkit import Batch, code_tests, compile

Rows = list[tuple[str, str]]


def rows(programs: int, kind: str) -> Rows:
    """Different programs that square a number, and five tests for each."""
    made = []
    for i in range(programs):
        if kind == "stdin":
            code = f"n = int(input())  # {i}\nprint(n * n)"
            tests = {"inputs": [f"{n}\n" for n in range(5)], "outputs": [f"{n * n}\n" for n in range(5)]}
        else:
            code = f"def square(n):  # {i}\n    return n * n"
            tests = {
                "inputs": [f"{n}" for n in range(5)],
                "outputs": [f"{n * n}" for n in range(5)],
                "fn_name": "square",
            }
        made.append((f"```python\n{code}\n```", json.dumps(tests)))
    return made


def ours(batch: Rows) -> float:
    scores = compile(code_tests())(Batch([r for r, _ in batch], ground_truths=[t for _, t in batch]))
    return float(scores.total.sum())


def theirs(batch: Rows) -> float:
    return float(sum(bool(prime_code.compute_score(response, tests)[0]) for response, tests in batch))


def cpu_seconds() -> float:
    """Of this process and all below it, those that have ended included."""
    own = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    total = sum(usage.ru_utime + usage.ru_stime for usage in own)
    for child in psutil.Process().children(recursive=True):
        times = child.cpu_times()
        total += times.user + times.system + times.children_user + times.children_system
    return total


def measured(side: Callable[[Rows], float], batch: Rows) -> tuple[float, float]:
    start, cpu = time.perf_counter(), cpu_seconds()
    paid = side(batch)
    assert paid == len(batch), f"{side.__name__} paid {paid} of {len(batch)} right programs"
    return time.perf_counter() - start, cpu_seconds() - cpu


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print(f"{args.programs} programs of 5 tests, {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}\n")
    print("| tests | side | tests a second | CPU ms a test |")
    print("|---|---|---|---|")
    for kind in ("stdin", "fn_name"):
        batch = rows(args.programs, kind)
        ours(batch[:2])  # chooses the isolation, and starts its places
        taken: dict[str, list[tuple[float, float]]] = {}
        for _ in range(args.rounds):
            for side in (ours, theirs):
                taken.setdefault(side.__name__, []).append(measured(side, batch))
        for name, label in (("ours", "code_tests()"), ("theirs", "verl's prime_code")):
            wall, cpu = (statistics.median(column) for column in zip(*taken[name], strict=True))
            n = 5 * args.programs
            print(f"| {kind} | {label} | {n / wall:.0f} | {1000 * cpu / n:.1f} |")


if __name__ == "__main__":
    main()
