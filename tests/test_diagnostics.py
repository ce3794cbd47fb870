"""One record and one registry for every check: what every code and every diagnostic keeps to."""

from __future__ import annotations

import ast
import copy
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.analysis import diagnostics as _explain  # noqa: F401  # each registers its codes
from rewardkit.audit import AuditDiagnostic
from rewardkit.cli._diagnostics import counts, line
from rewardkit.data.check import RowDiagnostic
from rewardkit.diagnostics import CODES, Diagnostic, Severity, ordered, register
from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.preflight.codes import ENVIRONMENT

ROOT = Path(__file__).parents[1]
PACKAGES = ("rewardkit", "trainer_glue")
CODE = re.compile(r"^\| `?([a-z]+(?:-[a-z]+)*|RKD\d{3})`? \|", re.MULTILINE)


def documented() -> list[str]:
    errors = (ROOT / "docs" / "errors.md").read_text().partition("## Diagnostics")[2]
    found = CODE.findall(errors) + CODE.findall((ROOT / "docs" / "doctor.md").read_text())
    return [code for code in found if code != "code"]


def test_every_code_is_on_a_page_and_every_code_of_a_page_exists() -> None:
    assert sorted(documented()) == sorted(CODES)


def test_every_code_is_used() -> None:
    used: set[str] = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            tables = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == "register"]
            inside = {id(n) for table in tables for n in ast.walk(table)}
            constants = (n for n in ast.walk(tree) if isinstance(n, ast.Constant) and id(n) not in inside)
            used |= {n.value for n in constants if isinstance(n.value, str)}
    assert set(CODES) <= used
    assert {name for name in used if re.fullmatch(r"RKD\d{3}", name)} <= set(CODES)
    assert set(CODES) >= ENVIRONMENT


@pytest.mark.parametrize("code", sorted(CODES))
def test_a_code_says_its_producer_its_line_and_its_usual_severity(code: str) -> None:
    known = CODES[code]
    assert known.producer and known.line
    made = Diagnostic(code, "it is so", "a.yaml:3", "do this")
    assert made.severity is known.severity
    assert made.as_dict() == {
        "code": code, "message": "it is so", "where": "a.yaml:3", "hint": "do this", "severity": known.severity
    }  # fmt: skip
    assert line(made) == f"{known.severity:<8}[{code}] a.yaml:3: it is so\n    hint: do this"


def test_a_code_that_is_not_registered_is_refused_and_none_is_registered_twice() -> None:
    with pytest.raises(ValueError, match="'RKD999' is not registered"):
        Diagnostic("RKD999", "")
    with pytest.raises(ValueError, match="'no-route' of mine is one of data check already"):
        register("mine", {"no-route": (Severity.NOTE, "")})


def test_every_check_has_the_same_first_keys() -> None:
    common = list(Diagnostic("no-route", "").as_dict())
    for made in (
        AuditDiagnostic("slow", ""),
        ConfigDiagnostic("unknown-key", "", key="a.b"),
        RowDiagnostic("no-route", "", row=3, term="route"),
    ):
        assert list(made.as_dict())[: len(common)] == common
        assert copy.copy(made) == made


def test_severities_are_in_order() -> None:
    assert [a.reaches(b) for a in Severity for b in Severity] == [
        True, True, True, False, True, True, False, False, True
    ]  # fmt: skip


PLACES = st.one_of(st.just(""), st.builds("run.yaml:{}".format, st.integers(1, 200)), st.text(max_size=4))


@given(st.lists(st.tuples(st.sampled_from(Severity), PLACES), max_size=8))
def test_the_worst_is_first_and_then_the_place(made: list[tuple[Severity, str]]) -> None:
    found = ordered([Diagnostic("verl", "", where, severity=severity) for severity, where in made])
    assert [d.severity.rank for d in found] == sorted(s.rank for s, _ in made)
    for severity in Severity:
        places = [d.where for d in found if d.severity is severity]
        numbers = [int(p.removeprefix("run.yaml:")) for p in places if re.fullmatch(r"run\.yaml:[0-9]+", p)]
        assert numbers == sorted(numbers)
        assert places[: places.count("")] == [""] * places.count("")


def test_they_are_counted_by_severity() -> None:
    assert counts([Diagnostic("verl", ""), Diagnostic("cpu", ""), Diagnostic("cpu", "")]) == "1 error, 2 warnings"
    assert counts([]) == "0 errors, 0 warnings"
