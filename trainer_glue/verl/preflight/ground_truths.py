"""Rows that the formula can't score whatever the response: by the check of :mod:`rewardkit.data.check`, on a sample."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rewardkit.data.check import RowDiagnostic, check_file
from rewardkit.diagnostics import Severity
from rewardkit.errors import RewardKitError
from trainer_glue.verl.config.data_files import file_names
from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.preflight.subject import Subject

SAMPLE: Final = 2000
"""Rows of a file that are looked at, the first ones."""
_READ: Final = (".parquet", ".json", ".jsonl")


def check_ground_truths(subject: Subject) -> Iterator[ConfigDiagnostic]:
    """Ground truths and routes of the first rows of every file that is here."""
    if subject.resolved.reward is None:
        return
    seen: set[str] = set()
    for key in ("data.train_files", "data.val_files"):
        if key in subject.resolved.made:
            continue
        for name in file_names(subject.get(key)):
            path = Path(name).expanduser()
            if name not in seen and path.is_file() and path.suffix in _READ:
                seen.add(name)
                yield from _file(subject, key, path)


def _file(subject: Subject, key: str, path: Path) -> Iterator[ConfigDiagnostic]:
    assert subject.resolved.reward is not None
    faults: list[RowDiagnostic] = []
    try:
        checked = check_file(subject.resolved.reward.reward, path, faults.append, limit=SAMPLE)
    except RewardKitError:
        return  # a column that is missing and a file that can't be read are told where the config is resolved
    for code, what, fix, mine in (
        (
            "RKD601",
            "hold a ground truth that can't be graded",
            "correct the ground truth, or take the rows out",
            _not(faults, "route"),
        ),
        ("RKD602", "match no route", "add the route, or otherwise=...", [f for f in faults if f.term == "route"]),
    ):
        rows = {f.row for f in mine}
        if rows:
            severity = Severity.ERROR if len(rows) == checked.rows else Severity.WARNING
            share = f"{len(rows):,} of the first {checked.rows:,} rows"
            message = f"{share} {what}: their responses are all unscored; first {mine[0]}"
            hint = f"{fix}; `rewardkit data check {path} --reward ...` lists them"
            yield subject.diagnostic(code, key, message, hint, severity)


def _not(faults: list[RowDiagnostic], term: str) -> list[RowDiagnostic]:
    return [f for f in faults if f.term != term]
