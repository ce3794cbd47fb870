"""Checks of the data files against the config and against what the formula needs. pyarrow is imported when needed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from rewardkit.algebra.operations.choice import Route
from rewardkit.algebra.term import Need
from rewardkit.data.check import RowDiagnostic, check_file
from rewardkit.diagnostics import Severity, errors
from rewardkit.engine.loading import RewardSource
from rewardkit.errors import DataError
from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.config.keys import Where

REMOTE: Final = ("hdfs://", "s3://", "gs://", "oss://", "tos://")
_WRITER: Final = "rewardkit data gsm8k --from FILE.jsonl --out DIR writes such files"
_JSON: Final = (".json", ".jsonl")
CHECKED_ROWS: Final = 1_000
"""Rows of a file whose ground truths are graded before a run: some 0.2 s. `rewardkit data check` looks at all."""


def check_data(
    config: Mapping[str, Any], reward: RewardSource | None, where: Where
) -> tuple[list[ConfigDiagnostic], int | None]:
    """Check both splits against the config and the reward; also the number of training rows, None if unknown."""
    needs, formula = (reward.needs, reward.formula) if reward is not None else (frozenset[Need](), "")
    diagnostics: list[ConfigDiagnostic] = []
    rows: dict[str, int | None] = {}
    for key in ("train_files", "val_files"):
        if key == "val_files" and config["data"][key] == config["data"]["train_files"]:
            break
        path, total = f"data.{key}", 0
        for name in file_names(config["data"][key]):
            of_file, count = _check_file(path, name, config["data"]["prompt_key"], needs, formula, where)
            if reward is not None and count is not None and not errors(of_file):
                of_file += _gradable(path, name, reward, where)
            diagnostics += of_file
            total = -1 if count is None or total < 0 else total + count
        rows[key] = None if total < 0 else total
    return diagnostics, rows["train_files"]


def file_names(value: object) -> list[str]:
    """The files of `data.train_files` or `data.val_files`: one, or a list."""
    return (
        [value]
        if isinstance(value, str)
        else [v for v in value if isinstance(v, str)]
        if isinstance(value, list)
        else []
    )


def _check_file(
    key: str, name: str, prompt_key: str, needs: frozenset[Need], formula: str, where: Where
) -> tuple[list[ConfigDiagnostic], int | None]:
    if name.startswith(REMOTE):
        return [ConfigDiagnostic("not-checked", f"{name} is remote: its columns were not checked", key=key)], None
    path = Path(name).expanduser()

    def error(code: str, message: str, hint: str | None = None) -> tuple[list[ConfigDiagnostic], int | None]:
        return [ConfigDiagnostic(code, message, where(key), hint, key=key)], None

    if not path.is_file():
        if not where(key):
            return error("required", f"is not set, and verl's default {name} does not exist", _WRITER)
        return error("missing-file", f"no file {path}", _WRITER)
    if path.suffix != ".parquet" and path.suffix not in _JSON:
        return error(
            "wrong-format", f"{path} ends in {path.suffix or 'nothing'}; verl reads .parquet, .json and .jsonl"
        )
    try:
        columns, rows = _parquet(path) if path.suffix == ".parquet" else _json(path)
    except (OSError, ValueError) as e:
        return error("unreadable-file", f"{path} can't be read: {str(e).splitlines()[0]}")
    if rows == 0:
        return error("no-rows", f"{path} has no rows")
    diagnostics = [
        ConfigDiagnostic(code, f"{path} {message}", where(key), hint, key=key)
        for code, message, hint in _columns(columns, prompt_key, needs, formula)
    ]
    if not diagnostics and "ground_truth" in needs:
        diagnostics = [
            ConfigDiagnostic("no-ground-truth", f"{path} {m}", where(key), severity=s, key=key)
            for m, s in _truths(path, rows)
        ]
    return diagnostics, rows


def _gradable(key: str, name: str, reward: RewardSource, where: Where) -> list[ConfigDiagnostic]:
    """What `rewardkit data check` says of the first rows: some that can't be scored are a warning, all an error."""
    path = Path(name).expanduser()
    routed = any(isinstance(node.operation, Route) for node in reward.reward.walk())
    if path.suffix == ".json" or not (routed or "ground_truth" in reward.needs):
        return []
    faults: list[RowDiagnostic] = []
    try:
        checked = check_file(reward.reward, path, faults.append, limit=CHECKED_ROWS)
    except DataError as e:
        return [ConfigDiagnostic("ungradable", e.message, where(key), e.hint, key=key)]
    if path.suffix == ".parquet":  # those without a ground truth are counted over all rows already
        faults = [f for f in faults if not f.message.startswith("no ground truth")]
    if not faults:
        return []
    faulty = len({f.row for f in faults})
    message = f"{faulty:,} of the first {checked.rows:,} rows can't be scored by {reward.formula}: {faults[0]}"
    severity = Severity.ERROR if faulty == checked.rows else Severity.WARNING
    hint = f"rewardkit data check {path} --reward FORMULA lists them all"
    return [ConfigDiagnostic("ungradable", message, where(key), hint, severity=severity, key=key)]


