"""Golds, routes, the formula's own diagnostics, dead groups and the disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rewardkit.errors import DataError
from tests.trainer_glue.verl.preflight.runs import GIB, codes, found, subject
from trainer_glue.verl.preflight.disk import checkpoint_bytes
from trainer_glue.verl.preflight.groups import read_groups


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def data(tmp_path: Path) -> Callable[..., str]:
    def make(ground_truths: list[Any], **more: Any) -> str:
        return str(
            write(tmp_path / "train.jsonl", [{"reward_model": {"ground_truth": g}, **more} for g in ground_truths])
        )

    return make


def test_ground_truths_that_can_not_be_graded(data: Callable[..., str]) -> None:
    assert codes(data__train_files=data(["1", "2 + 2 = 4\n#### 4"])) == []
    (some,) = found(data__train_files=data(["1", "no number", "3"]))
    assert (some.code, some.key, some.severity) == ("RKD601", "data.train_files", "warning")
    assert "1 of the first 3 rows" in some.message and "train.jsonl:2: gsm8k: " in some.message
    (all_,) = found(data__train_files=data(["none", "no number"]))
    assert (all_.code, all_.severity) == ("RKD601", "error")


def test_a_ground_truth_that_no_term_reads_may_be_anything(data: Callable[..., str]) -> None:
    assert codes(reward="length(0.1, cap=1)", data__train_files=data(["no number"])) == []


def test_rows_that_no_route_takes(data: Callable[..., str]) -> None:
    reward = 'route({"gsm8k": gsm8k(), "math": math_equal()}, by="data_source")'
    (diagnostic,) = found(reward=reward, data__train_files=data(["1"], data_source="aime"))
    assert (diagnostic.code, diagnostic.severity) == ("RKD602", "error")
    assert "aime" in diagnostic.message


def test_the_formulas_own_warnings_are_told() -> None:
    (diagnostic,) = found(reward="gsm8k() + 2 * ends_with('.')")
    assert (diagnostic.code, diagnostic.key, diagnostic.severity) == ("RKD704", "rewardkit.reward", "warning")
    assert "proved" in diagnostic.message


def test_dead_groups(tmp_path: Path) -> None:
    rows = [
        {"group": g, "score": s}
        for g, scores in {"a": (0, 0), "b": (1, 1), "c": (0, 1), "d": (0, 0)}.items()
        for s in scores
    ]
    path = write(tmp_path / "scores.jsonl", rows)
    groups = read_groups(path, 8)
    assert (groups.groups, groups.dead, groups.lowest, groups.highest) == (4, 3, 2, 1)
    (diagnostic,) = found(scores=path)
    assert (diagnostic.code, diagnostic.severity) == ("RKD703", "warning")
    assert "3 of 4 groups (75%) have equal scores: 2 all at the lowest, 1 all at the highest" in diagnostic.message
    alive = write(tmp_path / "alive.jsonl", [{"uid": "a", "score": 0.1 * i} for i in range(4)])
    assert codes(scores=alive) == []


def test_unscored_rows_are_no_zeros(tmp_path: Path) -> None:
    rows = [{"group": 0, "score": 1.0}, {"group": 0, "score": None}, {"group": 1, "score": 0}, {"group": 1, "score": 1}]
    groups = read_groups(write(tmp_path / "scores.jsonl", rows), 8)
    assert (groups.groups, groups.dead, groups.alone) == (1, 0, 1)


def test_lines_without_groups_are_grouped_by_their_number(tmp_path: Path) -> None:
    path = write(tmp_path / "scores.jsonl", [{"score": float(i < 8)} for i in range(16)])
    assert (read_groups(path, 8).groups, read_groups(path, 8).dead) == (2, 2)
    with pytest.raises(DataError, match=r"not whole groups of actor_rollout_ref\.rollout\.n=5"):
        read_groups(path, 5)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has no rows"),
        ("not json\n", "is not a score"),
        ('{"response": "x"}\n', "is not a score"),
        ('{"score": "high"}\n', "expected a number or null"),
        ('{"score": 1, "group": 1}\n{"score": 1}\n', "some have none"),
    ],
)
def test_a_file_that_is_not_scores(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text(text)
    with pytest.raises(DataError, match=says):
        read_groups(path, 2)


def test_a_checkpoint_is_twelve_bytes_a_parameter() -> None:
    """Weights in float32 and Adam's two moments: 96 GB for Llama-3-8B, 32 of them the weights."""
    assert checkpoint_bytes(subject()) == 12 * 8_030_261_248
    only = {"actor_rollout_ref__actor__checkpoint__save_contents": ["model", "extra"]}
    assert checkpoint_bytes(subject(**only)) == 4 * 8_030_261_248
    lora = checkpoint_bytes(subject(actor_rollout_ref__model__lora_rank=8))
    assert lora == 4 * (8_030_261_248 + 20_971_520) + 8 * 20_971_520


@pytest.mark.parametrize(
    ("kept", "free", "fits"), [(3, 400, True), (3, 300, False), (None, 400, False), (1, 200, True)]
)
def test_the_disk(monkeypatch: pytest.MonkeyPatch, kept: int | None, free: int, fits: bool) -> None:
    """A checkpoint of Llama-3-8B is 89.7 GiB; one more than what is kept is there while it is written."""
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=free * GIB))
    seen = codes(trainer__max_actor_ckpt_to_keep=kept)
    assert seen == ([] if fits else [("RKD507", "trainer.default_local_dir", "error")])
