"""The blocks of the README and of the docs run."""

from __future__ import annotations

import doctest
import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"


ISOLATED = ("code.md", "kinds.md")
"""Pages that run programs."""
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=pytest.mark.isolation if p.name in ISOLATED else ()) for p in PAGES],
    ids=[p.name for p in PAGES],
)
def test_python_blocks_give_the_output_that_they_show(page: Path) -> None:
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert failed == 0
    assert tried == page.read_text().count(">>> ")


def test_the_package_s_own_example() -> None:
    import rewardkit

    failed, tried = doctest.testmod(rewardkit)
    assert (failed, tried >= 3) == (0, True)


def test_every_command_of_the_shell_blocks_exists() -> None:
    from rewardkit.cli import COMMANDS

    blocks = "\n".join(re.findall(r"```console\n(.*?)```", README.read_text(), re.DOTALL))
    used = set(re.findall(r"^rewardkit (\w+)", blocks, re.MULTILINE))
    assert used
    assert used <= set(COMMANDS)
    targets = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:`|^)make ([a-z-]+)", README.read_text(), re.MULTILINE)) <= targets


def test_the_table_of_verl_s_versions_is_what_the_code_knows() -> None:
    from trainer_glue.verl.versions import BATCHED_TESTED, table

    text = README.read_text()
    assert table() in text
    assert f"inside {', '.join(BATCHED_TESTED[:-1])} and {BATCHED_TESTED[-1]}" in text


def test_the_yaml_block_pays_by_the_formula_that_it_shows() -> None:
    yaml = pytest.importorskip("yaml")
    pytest.importorskip("verl")
    from rewardkit.engine.loading import reward_from_config

    (block,) = re.findall(r"```yaml\n(.*?)```", README.read_text(), re.DOTALL)
    config = yaml.safe_load(block)
    wired = [config["reward"]["reward_kwargs"], config["trainer"]["v1"]["sampler"]["sampler_kwargs"]]
    assert reward_from_config(wired[0]["rewardkit"]) == reward_from_config(wired[1]["rewardkit"])


@pytest.mark.parametrize("page", ["README.md", "docs/kinds.md"])
def test_every_formula_of_the_table_of_kinds_is_one(page: str) -> None:
    import rewardkit

    text = (ROOT / page).read_text()
    table = text[text.index("| your reward is |") :].partition("\n\n")[0].splitlines()
    place = [cell.strip() for cell in table[0].split("|")].index("one line")
    formulas = [formula for row in table[2:] for formula in re.findall(r"`([^`]+)`", row.split("|")[place])]
    assert len(formulas) > 20
    for formula in formulas:
        assert rewardkit.parse(formula) is not None


ROWS = [json.loads(line) for line in (ROOT / "tests" / "data" / "kinds.jsonl").read_text().splitlines()]
ELSEWHERE = {
    "what a judge says, by a rubric or not": "test_judge.py, test_rubrics.py",
    "a reward model's opinion": "test_reward_models.py",
    "a query with the right result": "test_queries.py",
}
"""Kinds that need a server or a file, and where they are run."""


def test_every_kind_of_the_table_has_a_row_that_is_run() -> None:
    text = (ROOT / "docs" / "kinds.md").read_text()
    table = text[text.index("| your reward is |") :].partition("\n\n")[0].splitlines()[2:]
    assert {row.split("|")[1].strip() for row in table} == {row["kind"] for row in ROWS} | set(ELSEWHERE)


@pytest.mark.parametrize(
    "row",
    [pytest.param(r, marks=pytest.mark.isolation if "code_tests" in r["formula"] else ()) for r in ROWS],
    ids=[row["formula"] for row in ROWS],
)
def test_a_kind_pays_the_right_row_more(row: dict[str, Any]) -> None:
    import rewardkit
    from rewardkit.batch import Batch, Sample

    formula = rewardkit.parse(row["formula"])
    scores = rewardkit.compile(formula)(Batch.of([Sample(**row["right"]), Sample(**row["wrong"])]))
    assert not scores.unscored.any(), scores.first_reason()
    assert scores.total[0] > scores.total[1]