def _columns(
    columns: Mapping[str, Any], prompt_key: str, needs: frozenset[Need], formula: str
) -> Iterator[tuple[str, str, str | None]]:
    has = f"its columns are {', '.join(columns)}"
    if prompt_key not in columns:
        yield "missing-column", f"has no column {prompt_key!r} (data.prompt_key); {has}", _WRITER
    elif not _is_chat(columns[prompt_key]):
        message = f"has {columns[prompt_key]} in {prompt_key!r}; verl expects chat messages: a list of role and content"
        yield "wrong-column", message, _WRITER
    if "ground_truth" in needs and not _has_field(columns.get("reward_model"), "ground_truth"):
        message = f"has no reward_model.ground_truth, which the formula {formula} needs; {has}"
        yield "missing-column", message, "grade against a ground truth, or leave the graded term out of the formula"
    for column in ("data_source", "extra_info"):
        if column in needs and column not in columns:
            yield "missing-column", f"has no column {column!r}, which the formula {formula} needs; {has}", _WRITER


def _parquet(path: Path) -> tuple[Mapping[str, Any], int]:
    import pyarrow
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(path)
    except pyarrow.ArrowInvalid as e:
        raise ValueError(str(e)) from None
    with file:
        return {f.name: f.type for f in file.schema_arrow}, file.metadata.num_rows


def _json(path: Path) -> tuple[Mapping[str, Any], int]:
    text = path.read_text(encoding="utf-8")
    rows = (
        json.loads(text) if text.lstrip().startswith("[") else [json.loads(x) for x in text.splitlines() if x.strip()]
    )
    if not all(isinstance(r, dict) for r in rows):
        raise ValueError("expected one object a row")
    return (rows[0] if rows else {}), len(rows)


def _is_chat(column: Any) -> bool:
    """True for a parquet type or a JSON value that holds chat messages."""
    if isinstance(column, list):
        return all(isinstance(m, Mapping) and {"role", "content"} <= m.keys() for m in column)
    value_type = getattr(column, "value_type", None)
    return value_type is not None and _has_field(value_type, "role") and _has_field(value_type, "content")


def _has_field(column: Any, name: str) -> bool:
    if isinstance(column, Mapping):
        return name in column
    import pyarrow

    return column is not None and pyarrow.types.is_struct(column) and column.get_field_index(name) >= 0


def _truths(path: Path, rows: int) -> Iterator[tuple[str, Severity]]:
    """What is missing among the ground truths of a parquet file: all of them is an error, some a warning."""
    if path.suffix != ".parquet":
        return
    import pyarrow.compute as pc
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path, columns=["reward_model"])
    ground_truths = pc.struct_field(table["reward_model"].combine_chunks(), "ground_truth")
    missing = ground_truths.null_count
    if missing == rows:
        yield "has a null reward_model.ground_truth in every row", Severity.ERROR
    elif missing:
        yield f"has a null reward_model.ground_truth in {missing} of {rows} rows: they stay unscored", Severity.WARNING
