"""verl's parquet: one chat prompt a row, with what the reward is graded against. Written whole or not at all.

pyarrow is imported inside the functions: the core runs without it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from rewardkit.data.rows import Problem
from rewardkit.errors import MissingDependencyError

GSM8K_INSTRUCTION: Final = 'Let\'s think step by step and output the final answer after "####".'
"""What verl's own GSM8K preprocessing appends to every question."""


def verl_row(problem: Problem, *, data_source: str, ability: str, split: str, index: int, ask: str) -> dict[str, Any]:
    """A row as verl 0.3 to 0.9 read it.

    Args:
        problem: the question and its gold.
        data_source: what a `route` formula and verl's validation metrics tell data sets apart by.
        ability: verl's label for the kind of problem.
        split: train or test.
        index: the row's number in its split.
        ask: appended to the question after a blank; empty for nothing.
    """
    content = f"{problem.question} {ask}" if ask else problem.question
    return {
        "data_source": data_source,
        "prompt": [{"role": "user", "content": content}],
        "ability": ability,
        "reward_model": {"style": "rule", "ground_truth": problem.gold},
        "extra_info": {
            "split": split,
            "index": index,
            "question": problem.question,
            "answer": problem.answer,
            **problem.extra,
        },
    }


def write_parquet(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Write rows to a parquet file; a reader sees the whole file or none.

    Raises:
        MissingDependencyError: pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingDependencyError(
            "writing parquet needs pyarrow, which is not installed", hint="pip install 'rewardkit-rl[data]'"
        ) from None
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
    os.close(handle)
    try:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), temporary)
        Path(temporary).chmod(0o644)  # mkstemp makes it private to this user
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
