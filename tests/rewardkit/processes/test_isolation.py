"""Processes that are started import nothing from the working folder, whatever lies there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from rewardkit.processes.isolated import PYTHON, isolated_environment

NAMES = ("types", "copy", "json", "numpy", "sympy", "typing", "socket", "select", "random", "selectors", "resource")
CHECKOUT = Path(__file__).parents[3]


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder with modules named like installed ones; each leaves a mark and fails when it is executed."""
    for name in NAMES:
        mark = tmp_path / f"{name}.executed"
        (tmp_path / f"{name}.py").write_text(f"open({str(mark)!r}, 'w').close()\nraise ImportError('hostile {name}')\n")
    return tmp_path


def executed(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.executed"))


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(CHECKOUT)}


GRADE = (
    "import os, sys; from rewardkit.answers import grade_math;"
    "os.chdir(sys.argv[1]); sys.path[:0] = eval(sys.argv[2]);"
    r"print(grade_math(r'\boxed{\log_2 8}', '3').value)"
)


@pytest.mark.parametrize("entries", [[], [""], ["."], None], ids=["none", "empty", "dot", "whole"])
def test_workers_import_nothing_from_the_working_folder(hostile: Path, entries: list[str] | None) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", GRADE, str(hostile), repr([str(hostile)] if entries is None else entries)],
        env={**environment(), "PYTHONPATH": f"{CHECKOUT}{os.pathsep}"},  # an empty entry is the working folder too
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.stdout.strip(), done.returncode) == ("1.0", 0), done.stderr
    assert executed(hostile) == []


def test_workers_import_nothing_from_the_folder_of_the_script(hostile: Path) -> None:
    """Python puts it before the standard library; a process that has the modules already does not notice."""
    script = hostile / "grade.py"
    script.write_text(
        "import sys, os\nfrom rewardkit.answers import grade_math\n"
        "sys.path.insert(0, os.path.dirname(__file__))\n"
        "print(grade_math(r'\\boxed{\\log_2 8}', '3').value)\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", str(script)], env=environment(), cwd="/", capture_output=True, text=True, timeout=120
    )
    assert (done.stdout.strip(), executed(hostile)) == ("1.0", []), done.stderr


def test_score_serves_a_reward_file_of_a_folder_full_of_such_modules(hostile: Path) -> None:
    (hostile / "mine.py").write_text("from rewardkit import math_equal\nreward = math_equal()\n")
    (hostile / "rows.jsonl").write_text(json.dumps({"response": r"\boxed{\log_2 8}", "ground_truth": "3"}) + "\n")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "rewardkit", "score", "mine.py", "rows.jsonl", "--out", "out.jsonl"],
        env=environment(),
        cwd=hostile,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((hostile / "out.jsonl").read_text())["score"] == 1.0
    assert executed(hostile) == []


@pytest.mark.run
def test_score_on_ray_serves_it_too(hostile: Path) -> None:
    """Ray puts the folder that it is started in on its workers' path, before all else."""
    pytest.importorskip("ray")
    (hostile / "mine.py").write_text("from rewardkit import math_equal\nreward = math_equal()\n")
    (hostile / "rows.jsonl").write_text(json.dumps({"response": r"\boxed{\log_2 8}", "ground_truth": "3"}) + "\n")
    done = subprocess.run(
        [*PYTHON, "-m", "rewardkit", "score", "mine.py", "rows.jsonl", "--out", "out.jsonl", "--engine", "ray"],
        env=environment(),
        cwd=hostile,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((hostile / "out.jsonl").read_text())["score"] == 1.0
    assert executed(hostile) == []


def test_serve_answers_in_such_a_folder(hostile: Path) -> None:
    pytest.importorskip("uvicorn")
    (hostile / "mine.py").write_text("from rewardkit import math_equal\nreward = math_equal()\n")
    command = [*PYTHON, "-m", "rewardkit", "serve", "mine.py", "--port", "0"]
    with subprocess.Popen(command, env=environment(), cwd=hostile, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            lines = iter(server.stderr.readline, "")
            address = next(word for line in lines for word in line.split() if word.startswith("http://"))
            body = json.dumps({"rows": [{"response": r"\boxed{\log_2 8}", "ground_truth": "3"}]}).encode()
            with urllib.request.urlopen(f"{address}/score", body, timeout=60) as answer:
                assert json.load(answer)["rows"][0]["score"] == 1.0
        finally:
            server.terminate()
    assert executed(hostile) == []


def test_verl_and_its_supervisor_start_without_the_working_folder(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in for verl that imports what verl's driver would import."""
    from trainer_glue.verl.launch.child import Child

    monkeypatch.chdir(hostile)
    log = hostile / "log"
    command = [*PYTHON, "-c", "import types, copy, json, numpy; print('imported')"]
    with Child(command, environment=isolated_environment(), log=log) as child:
        assert child.wait() == 0, log.read_text()
    assert "imported" in log.read_text()
    assert executed(hostile) == []


@pytest.mark.verl
def test_the_command_of_a_run_is_isolated(tmp_path: Path) -> None:
    done = subprocess.run(
        [*PYTHON, "-m", "rewardkit", "train", "tiny", "--dry-run"],
        env=os.environ | {"PYTHONPATH": f"{CHECKOUT}{os.pathsep}{os.pathsep}{tmp_path}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert " -P -m verl.trainer.main_ppo" in done.stdout + done.stderr
