"""What the audit finds in rewards of which it is known, as tables.

    python -m tests.quality.audit_tables             # both tables
    python -m tests.quality.audit_tables formulas    # 20 formulas: 10 sound, 10 with a hole
    python -m tests.quality.audit_tables attacks     # one naive reward for each attack case (external test data)

The thresholds are in test_audit_quality.py. Not collected by pytest.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardkit import compile
from rewardkit.audit import AuditReport, FormulaSubject, FunctionSubject, Problem, Subject, audit, problem_of
from rewardkit.diagnostics import Severity
from rewardkit.errors import DataError
from tests.quality.planted import HOLES, SOUND, planted

QUESTIONS = (
    ("A box holds 12 pens and Ann buys 6 boxes. How many pens does she have?", "72"),
    ("Ben runs 3 miles on each of 5 days and 8 on the sixth. How many miles is that?", "23"),
    ("A shirt costs $40 and is sold at a quarter off. What does it cost now?", "30"),
    ("Two trains of 150 seats each leave full, and 1 seat is empty. How many people are on them?", "299"),
)


def problems() -> list[Problem]:
    """A few rows of our own."""
    rows = ({"question": q, "answer": f"Step by step, this comes to {a}.\n#### {a}"} for q, a in QUESTIONS)
    return [p for row in rows if (p := problem_of(row)) is not None]


@dataclass(frozen=True)
class Result:
    name: str
    report: AuditReport | None
    error: str
    seconds: float
    wanted: frozenset[str] = frozenset()

    @property
    def codes(self) -> set[str]:
        if self.report is None:
            return set()
        return {x for f in self.report.diagnostics for x in (f.code, f.family, *f.also)}

    @property
    def high(self) -> list[str]:
        diagnostics = self.report.diagnostics if self.report is not None else ()
        return [f"{f.code}/{f.family}" for f in diagnostics if f.severity is Severity.ERROR]

    @property
    def found(self) -> bool:
        return bool(self.wanted & self.codes) or any(w in self.error for w in self.wanted)


def subject_of(reward: Any) -> Subject:
    if callable(reward):
        return FunctionSubject(reward, reward.__name__)
    return FormulaSubject(compile(reward))


def run(name: str, reward: Any, rows: list[Problem], wanted: set[str] | None = None, budget: float = 1.0) -> Result:
    began = time.monotonic()
    try:
        report, error = audit(subject_of(reward), rows, budget=budget, fix=False), ""
    except DataError as e:
        report, error = None, str(e)
    return Result(name, report, error, time.monotonic() - began, frozenset(wanted or ()))


def formulas(budget: float = 1.0) -> tuple[list[Result], list[Result]]:
    """The sound formulas and those with a hole."""
    rows = problems()
    return [run(f, f, rows, budget=budget) for f in SOUND], [run(f, f, rows, budget=budget) for f in HOLES]


def attacks(folder: Path, budget: float = 1.0) -> list[Result]:
    """One naive reward for each attack case, audited on the case's own prompt and ground truth."""
    results = []
    for line in (folder / "attack_cases.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        key = case["id"].partition(".")[0]
        reward, wanted = planted(key, case["family"])
        problem = problem_of({"question": case["prompt"], "ground_truth": case["gold"]})
        assert problem is not None
        results.append(run(case["id"], reward, [problem], wanted, budget))
    return results


def print_formulas() -> None:
    sound, holes = formulas()
    print(f"{'sound formula':<80} {'errors':<40} seconds")
    for r in sound:
        print(f"{r.name:<80} {', '.join(r.high) or '-':<40} {r.seconds:.1f}")
    print(f"\n{'formula with a hole':<80} {'what is wrong with it':<50} {'found':<40} seconds")
    for r in holes:
        print(f"{r.name[:78]:<80} {HOLES[r.name]:<50} {', '.join(r.high) or 'NOTHING':<40} {r.seconds:.1f}")
    print(f"\nholes found: {sum(bool(r.high) for r in holes)} of {len(holes)}; ", end="")
    print(f"false alarms: {sum(bool(r.high) for r in sound)} of {len(sound)} sound formulas")


def print_attacks(folder: Path) -> None:
    results = attacks(folder)
    for r in results:
        how = ", ".join(sorted(r.wanted & r.codes)) or (r.error.splitlines()[0][:60] if r.found else "")
        print(f"{r.name:<24} {'found' if r.found else 'MISSED':<7} {how:<40} {r.seconds:.1f} s")
    slowest = max(r.seconds for r in results)
    print(f"\nfound: {sum(r.found for r in results)} of {len(results)}; slowest {slowest:.1f} s")


if __name__ == "__main__":
    which = sys.argv[1:] or ["formulas", "attacks"]
    named = os.environ.get("REWARDKIT_TEST_DATA")
    data = Path(named) if named else Path(__file__).resolve().parents[3] / "shared" / "data"
    if "formulas" in which:
        print_formulas()
    if "attacks" in which:
        print_attacks(data)
