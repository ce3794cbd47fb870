"""Five rewards, three auditors, side by side: what each finds, and how long it takes.

    python benchmarks/audit_peers.py DATA.jsonl   # question and answer, as GSM8K's test file has them

It needs reward-doctor, rewardprobe, verl and trl beside rewardkit; a virtual environment of its own is best (verl and
trl without their dependencies are enough: one module of each is loaded). The rewards are the packages' own code, but
for open-r1, which has no package: its pattern is rebuilt here.

The others run a fixed list of texts on a black box. A diagnostic of theirs that is about no text that earns anything is
printed all the same; which are right is for the reader, and docs/auditing.md says what we make of them.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Reward = Callable[[str, str], float]


def _module(name: str, package: str, path: str) -> Any:
    """A module of a package by its file: importing verl itself takes seconds and needs torch."""
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.origin is not None, f"{package} is not installed"
    its = importlib.util.spec_from_file_location(name, Path(spec.origin).parent / path)
    assert its is not None and its.loader is not None
    module = importlib.util.module_from_spec(its)
    its.loader.exec_module(module)
    return module


def verl_gsm8k_strict(completion: str, answer: str) -> float:
    return float(_verl().compute_score(completion, answer, method="strict"))


def open_r1_format(completion: str, answer: str) -> float:
    pattern = r"^<think>\n.*?\n</think>\n<answer>\n.*?\n</answer>$"
    return float(re.match(pattern, completion, re.DOTALL | re.MULTILINE) is not None)


def trl_cosine(completion: str, answer: str) -> float:
    ids = [len(piece) for piece in completion.split()]
    (value,) = _cosine()([[{"role": "assistant", "content": completion}]], [answer], [ids])
    return float("nan") if value is None else float(value)


def length_and_mark(completion: str, answer: str) -> float:
    return 0.1 * len(completion.split()) + float(completion.rstrip().endswith((".", "?", "!")))


def rewardkit_gsm8k(completion: str, answer: str) -> float:
    from rewardkit import Batch

    return float(_ours()(Batch([completion], ground_truths=[answer])).total[0])


_SUCCESS = {"length_and_mark": 1.0}
"""From which score reward-doctor is to take an answer for accepted, where that is not "more than 0"."""
REWARDS: tuple[Reward, ...] = (verl_gsm8k_strict, open_r1_format, trl_cosine, length_and_mark, rewardkit_gsm8k)


@functools.cache
def _verl() -> Any:
    return _module("verl_gsm8k", "verl", "utils/reward_score/gsm8k.py")


@functools.cache
def _cosine() -> Any:
    from trl.rewards import get_cosine_scaled_reward

    return get_cosine_scaled_reward(max_len=1000)


@functools.cache
def _ours() -> Any:
    from rewardkit import compile, gsm8k

    return compile(gsm8k())


def by_us(reward: Reward, data: Path) -> list[str]:
    from rewardkit.audit import FormulaSubject, FunctionSubject, audit, read_problems

    subject = FormulaSubject(_ours()) if reward is rewardkit_gsm8k else FunctionSubject(reward, reward.__name__)
    report = audit(subject, read_problems(data, 6), budget=2)
    shown = [f"{f.severity.value} {f.code}/{f.family}: {f.message}" for f in report.diagnostics]
    return [*shown, *([f"instead: {report.fix.formula}"] if report.fix else [])]


def by_reward_doctor(reward: Reward, data: Path) -> list[str]:
    target = f"{Path(__file__).resolve()}:{reward.__name__}"
    done = _run(
        "reward_doctor.cli",
        "audit",
        target,
        "--format",
        "json",
        "--fail-on",
        "never",
        "--threshold",
        str(_SUCCESS.get(reward.__name__, 0.0)),
    )
    try:
        report = json.loads(done)
    except json.JSONDecodeError:
        return [done.strip()[-300:] or "no output"]
    exploits = [
        f"{c['attack']}: {c['completion'][:50]!r} is paid {c['score']}" for c in report["failures"] if c["attack"]
    ]
    counts = {kind: f"{n['failed']} of {n['total']}" for kind, n in report["by_category"].items()}
    return [f"{report['profile']}; failed {counts}", *exploits]


def by_rewardprobe(reward: Reward, data: Path) -> list[str]:
    rows = [json.loads(line) for line in data.read_text(encoding="utf-8").splitlines()[:6]]
    with tempfile.TemporaryDirectory() as folder:
        tasks = Path(folder) / "tasks.jsonl"
        tasks.write_text(
            "".join(
                json.dumps({"question": r["question"], "answer": r["answer"].rpartition("####")[2].strip()}) + "\n"
                for r in rows
            )
        )
        done = _run("rewardprobe.cli", "test", f"audit_peers::{reward.__name__}", "--dataset", str(tasks), "--json")
    try:
        report = json.loads(done[done.index("{") :], strict=False)  # it wraps the lines inside its strings
    except ValueError:
        return [done.strip()[-300:] or "no output"]
    return [
        f"{f['severity']} {f['family']}/{f['attack']}: {f['input'][:50]!r} is paid {f['actual_reward']}"
        for family in report["families"]
        for f in family["findings"]
    ]


def _run(module: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"from {module} import main; main()", *arguments],
        cwd=Path(__file__).parent,
        env={"PYTHONPATH": f"{Path(__file__).parent}:{Path(__file__).parent.parent}", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.stdout or done.stderr


def main(data: Path) -> None:
    for reward in REWARDS:
        print(f"\n== {reward.__name__}")
        for name, auditor in (
            ("rewardkit", by_us), ("reward-doctor", by_reward_doctor), ("rewardprobe", by_rewardprobe),
        ):  # fmt: skip
            began = time.monotonic()
            lines = auditor(reward, data)
            print(f"-- {name}: {len(lines)} lines, {time.monotonic() - began:.1f} s")
            for line in lines:
                print(f"   {line[:200]}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
