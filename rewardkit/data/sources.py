"""Where rows come from: a file, a data set of a hub, a procedural data set of reasoning-gym.

Each source gives its splits as rows with a place, unjudged. `datasets` and `reasoning_gym` are imported when asked for.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rewardkit.data.files import SUFFIXES, file_rows
from rewardkit.data.rows import Problem, Row, asked, text_field
from rewardkit.data.shapes.math import GSM8K_INSTRUCTION
from rewardkit.errors import DataError, MissingDependencyError, did_you_mean
from rewardkit.scoring.opening import STDIN

GYM: Final = "reasoning-gym:"
GYM_ROWS: Final = 1000
"""Training rows of a procedural data set when no limit is given; a tenth as many test rows come on top."""
GYM_SEED: Final = 42
_HUB_ID: Final = re.compile(r"[A-Za-z0-9][\w.\-]*/[A-Za-z0-9][\w.\-]*")


@dataclass(frozen=True, slots=True)
class Source:
    """Rows to convert.

    Attributes:
        splits: the rows of each split, by name.
        data_source: the label of the rows, where the source has a name of its own.
        problem: what makes a problem of a row's value, where the source knows it better than a shape.
    """

    splits: Mapping[str, list[Row]]
    data_source: str | None = None
    problem: Callable[[object], Problem] | None = None


def open_source(text: str, split: str | None, limit: int | None) -> Source:
    """The source that a user names.

    Args:
        text: FILE, HUB_ID or reasoning-gym:DATASET.
        split: only this split; for a file, the split that it is.
        limit: at most so many rows a split.

    Raises:
        DataError: no such source or split, or a source that can't be reached.
        MissingDependencyError: the package that it needs is not installed.
    """
    if text.startswith(GYM):
        return _gym(text.removeprefix(GYM), split, limit)
    path = Path(text).expanduser()
    if not path.is_dir() and (path.exists() or path == STDIN or path.suffix in SUFFIXES):
        name = split or ("test" if re.search(r"test|val|dev", path.stem, re.IGNORECASE) else "train")
        return Source({name: file_rows(path, limit)})
    if path.is_dir():
        raise DataError(f"--from {text} is a folder", hint="name a file in it")
    if _HUB_ID.fullmatch(text):
        return _hub(text, split, limit)
    raise DataError(
        f"unknown source: {text!r} is not a file, a hub id or a reasoning-gym data set",
        hint="a file of JSON lines, parquet, Arrow or CSV, OWNER/NAME such as openai/gsm8k, or reasoning-gym:DATASET "
        "such as reasoning-gym:chain_sum",
    )


def _hub(name: str, split: str | None, limit: int | None) -> Source:
    try:
        import datasets
    except ImportError:
        raise MissingDependencyError(
            f"reading {name} from a hub needs the package datasets, which is not installed", hint="pip install datasets"
        ) from None
    try:
        configs = datasets.get_dataset_config_names(name)
        config = "main" if "main" in configs else configs[0]
        splits = datasets.load_dataset(name, config)
    except Exception as e:  # its errors come from four libraries and share no base
        raise DataError(
            f"the data set {name} can't be read from the hub: {_first_line(e)}",
            hint="offline, give a file (--from FILE.jsonl) or a procedural set (--from reasoning-gym:chain_sum)",
        ) from e
    if split is not None and split not in splits:
        raise DataError(f"{name} has no split {split!r}; it has {', '.join(splits)}")
    chosen = [split] if split is not None else [s for s in splits if s in ("train", "test")] or list(splits)
    return Source(
        {s: [Row(f"{name}[{s}]:{i}", dict(r)) for i, r in zip(_upto(limit), splits[s], strict=False)] for s in chosen},
        name,
    )


def _upto(limit: int | None) -> Iterator[int]:
    i = 0
    while limit is None or i < limit:
        yield i
        i += 1


def _gym(name: str, split: str | None, limit: int | None) -> Source:
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # importing it prints
            import reasoning_gym
            from reasoning_gym.factory import DATASETS
    except ImportError:
        raise MissingDependencyError(
            "the package reasoning-gym is not installed", hint="pip install 'rewardkit-rl[reasoning-gym]'"
        ) from None
    if name not in DATASETS:
        hint = did_you_mean(name, DATASETS) or f"such as {', '.join(sorted(DATASETS)[:6])}"
        raise DataError(f"reasoning-gym has no data set {name!r}", hint=hint)
    if split not in (None, "train", "test"):
        raise DataError(f"a procedural data set has the splits train and test, not {split!r}")
    train = GYM_ROWS if limit is None else limit
    test = max(1, train // 10)
    try:
        made = reasoning_gym.create_dataset(name, seed=GYM_SEED, size=train + test)
        rows = [Row(f"{GYM}{name}:{i}", dict(made[i])) for i in range(train + test)]
    except Exception as e:  # each of a hundred generators fails in its own way
        raise DataError(f"reasoning-gym can't make {name}: {_first_line(e)}") from e
    asked = {r.value["question"] for r in rows[:train] if isinstance(r.value, dict)}
    fresh = [r for r in rows[train:] if isinstance(r.value, dict) and r.value["question"] not in asked]
    splits = {"train": rows[:train], "test": fresh}
    return Source(splits if split is None else {split: splits[split]}, f"reasoning_gym/{name}", _gym_problem)


def _gym_problem(row: object) -> Problem:
    question, answer = text_field(row, "question"), text_field(row, "answer")
    metadata: Any = row.get("metadata") if isinstance(row, Mapping) else None
    extra = {"question": question, "answer": answer, "metadata": json.dumps(metadata, default=str)}
    return Problem(asked(f"{question} {GSM8K_INSTRUCTION}"), answer.strip(), extra)


def _first_line(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
