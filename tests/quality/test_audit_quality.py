"""How good the audit is: planted holes are found, sound rewards are left alone, attack cases are caught.

The tables are printed by `python -m tests.quality.audit_tables`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rewardkit import Batch, compile
from tests.quality.audit_tables import attacks, problems, run
from tests.quality.planted import HOLES, NO_TEXT, SOUND, verdicts


@pytest.mark.parametrize("formula", SOUND)
def test_no_false_alarm(formula: str) -> None:
    assert run(formula, formula, problems()[:2], budget=0).high == []


@pytest.mark.parametrize("formula", HOLES)
def test_the_hole_is_found(formula: str) -> None:
    assert run(formula, formula, problems()[:2], budget=0).high, HOLES[formula]


def test_attack_cases(shared_data: Path) -> None:
    """At least nine of ten are found in a naive reward that falls for them."""
    results = attacks(shared_data, budget=0)
    missed = [r.name for r in results if not r.found]
    assert len(missed) <= len(results) // 10, missed


def test_our_own_terms_pay_no_attack_case_against_what_it_expects(shared_data: Path) -> None:
    cases = [json.loads(x) for x in (shared_data / "attack_cases.jsonl").read_text(encoding="utf-8").splitlines()]
    paid = {}
    for case in cases:
        key = case["id"].partition(".")[0]
        if key in NO_TEXT:
            continue
        batch = Batch([case["completion"]], ground_truths=[case["gold"]], prompts=[case["prompt"]])
        for formula, expected in verdicts(key, case["expect"]).items():
            low, high = expected if isinstance(expected, tuple) else (expected, expected)
            total = float(compile(formula)(batch).total[0])
            if not low <= total <= high:
                paid[case["id"], formula] = total
    assert paid == {}
    assert len(cases) >= 20
