"""What an estimator would make of rollouts, on rollouts whose answer can be worked out by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.cli import run
from rewardkit.comparison import Simulation, load_side, simulate
from rewardkit.comparison.advantages import ESTIMATORS
from rewardkit.errors import ConfigError, DataError
from tests.profiles import examples

RIGHT, WRONG = "It is so.\n#### 1", "It is not.\n#### 2"


def rollouts(folder: Path, groups: list[list[str]], truth: str = "1") -> Path:
    path = folder / "rollouts.jsonl"
    rows = [{"response": text, "ground_truth": truth, "group": g} for g, texts in enumerate(groups) for text in texts]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def made(path: Path, formula: str, **options: Any) -> Simulation:
    against = options.pop("against", None)
    return simulate(load_side(formula), path, against=None if against is None else load_side(against), **options)


def test_dead_groups_and_the_shares_of_parts(tmp_path: Path) -> None:
    path = rollouts(tmp_path, [[RIGHT, WRONG], [RIGHT, RIGHT], [WRONG, WRONG], [RIGHT]])
    found = made(path, "gsm8k()")
    assert (found.rows, found.groups, found.alone, found.dead, found.thrown_away) == (7, 3, 1, 2, 2)
    assert found.shares == {"gsm8k()": pytest.approx(1)}
    assert math.isclose(found.largest, 1 / math.sqrt(2), rel_tol=1e-4)
    assert math.isclose(made(path, "gsm8k()", estimator="drgrpo").largest, 0.5)
    assert math.isclose(made(path, "gsm8k()", estimator="rloo").largest, 1.0)


def test_a_part_that_pulls_against_the_rest_has_a_negative_share(tmp_path: Path) -> None:
    path = rollouts(tmp_path, [[RIGHT + " and so on", WRONG]])
    found = made(path, "gsm8k() - length(0.1, cap=5)", estimator="drgrpo")
    assert found.shares["length(0.1, cap=5)"] < 0
    assert sum(found.shares.values()) == pytest.approx(1)


def test_length_is_seen(tmp_path: Path) -> None:
    path = rollouts(tmp_path, [["a " * n for n in (1, 5, 9, 13)]])
    found = made(path, "length(0.01, cap=1)", estimator="drgrpo")
    assert found.of_length == pytest.approx(1)
    assert found.with_length > 0
    assert math.isnan(made(rollouts(tmp_path, [[RIGHT, RIGHT]]), "gsm8k()").of_length)


def test_another_reward_turns_signs(tmp_path: Path) -> None:
    path = rollouts(tmp_path, [[RIGHT, WRONG], [RIGHT, RIGHT]])
    against = made(path, "gsm8k()", against="1 - gsm8k()").against
    assert against is not None
    assert (against.sign_changes, against.appear, against.vanish, against.dead) == (2, 0, 0, 1)


def test_an_unscored_row_is_paid_its_groups_mean(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [(RIGHT, "1"), (WRONG, "1"), (RIGHT, "none")]
    path.write_text("".join(json.dumps({"response": r, "ground_truth": t, "group": 0}) + "\n" for r, t in rows))
    found = made(path, "gsm8k()", estimator="drgrpo")
    assert found.unscored == 1
    assert (found.positive, found.largest) == (pytest.approx(1 / 3), pytest.approx(0.5))
    path.write_text("".join(json.dumps({"response": r, "ground_truth": "none", "group": 0}) + "\n" for r, _ in rows))
    assert made(path, "gsm8k()").thrown_away == 1


TEXTS = st.sampled_from([RIGHT, WRONG, "", "1 2 3.", "so. " * 9])


@given(groups=st.lists(st.lists(TEXTS, min_size=2, max_size=4), min_size=1, max_size=3))
@examples(15)
def test_shares_add_up_and_no_nan_leaves(groups: list[list[str]], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = rollouts(tmp_path_factory.mktemp("rollouts"), groups)
    for estimator in ESTIMATORS:
        found = made(path, "gsm8k() + 0.2 * ends_with('.?!') - 0.1 * length(0.1, cap=1)", estimator=estimator)
        assert not found.shares or sum(found.shares.values()) == pytest.approx(1, abs=1e-3)
        assert np.isfinite([found.spread, found.largest, found.positive]).all()
        assert "NaN" not in json.dumps(found.as_dict())


def test_what_can_not_be_simulated(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no two rows of a group"):
        made(rollouts(tmp_path, [[RIGHT], [WRONG]]), "gsm8k()")
    path = tmp_path / "none.jsonl"
    path.write_text(json.dumps({"response": RIGHT, "ground_truth": "1"}) + "\n")
    with pytest.raises(DataError, match="no column `group`"):
        made(path, "gsm8k()")
    with pytest.raises(ConfigError, match="one of grpo, dapo, drgrpo, rloo, gdpo"):
        made(path, "gsm8k()", estimator="ppo")
    function = "def compute_score(data_source, solution_str, ground_truth, extra_info=None): return 1"
    (tmp_path / "mine.py").write_text(function)
    with pytest.raises(ConfigError, match="no parts"):
        made(path, str(tmp_path / "mine.py"), estimator="gdpo")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(rollouts(tmp_path, [[RIGHT, WRONG], [RIGHT, RIGHT]]))
    assert run(["simulate", "gsm8k() + 0.1 * ends_with('.')", path, "--against", "exact()"]) == 0
    out = capsys.readouterr().out
    for part in (
        "4 in 2 groups",
        "1 of 2 (50.0%) teach nothing by grpo",
        "throws away 1 of 2",
        "advantages change sign",
    ):
        assert part in out
    assert run(["simulate", "gsm8k()", path, "--estimator", "rloo", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["estimator"] == "rloo"
