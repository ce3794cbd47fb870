"""Every code of the preflight is in the table, in use, and on the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trainer_glue.verl.preflight.codes import CODES, ENVIRONMENT, found

ROOT = Path(__file__).parents[4]
ROOM = ROOT / "trainer_glue" / "verl" / "preflight"


def used() -> set[str]:
    others = (p for p in sorted(ROOM.glob("*.py")) if p.name != "codes.py")
    return {code for path in others for code in re.findall(r"RKD\d{3}", path.read_text())}


def test_the_page_has_a_row_for_every_code_and_no_other() -> None:
    rows = re.findall(r"^\| (RKD\d{3}) \|", (ROOT / "docs" / "doctor.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(CODES)


def test_every_code_is_found_somewhere() -> None:
    assert used() == set(CODES)
    assert set(CODES) >= ENVIRONMENT


def test_no_other_room_invents_codes() -> None:
    for path in (ROOT / "trainer_glue").rglob("*.py"):
        if path.parent != ROOM:
            assert set(re.findall(r"RKD\d{3}", path.read_text())) <= set(CODES), path


def test_a_code_that_is_not_in_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="RKD999"):
        found("RKD999", "", "", lambda key: key)
