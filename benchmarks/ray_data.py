"""`rewardkit score --engine ray` against the local engine, on the same file: rows a second, and their ratio.

    python benchmarks/ray_data.py                    # 200,000 rows of parquet; some minutes
    python benchmarks/ray_data.py --rows 1000000

Both engines write parquet, in this process, one after the other, `--rounds` times; the table has the medians. The local
engine has one process; Ray has an actor a core. Ray is started once before, which takes seconds and is told apart. What
starting its actors costs is a fixed time, and is in `seconds` and in `first rows after`; `rows/s then` is the pace from
there on, and the last column is its ratio.
"""

from __future__ import annotations

import argparse
import logging
import os
import platform
import random
import statistics
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import ray

from rewardkit import compile as compile_reward
from rewardkit.engine.loading import load_reward
from rewardkit.scoring import Profile
from rewardkit.scoring.files import gather, local_parts
from rewardkit.scoring.tables import Tables, whole_parquet
from trainer_glue.engines.ray_data import ray_parts

FORMULAS = (
    "gsm8k() + 0.1 * ends_with('.?!')",
    "gsm8k() + repetition() + script_share('Latin') + group_rank(length())",
)
WORDS = "so each of the pens costs two dollars and she buys then gives half away to her friend which leaves"


def write(path: Path, rows: int) -> None:
    rng, words = random.Random(0), WORDS.split()
    texts = [f"{' '.join(rng.choices(words, k=rng.randint(20, 60)))} = {i}.\n#### {i % 97}" for i in range(rows)]
    truths = [str(i % 50) for i in range(rows)]
    pq.write_table(pa.table({"response": texts, "ground_truth": truths, "group": [i // 8 for i in range(rows)]}), path)


def measure(engine: str, formula: str, data: Path, out: Path) -> tuple[float, float, float]:
    """Seconds in all, seconds until the first rows, and rows a second from there on."""
    marks: list[tuple[float, int]] = []
    start = time.perf_counter()
    source = load_reward(formula)
    program = compile_reward(source.reward)
    render = Tables(program.names)
    parts = ray_parts(source, (data,), render) if engine == "ray" else local_parts(program, (data,), render)
    with whole_parquet(out) as add:
        note = lambda _, rows: marks.append((time.perf_counter() - start, rows))  # noqa: E731
        gather(parts, (data,), data, add, progress=note, profile=Profile(program))
    (first, rows), (last, total) = marks[0], marks[-1]
    return time.perf_counter() - start, first, (total - rows) / (last - first)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    begun = time.perf_counter()
    ray.init(address="local", include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"Ray {ray.__version__}, which took {time.perf_counter() - begun:.1f} s to start"
    )
    with tempfile.TemporaryDirectory(prefix="ray-data-bench-") as scratch:
        data = Path(scratch, "data.parquet")
        write(data, args.rows)
        for formula in FORMULAS:
            print(f"{formula}, {args.rows:,} rows")
            print(f"{'':8} {'seconds':>8} {'first rows after':>17} {'rows/s then':>12} {'to local':>9}")
            taken: dict[str, list[tuple[float, float, float]]] = {"local": [], "ray": []}
            for _ in range(args.rounds):
                for engine, times in taken.items():
                    times.append(measure(engine, formula, data, Path(scratch, f"{engine}.parquet")))
            if Path(scratch, "local.parquet").read_bytes() != Path(scratch, "ray.parquet").read_bytes():
                raise SystemExit(f"{formula}: the engines differ")
            pace = {}
            for engine, times in taken.items():
                total, first, pace[engine] = map(statistics.median, zip(*times, strict=True))
                ratio = pace[engine] / pace["local"]
                print(f"{engine:8} {total:8.1f} {first:17.1f} {pace[engine]:12,.0f} {ratio:9.2f}", flush=True)


if __name__ == "__main__":
    main()
