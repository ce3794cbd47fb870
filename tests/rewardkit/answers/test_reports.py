"""Rows drawn from public reports on answer checking, where that material is at hand: each formula's total."""

from __future__ import annotations

import json
from pathlib import Path

from rewardkit import Batch, compile, parse

APART: dict[str, str] = {
    "R10.2": "a letter in \\fbox beside others is not read",
    "R10.6": "a letter inside a boxed formula is read as a choice",
    "R10.8": "a Chinese label of a choice is not read",
    "R15.3": "a scale word inside a box is not read",
    "R15.5": "a scale word is a unit to math_equal()",
    "R15.7": "a scale word is a unit to math_equal()",
    "R15.9": "scale characters are not read",
    "R15.11": "scale words of other languages are not read",
    "R15.13": "blanks between groups of digits are not read",
    "R15.15": "blanks between groups of digits are not read",
    "R16.2": "units of other scripts are not read",
    "R16.4": "labels of other scripts are not read",
    "R16.7": "units of other scripts are not read",
    "R16.9": "hedges of other languages are not read",
    "R17.3": "math_equal() takes the last number of labelled prose",
    "R17.5": "math_equal() takes the last number of labelled prose",
    "R17.7": "math_equal() takes the last number of labelled prose",
    "R17.9": "two numbers after a label are two answers",
    "R18.2": "a currency code is a name",
    "R18.4": "a currency code is a name",
    "R18.7": "double underscores are no emphasis",
    "R19.2": "a.m. and p.m. are units",
    "R19.4": "above and below are units",
}
"""Rows whose total differs, each with its reason."""


def test_reports_have_their_totals(shared_data: Path) -> None:
    wrong: dict[str, list[str]] = {}
    for line in (shared_data / "answer_reports.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        truths = None if row["ground_truth"] is None else [row["ground_truth"]]
        total = compile(parse(row["formula"]))(Batch([row["response"]], ground_truths=truths)).total[0]
        if total != row["expect"] and row["id"] not in APART:
            said = f"{row['id']}: {row['response']} for {row['ground_truth']} is {row['expect']}, not {total}"
            wrong.setdefault(row["source"], []).append(said)
    assert not wrong
