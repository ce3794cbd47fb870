"""Data files against what the config and the formula read of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rewardkit.engine.loading import load_reward
from trainer_glue.verl.config.data_files import check_data
from trainer_glue.verl.config.diagnostics import ConfigDiagnostic

Write = Callable[..., Path]
NEEDY = load_reward("gsm8k() + length(0.1)")
EASY = load_reward("length(0.1)")


def check(train: object, val: object = None, reward: object = NEEDY) -> tuple[list[ConfigDiagnostic], int | None]:
    data = {"train_files": train, "val_files": train if val is None else val, "prompt_key": "prompt"}
    return check_data({"data": data}, reward, lambda key: f"config.yaml: {key}")  # type: ignore[arg-type]


def test_a_good_file_and_its_rows(write_data: Write) -> None:
    assert check(str(write_data(count=5))) == ([], 5)


def test_rows_of_several_files_add_up(write_data: Write) -> None:
    assert check([str(write_data("a.parquet", 5)), str(write_data("b.parquet", 6))]) == ([], 11)


@pytest.mark.parametrize(
    ("changes", "code", "says"),
    [
        ({"prompt": ...}, "missing-column", "has no column 'prompt' (data.prompt_key); its columns are data_source"),
        ({"prompt": "1 + 1?"}, "wrong-column", "has string in 'prompt'; verl expects chat messages"),
        ({"prompt": [{"text": "?"}]}, "wrong-column", "verl expects chat messages"),
        ({"reward_model": ...}, "missing-column", "has no reward_model.ground_truth, which the formula gsm8k()"),
        ({"reward_model": {"style": "rule"}}, "missing-column", "has no reward_model.ground_truth"),
        (
            {"reward_model": {"ground_truth": None, "style": "rule"}},
            "no-ground-truth",
            "null reward_model.ground_truth in every row",
        ),
    ],
)
def test_a_column_that_is_missing_or_wrong(changes: dict[str, object], code: str, says: str, write_data: Write) -> None:
    ((diagnostic,), _) = check(str(write_data(**changes)))
    assert (diagnostic.code, diagnostic.key, diagnostic.severity) == (code, "data.train_files", "error")
    assert says in diagnostic.message


def test_what_the_formula_does_not_need_may_be_missing(write_data: Write) -> None:
    assert check(str(write_data(reward_model=..., data_source=..., extra_info=...)), reward=EASY) == ([], 64)


def test_some_ground_truths_missing_is_a_warning(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    prompt = [{"role": "user", "content": "?"}]
    rows = [{"prompt": prompt, "reward_model": {"ground_truth": g}} for g in ("1", None, "3")]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "some.parquet")
    ((diagnostic,), count) = check(str(tmp_path / "some.parquet"))
    assert diagnostic.severity == "warning"
    assert "in 1 of 3 rows" in diagnostic.message
    assert count == 3


@pytest.mark.parametrize(
    ("ground_truths", "severity"), [(("1", "see above", "3"), "warning"), (("none",) * 3, "error")]
)
@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_ground_truths_that_the_formula_cannot_grade(
    suffix: str, ground_truths: tuple[str, ...], severity: str, tmp_path: Path
) -> None:
    import pyarrow
    import pyarrow.parquet

    path = tmp_path / f"rows.{suffix}"
    rows = [{"prompt": [{"role": "user", "content": "?"}], "reward_model": {"ground_truth": g}} for g in ground_truths]
    if suffix == "parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ((diagnostic,), count) = check(str(path))
    assert (diagnostic.code, diagnostic.severity, count) == ("ungradable", severity, 3)
    assert "gsm8k: unusable ground truth" in diagnostic.message
    assert f"rewardkit data check {path}" in str(diagnostic.hint)


def test_rows_that_no_route_takes(write_data: Write) -> None:
    formula = load_reward("route({'theirs': gsm8k()})")
    ((diagnostic,), _) = check(str(write_data(count=5)), reward=formula)
    assert (diagnostic.code, diagnostic.severity) == ("ungradable", "error")
    assert "no route for data_source='mine'" in diagnostic.message
    assert check(str(write_data(count=5)), reward=load_reward("route({'mine': gsm8k()})")) == ([], 5)


@pytest.mark.parametrize(
    ("name", "content", "code", "says"),
    [
        ("rows.csv", b"a,b", "wrong-format", "verl reads .parquet, .json and .jsonl"),
        ("rows.parquet", b"not parquet", "unreadable-file", "can't be read"),
        ("rows.jsonl", b"{nonsense", "unreadable-file", "can't be read"),
        ("rows.jsonl", b"", "no-rows", "has no rows"),
        ("rows.jsonl", b'{"question": "?"}', "missing-column", "no column 'prompt'"),
    ],
)
def test_a_file_that_verl_could_not_read(name: str, content: bytes, code: str, says: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    diagnostic = check(str(tmp_path / name))[0][0]
    assert diagnostic.code == code
    assert says in diagnostic.message


def test_json_lines(tmp_path: Path) -> None:
    row = {"prompt": [{"role": "user", "content": "?"}], "reward_model": {"ground_truth": "1"}}
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps(row)}\n" * 3)
    assert check(str(tmp_path / "rows.jsonl")) == ([], 3)


def test_each_split_is_checked_and_a_remote_file_is_not(write_data: Write) -> None:
    diagnostics, rows = check("hdfs://x/y.parquet", str(write_data(prompt=...)))
    assert [(f.code, f.key, f.severity) for f in diagnostics] == [
        ("not-checked", "data.train_files", "warning"),
        ("missing-column", "data.val_files", "error"),
    ]
    assert rows is None
