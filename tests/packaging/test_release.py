"""What a release relies on: the workflows call make's targets, and the bill of materials is held against the pins."""

from __future__ import annotations

import json
import re
import runpy
import tomllib
from pathlib import Path

import pytest

import rewardkit

ROOT = Path(__file__).resolve().parents[2]
faults = runpy.run_path(str(Path(__file__).with_name("check_sbom.py")))["faults"]


@pytest.mark.parametrize("workflow", ["ci", "release"])
def test_a_workflow_runs_targets_that_are_there(workflow: str) -> None:
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / f"{workflow}.yml").read_text())["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    called = [command.split()[1] for command in commands if command.startswith("make ") and "${{" not in command]
    called += jobs.get("elsewhere", {}).get("strategy", {}).get("matrix", {}).get("target", [])
    targets = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {"check", "build", "sbom"} <= set(called) <= set(targets)


def test_what_to_cite_is_what_is_released() -> None:
    yaml = pytest.importorskip("yaml")
    file = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [a["name"] for a in file["authors"]] == [a["name"] for a in project["authors"]]
    assert (file["version"], file["license"]) == (rewardkit.__version__, project["license"])


def test_a_bill_is_held_against_the_pins(tmp_path: Path) -> None:
    bill, pins = tmp_path / "sbom.json", tmp_path / "pins.txt"
    parts = [{"name": "torch", "version": "2.13.0+cpu"}, {"name": "Ruamel_Yaml", "version": "0.18"}, {"name": "more"}]
    bill.write_text(json.dumps({"bomFormat": "CycloneDX", "components": parts}))
    pins.write_text("# pinned\ntorch==2.13.0\nruamel.yaml==0.18\n")
    assert faults(bill, pins) == []
    pins.write_text("torch==2.12.0\nverl==0.9.1\n")
    assert faults(bill, pins) == ["torch is 2.13.0+cpu; the constraints say 2.12.0", "verl==0.9.1 is not in it"]
