"""`rewardkit score` over a large file: rows a second, and peak memory at a tenth of the rows and at all of them.

    python benchmarks/score.py                       # 1,000,000 rows of JSON lines and parquet; about ten minutes
    python benchmarks/score.py --rows 200000

Responses are worked solutions of 20 to 60 words, all different, that end in `#### NUMBER`. The script writes
the file in a process of its own, because the kernel counts a parent's memory in the peak of a child. Each
measurement is the command in a process of its own: wall time with start-up, CPU time, and the peak of its
resident memory. `read only` parses the same lines and does nothing else: what Python's json costs alone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FORMULAS = ("length(0.1) + ends_with('.?!')", "gsm8k() + 0.1 * ends_with('.?!')", "gsm8k() + group_rank(length())")
WORDS = [
    "so",
    "each",
    "of",
    "the",
    "pens",
    "costs",
    "two",
    "dollars",
    "and",
    "she",
    "buys",
    "then",
    "gives",
    "half",
    "away",
    "to",
    "her",
    "friend",
    "which",
    "leaves",
]
READ_ONLY = "import json, sys\nwith open(sys.argv[1], 'rb') as file:\n    for line in file:\n        json.loads(line)"


def write(folder: Path, rows: int) -> None:
    rng = random.Random(0)
    lines = folder / f"{rows}.jsonl"
    with lines.open("w") as out:
        for i in range(rows):
            text = " ".join(rng.choices(WORDS, k=rng.randint(20, 60)))
            row = {"response": f"{text} = {i}.\n#### {i % 97}", "ground_truth": str(i % 50), "group": i // 8}
            out.write(json.dumps(row) + "\n")
    with contextlib.suppress(ImportError):
        import pyarrow.json
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.json.read_json(lines), folder / f"{rows}.parquet")


def measure(command: list[str]) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds, and the peak of resident memory in MB."""
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"failed: {command}\n{errors.decode()}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--dir", type=Path, help="where to put the files (default: the temporary folder)")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.write:
        write(args.write, args.rows)
        return
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"{'':32} {'file':8} {'rows':>9} {'rows/s':>8} {'CPU µs/row':>11} {'peak MB':>8}")
    peaks: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory(dir=args.dir, prefix="score-bench-") as scratch:
        for rows in (args.rows // 10, args.rows):
            subprocess.run([sys.executable, __file__, "--write", scratch, "--rows", str(rows)], check=True)
            lines = Path(scratch, f"{rows}.jsonl")
            for path in filter(Path.exists, (lines, lines.with_suffix(".parquet"))):
                kind = path.suffix[1:]
                for formula in FORMULAS:
                    out = str(Path(scratch, "out.jsonl"))
                    command = [sys.executable, "-m", "rewardkit", "score", formula, str(path), "--out", out, "--json"]
                    peaks.setdefault((formula, kind), []).append(report(formula, kind, rows, command))
            report("read only", "jsonl", rows, [sys.executable, "-c", READ_ONLY, str(lines)])
    for (formula, kind), (small, large) in peaks.items():
        print(f"{formula}, {kind}: peak memory at all rows / at a tenth = {large / small:.2f}")


def report(what: str, kind: str, rows: int, command: list[str]) -> float:
    wall, cpu, peak = measure(command)
    print(f"{what:32} {kind:8} {rows:9,} {rows / wall:8,.0f} {cpu / rows * 1e6:11.1f} {peak:8.1f}", flush=True)
    return peak


if __name__ == "__main__":
    main()
