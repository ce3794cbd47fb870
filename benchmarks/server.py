"""`rewardkit serve` on loopback: 64 connections, throughput and latency, and a restart in the middle.

    python benchmarks/server.py                     # 20 seconds, 16 rows a request

Each connection sends one request after the other; half way the server gets SIGHUP and replaces its process. A request
that fails, for whatever reason, is counted and shown.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
import time

import httpx

FORMULA = "gsm8k() + 0.1 * ends_with('.?!')"
CONNECTIONS = 64


async def load(address: str, seconds: float, rows: int, server: int) -> tuple[list[float], collections.Counter[str]]:
    """The latency of every request, and what failed."""
    body = {"rows": [{"response": f"{'so it goes on ' * 40}\n#### {i}", "ground_truth": "3"} for i in range(rows)]}
    times: list[float] = []
    failures: collections.Counter[str] = collections.Counter()
    end = time.perf_counter() + seconds
    limits = httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS)
    async with httpx.AsyncClient(limits=limits, timeout=60) as client:

        async def connection() -> None:
            while (start := time.perf_counter()) < end:
                try:
                    answer = await client.post(f"{address}/score", json=body)
                    answer.raise_for_status()
                    times.append(time.perf_counter() - start)
                except httpx.HTTPError as e:
                    failures[repr(e)] += 1

        async def restart() -> None:
            await asyncio.sleep(seconds / 2)
            os.kill(server, signal.SIGHUP)

        await asyncio.gather(restart(), *(connection() for _ in range(CONNECTIONS)))
    return times, failures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rows", type=int, default=16, help="of a request")
    args = parser.parse_args()
    command = [sys.executable, "-m", "rewardkit", "serve", FORMULA, "--port", "0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    address = re.search(r"http://\S+", server.stderr.readline())
    assert address is not None
    times, failures = asyncio.run(load(address[0], args.seconds, args.rows, server.pid))
    server.terminate()
    told = server.communicate()[1]
    cuts = statistics.quantiles(times, n=100)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, uvicorn on loopback")
    print(f"{CONNECTIONS} connections, {args.rows} rows a request, {args.seconds:g} s, {FORMULA}")
    rate = len(times) / args.seconds
    p50, p99 = cuts[49] * 1000, cuts[98] * 1000
    print(f"{rate:,.0f} requests/s, {rate * args.rows:,.0f} rows/s; p50 {p50:.0f} ms, p99 {p99:.0f} ms")
    print(f"{told.count('restarted')} restart, {failures.total()} failed requests {dict(failures) or ''}")


if __name__ == "__main__":
    main()
