"""Running programs against their unit tests: ours and verl's prime_code, on the same programs in one process run.

    python benchmarks/programs.py [--rows 60] [--rounds 3] [--isolation auto]

``stdin``: programs that read a number and print one, one case and ten cases each. ``call``: the same as functions; ours
loads the program anew for each case, and also (``kept``) has the cases of a program in one process, as prime_code does.
Rows are spread over as many workers as there are places: threads for ours, which wait for the places, and processes for
prime_code, as verl's manager for it does. Both sides take turns; the best round of each counts. Tests a second by the
clock, and milliseconds of CPU time a test over the whole process tree.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import psutil

from rewardkit.programs.limits import Limits
from rewardkit.programs.local import LocalSandbox
from rewardkit.programs.outcome import Ending
from rewardkit.programs.sandbox import choose

LIMITS = Limits(cpu_seconds=5, wall_seconds=15)
STDIN = "n = int(input())\nprint(sum(k * k for k in range(n)))  # {row}"
CALL = "def solve(n):\n    return sum(k * k for k in range(n))  # {row}"


@dataclass(frozen=True)
class Row:
    program: str
    numbers: list[int]


def answer(n: int) -> int:
    return sum(k * k for k in range(n))


def ours_stdin(sandbox: LocalSandbox, row: Row) -> bool:
    came = [sandbox.run(row.program, f"{n}\n", LIMITS) for n in row.numbers]
    return all(
        o.ending is Ending.VALUE and o.output.split() == [str(answer(n))]
        for o, n in zip(came, row.numbers, strict=True)
    )


def ours_call(sandbox: LocalSandbox, row: Row, fresh: bool) -> bool:
    with sandbox.open(row.program, LIMITS) as session:
        return [session.call("solve", [n], fresh=fresh).value for n in row.numbers] == [answer(n) for n in row.numbers]


def verls(row: Row, called: bool) -> bool:
    from verl.utils.reward_score.prime_code import compute_score

    cases: dict[str, Any] = {
        "inputs": [f"{n}" if called else f"{n}\n" for n in row.numbers],
        "outputs": [f"{answer(n)}" for n in row.numbers],
    }
    if called:
        cases["fn_name"] = "solve"
    return bool(compute_score(f"```python\n{row.program}\n```", cases)[0])


def cpu_seconds() -> float:
    """Of this process and all below it, those that have been waited for included."""
    total = 0.0
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def measured(work: Callable[[Row], bool], rows: list[Row], pool: Any) -> tuple[float, float]:
    began, cpu = time.perf_counter(), cpu_seconds()
    paid = list(pool.map(work, rows))
    took = time.perf_counter() - began, cpu_seconds() - cpu
    assert all(paid), f"{paid.count(False)} of {len(paid)} right programs were not paid"
    return took


class Verls:
    """``verls`` with its mode, which a process pool can carry."""

    def __init__(self, called: bool) -> None:
        self.called = called

    def __call__(self, row: Row) -> bool:
        return verls(row, self.called)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--isolation", default="auto")
    arguments = parser.parse_args()
    sandbox = choose(arguments.isolation)
    print(f"{sandbox.name}, {sandbox.size} places, load {os.getloadavg()[0]:.1f}")
    head = f"{'programs':<8} {'cases':>5}  {'':<14}{'tests/s':>9}{'CPU ms/test':>13}"
    print(f"{head}{'prime_code':>12}{'CPU ms/test':>13}{'ratio':>8}{'CPU':>8}")
    with ThreadPoolExecutor(sandbox.size) as threads, ProcessPoolExecutor(sandbox.size) as processes:
        for kind, program in (("stdin", STDIN), ("call", CALL)):
            for cases in (1, 10):
                n_rows = max(4, arguments.rows // cases)
                rows = [Row(program.format(row=i), list(range(i, i + cases))) for i in range(n_rows)]
                sides: dict[str, tuple[Callable[[Row], bool], Any]] = {"prime_code": (Verls(kind == "call"), processes)}
                if kind == "stdin":
                    sides["ours"] = (lambda row: ours_stdin(sandbox, row)), threads
                else:
                    sides["ours, fresh"] = (lambda row: ours_call(sandbox, row, True)), threads
                    sides["ours, kept"] = (lambda row: ours_call(sandbox, row, False)), threads
                best = {side: (float("inf"), float("inf")) for side in sides}
                for _ in range(arguments.rounds):
                    for side, (work, pool) in sides.items():
                        took = measured(work, rows, pool)
                        best[side] = min(best[side][0], took[0]), min(best[side][1], took[1])
                n = n_rows * cases
                theirs = best.pop("prime_code")
                for side, (wall, cpu) in best.items():
                    print(
                        f"{kind:<8} {cases:>5}  {side:<14}{n / wall:>9.0f}{1e3 * cpu / n:>13.2f}"
                        f"{n / theirs[0]:>12.0f}{1e3 * theirs[1] / n:>13.2f}"
                        f"{theirs[0] / wall:>7.1f}x{theirs[1] / cpu:>7.1f}x"
                    )
                    sys.stdout.flush()


if __name__ == "__main__":
    main()
