"""What a user's term changes in what it was handed, no other term and no caller sees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rewardkit import Batch, Sample, compile, term


@term(bounds=(0, 9), needs=("extra_info", "ground_truth", "tokens"))
def spoils(sample: Sample) -> float:
    sample.extra_info["seen"] = True  # type: ignore[index]
    sample.extra_info["nested"]["list"].append(4)
    sample.ground_truth.clear()
    sample.tokens.clear()  # type: ignore[union-attr]
    assert sample.extra_info["seen"]  # its own changes it does see
    return float(len(sample.extra_info["nested"]["list"]))


@term(bounds=(0, 9), batched=True, needs=("extra_info", "ground_truth"))
def spoils_all(batch: Batch) -> Any:
    batch.responses.clear()  # type: ignore[attr-defined]
    for info, truths in zip(batch.extra_infos or (), batch.ground_truths or (), strict=True):
        info["nested"]["list"].append(4)  # type: ignore[index]
        truths.append("b")
    return [float(len(info["nested"]["list"])) for info in batch.extra_infos or ()]


@pytest.mark.parametrize("first", [spoils, spoils_all], ids=lambda of: of.name)
@pytest.mark.parametrize("second", [spoils, spoils_all], ids=lambda of: of.name)
def test_terms_do_not_see_each_others_changes(first: Any, second: Any) -> None:
    infos = [{"nested": {"list": [1, 2, 3]}} for _ in range(2)]
    truths, tokens, responses = [["a"], ["b"]], [[1, 2], [3]], ["x", "y"]
    batch = Batch(responses, ground_truths=truths, extra_infos=infos, tokens=tokens)
    program = compile(first().named("one") + 2 * second().named("two"))
    for _ in range(2):
        np.testing.assert_array_equal(program(batch).total, [12, 12])
    assert infos == [{"nested": {"list": [1, 2, 3]}}] * 2
    assert (truths, tokens, responses) == ([["a"], ["b"]], [[1, 2], [3]], ["x", "y"])


@term(bounds=(0, 1), needs=("extra_info",))
def reads(sample: Sample) -> float:
    return float(sample.extra_info["handle"] is HANDLE and sample.extra_info["pair"] == (1, [2]))


class Handle:
    """What can't be copied, such as a lock."""

    def __deepcopy__(self, memo: object) -> Any:
        raise TypeError("cannot pickle 'Handle' object")


HANDLE = Handle()


def test_what_can_not_be_copied_is_handed_over_as_it_is() -> None:
    infos = np.array([{"handle": HANDLE, "pair": (1, [2])}], dtype=object)  # as verl has them
    assert compile(reads())(Batch(["x"], extra_infos=infos)).total.tolist() == [1.0]  # type: ignore[arg-type]
