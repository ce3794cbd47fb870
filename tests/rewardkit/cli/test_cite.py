"""What to cite: the same in BibTeX, in CITATION.cff, and of the installed version."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import rewardkit
from rewardkit.cli import run

ROOT = Path(__file__).parents[3]


def test_the_entry_and_the_file_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    yaml = pytest.importorskip("yaml")
    assert run(["cite"]) == 0
    entry = dict(re.findall(r"(\w+) += \{+(.*?)\}+,?\n", capsys.readouterr().out))
    file = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert entry["title"] == file["title"]
    assert [entry["author"]] == [a["name"] for a in file["authors"]] == [a["name"] for a in project["authors"]]
    assert entry["version"] == file["version"] == rewardkit.__version__
    assert file["license"] == project["license"] and project["name"] in entry["note"]
