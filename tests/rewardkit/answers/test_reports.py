"""Rows drawn from public reports on answer checking, where that material is at hand: each formula's total."""

from __future__ import annotations

import json
from pathlib import Path

from rewardkit import Batch, compile, parse


def test_reports_have_their_totals(shared_data: Path) -> None:
    wrong: dict[str, list[str]] = {}
    for line in (shared_data / "answer_reports.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        truths = None if row["ground_truth"] is None else [row["ground_truth"]]
        total = compile(parse(row["formula"]))(Batch([row["response"]], ground_truths=truths)).total[0]
        if total != row["expect"]:
            said = f"{row['id']}: {row['response']} for {row['ground_truth']} is {row['expect']}, not {total}"
            wrong.setdefault(row["source"], []).append(said)
    assert not wrong
