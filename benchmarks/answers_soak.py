"""A soak of formula grading: many gradings with a bomb every so often, against the same run without bombs."""

from __future__ import annotations

import argparse
import gc
import json
import resource
import time
from collections import Counter
from pathlib import Path

from rewardkit.answers import grade_math_many
from rewardkit.batch import Status
from rewardkit.processes.worker_pool import Pool

BATCH = 1_024
BOMBS = [
    r"\boxed{9^{9^{9^9}}}",
    r"\boxed{((9!)!)!}",
    r"\boxed{(\sin^2 x + \cos^2 x)(a+b+c+d)^{60}}",
    r"\boxed{\lfloor (x+y+z+w)^{120} \rfloor}",
    "#### " + "9" * 1_000_000,
    r"\boxed{" + "(" * 1_900 + "}",
    r"\boxed{x^{99999999}}",
    r"\boxed{\binom{99999999}{5000000}}",
    r"\boxed{e^{e^{e^{e^{10}}}}}",
    r"\boxed{\sin(e^{e^{e^{e^{9}}}})}",
]
GROUND_TRUTHS = ["(a+b+c+d)^{60}", r"\lfloor x \rfloor"]


def clean_rows(n: int) -> list[tuple[str, str]]:
    """The repository's own cases, over and over."""
    path = Path(__file__).parents[1] / "tests" / "data" / "answers_math_pairs.jsonl"
    pairs = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows = [(rf"so it is \boxed{{{pair['answer']}}}.", pair["gold"]) for pair in pairs]
    return [rows[i % len(rows)] for i in range(n)]


def run(rows: list[tuple[str, str]], pool: Pool, cpu_seconds: float) -> tuple[bytes, list[float], float]:
    """A byte for the value and status of each row, this process's memory after every tenth of them, and wall time.

    Grades are not kept: 100,000 of them are 30 MB, which are the caller's.
    """
    started = time.perf_counter()
    verdicts = bytearray()
    memory: list[float] = []
    for start in range(0, len(rows), BATCH):
        part = rows[start : start + BATCH]
        grades = grade_math_many([r for r, _ in part], [g for _, g in part], cpu_seconds=cpu_seconds, pool=pool)
        verdicts += bytes(10 * int(g.status) + (int(g.value) if g.value == g.value else 2) for g in grades)
        if 10 * len(verdicts) >= (len(memory) + 1) * len(rows):
            gc.collect()
            memory.append(rss_mb())
    return bytes(verdicts), memory, time.perf_counter() - started


def rss_mb(pid: int | str = "self") -> float:
    """Resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def _shown(memory: list[float]) -> str:
    return " ".join(f"{mb:.0f}" for mb in memory)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--every", type=int, default=100)
    parser.add_argument("--cpu-seconds", type=float, default=0.3)
    options = parser.parse_args()
    pool = Pool(preload="rewardkit.answers.latex.symbolic:warm")
    rows = clean_rows(options.n)
    run(rows[:BATCH], pool, 1.0)
    expected, memory, seconds = run(rows, pool, 1.0)
    print(f"clean: {len(rows)} rows, {seconds:.1f} s, MB by tenths {_shown(memory)}")
    mixed = list(rows)
    for k, i in enumerate(range(options.every - 1, len(rows), options.every)):
        mixed[i] = (BOMBS[k % len(BOMBS)], GROUND_TRUTHS[k % len(GROUND_TRUTHS)])
    codes, memory, seconds = run(mixed, pool, options.cpu_seconds)
    bombs = [i for i in range(len(rows)) if mixed[i] is not rows[i]]
    others = set(range(len(rows))) - set(bombs)
    differ = [i for i in others if codes[i] != expected[i]]
    workers = pool.processes()
    print(f"with {len(bombs)} bombs: {seconds:.1f} s, MB by tenths {_shown(memory)}")
    print(f"workers {[round(rss_mb(p)) for p in workers]} MB")
    print("bombs:", dict(Counter(Status(codes[i] // 10).name for i in bombs)))
    print("other verdicts that differ:", len(differ), [(mixed[i], expected[i], codes[i]) for i in differ[:3]])
    pool.close()
    left = [pid for pid in workers if Path(f"/proc/{pid}").exists()]
    print("processes left:", left)
    errors = sum(codes[i] // 10 == Status.ERROR for i in bombs)
    print("bombs that ended in an ERROR:", errors)
    raise SystemExit(1 if differ or left or errors else 0)


if __name__ == "__main__":
    main()
