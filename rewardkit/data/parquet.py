"""verl's parquet: one chat prompt a row, with what the reward is graded against. Written whole or not at all.

pyarrow is imported inside the functions: the core runs without it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rewardkit.data.rows import Problem
from rewardkit.errors import DataError, MissingDependencyError


def verl_row(problem: Problem, *, data_source: str, ability: str, split: str, index: int) -> dict[str, Any]:
    """A row as verl 0.3 to 0.9 read it.

    Args:
        problem: what is asked, and its ground truth.
        data_source: what a `route` formula and verl's validation metrics tell data sets apart by.
        ability: verl's label for what is asked: math, code, ...
        split: train or test.
        index: the row's number in its split.
    """
    return {
        "data_source": problem.data_source or data_source,
        "prompt": [dict(message) for message in problem.prompt],
        "ability": ability,
        "reward_model": {"style": "rule", "ground_truth": problem.ground_truth},
        "extra_info": {"split": split, "index": index, **problem.extra},
    }


def write_parquet(files: Mapping[Path, Sequence[dict[str, Any]]]) -> None:
    """Write parquet files, all of them or none; a reader sees a whole file or none.

    Args:
        files: rows by path. A file that is there is replaced.

    Raises:
        MissingDependencyError: pyarrow is not installed.
        DataError: the folder can't be written to.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingDependencyError(
            "writing parquet needs pyarrow, which is not installed", hint="pip install 'rewardkit-rl[data]'"
        ) from None
    temporary: dict[Path, Path] = {}
    try:
        for path, rows in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
            os.close(handle)
            temporary[path] = Path(name)
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), name)
            temporary[path].chmod(0o644)  # mkstemp makes it private to this user
        for path, partial in temporary.items():
            partial.replace(path)
    except OSError as e:
        raise DataError(f"can't write {e.filename or 'the files'}: {e.strerror or e}") from e
    finally:
        for partial in temporary.values():
            partial.unlink(missing_ok=True)
