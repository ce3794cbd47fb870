"""Columns of verl as it hardly ever fills them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the extra verl brings torch")

from trainer_glue.verl.rows import row_of, rows_of

DECODER: Any = None
"""Nothing is decoded of a response that is the policy's alone."""


class Data:
    """What of a DataProto is read."""

    def __init__(self, batch: dict[str, Any], columns: dict[str, Any]) -> None:
        self.batch, self.non_tensor_batch = batch, columns

    def __getitem__(self, i: int) -> Data:
        return Data(*({k: v[i] for k, v in part.items()} for part in (self.batch, self.non_tensor_batch)))


def data(**columns: Any) -> Data:
    responses = torch.tensor([[5, 6, 7, 8], [5, 6, 0, 0]])
    mask = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]])
    return Data({"responses": responses, "attention_mask": mask}, {k: np.array(v) for k, v in columns.items()})


@pytest.mark.parametrize(("lengths", "expected"), [([9, 2], [4, 2]), ([-1, 0], [0, 0]), ([2.0, 1.0], [2, 1])])
def test_a_length_beyond_the_tensor_cuts_nothing_and_a_negative_one_leaves_nothing(
    lengths: list[Any], expected: list[int]
) -> None:
    given = data(response_len=lengths)
    assert [len(row.tokens) for row in rows_of(given, DECODER)] == expected
    assert [len(row_of(given[i], DECODER).tokens) for i in range(2)] == expected


def test_what_pandas_writes_for_a_missing_id_is_no_id() -> None:
    given = data(uid=[float("nan"), 1.0], data_source=[float("nan"), 2.0])
    for rows in (rows_of(given, DECODER), [row_of(given[i], DECODER) for i in range(2)]):
        assert [(row.group, row.data_source) for row in rows] == [(None, None), ("1.0", "2.0")]
