"""Holes that were planted in formulas and functions are found, and no error is said of sound ones beside them.

The cases are lines of `tests/data/audit_formulas.jsonl` and `audit_functions.jsonl`: what is planted, and of which
codes one must be found at which severity. One of each kind is tried every day, all of them in the long run.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewardkit.audit import Subject, audit, load_subject
from rewardkit.diagnostics import Severity
from tests.quality.audit_tables import problems

DATA = Path(__file__).parents[1] / "data"


def cases(name: str) -> Iterator[Any]:
    kinds: set[str] = set()
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        marks = [pytest.mark.long] if case["kind"] in kinds or case.get("long") else []
        kinds.add(case["kind"])
        yield pytest.param(case, id=case["id"], marks=marks)


def found_in(subject: Subject) -> list[tuple[str, Severity]]:
    report = audit(subject, problems()[:2], budget=0, fix=False)
    return [(f.code, f.severity) for f in report.diagnostics]


def holds(case: dict[str, Any], found: list[tuple[str, Severity]]) -> bool:
    if case["severity"] == "none":
        return all(severity is not Severity.ERROR for _, severity in found)
    least = Severity(case["severity"])
    return any(code in case["codes"] and severity.reaches(least) for code, severity in found)


@pytest.mark.parametrize("case", list(cases("audit_formulas.jsonl")))
def test_formulas(case: dict[str, Any]) -> None:
    found = found_in(load_subject(case["source"]))
    assert holds(case, found), found


@pytest.mark.parametrize("case", list(cases("audit_functions.jsonl")))
def test_functions(case: dict[str, Any], tmp_path: Path) -> None:
    name = [n.name for n in ast.parse(case["source"]).body if isinstance(n, ast.FunctionDef)][-1]
    file = tmp_path / "planted.py"
    file.write_text(case["source"], encoding="utf-8")
    found = found_in(load_subject(f"{file}:{name}"))
    assert holds(case, found), found
