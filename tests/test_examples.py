"""Every example runs, and says what its text promises."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
ELSEWHERE = {"smollm2.py": "downloads a model"}
SAYS = {
    "recipe_reward.py": "pays no wrong answer more than a right one: True",
    "curriculum.py": "step 200: a closed sentence 0.00, the right answer 2.00",
    "code_reward.py": "0.00  SCORED    equal to everything",
    "judge.py": "0.00  judge: NOT_APPLICABLE",
    "score_dump.py": "would pay",
    "convert_checkpoint.py": "a forward pass: True",
}
NEEDS = {"convert_checkpoint.py": "transformers", "judge.py": "httpx"}


def run(*command: str, folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    done = subprocess.run([sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_all_of_them_are_tried() -> None:
    scripts = {path.name for path in EXAMPLES.glob("*.py")}
    assert scripts == {*SAYS, *ELSEWHERE, "custom_term.py"}


MARKS = {
    "convert_checkpoint.py": pytest.mark.long,  # makes and converts the tiny model, as converting.md's commands do
    "code_reward.py": pytest.mark.isolation,
}


@pytest.mark.parametrize("name", [pytest.param(n, marks=MARKS.get(n, ())) for n in SAYS])
def test_a_script(name: str, tmp_path: Path) -> None:
    pytest.importorskip(NEEDS.get(name, "rewardkit"))
    assert SAYS[name] in run(str(EXAMPLES / name), folder=tmp_path)


def test_the_term_of_one_s_own_keeps_its_laws(tmp_path: Path) -> None:
    shown = run("-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLES / "custom_term.py"), folder=tmp_path)
    assert "10 passed" in shown


def test_the_notebook(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    cells = json.loads((EXAMPLES / "first_reward.ipynb").read_text())["cells"]
    assert not any(cell.get("outputs") for cell in cells), "notebooks are kept without output"
    script = tmp_path / "notebook.py"
    script.write_text("\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"))
    assert "dominates(gsm8k())" in run(str(script), folder=tmp_path)
