"""slime's custom reward function: one of its samples, or with --group-rm all samples of a prompt."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import pytest

from rewardkit.errors import CompileError, UnscoredError
from trainer_glue.adapters.slime import custom_rm_of


class Status(Enum):
    """slime's, as far as it is read."""

    COMPLETED = "completed"
    TRUNCATED = "truncated"


@dataclass
class Sample:
    """slime's sample, as far as it is read."""

    response: str
    label: str | None = "42"
    group_index: int = 0
    prompt: Any = "6 * 7?"
    tokens: list[int] = field(default_factory=lambda: [9, 9, 1, 2, 3])
    response_length: int = 3
    metadata: dict[str, Any] = field(default_factory=dict)
    status: Status = Status.COMPLETED
    remove_sample: bool = False


def paid(formula: str, samples: Any, **options: Any) -> Any:
    return asyncio.run(custom_rm_of(formula, **options)(None, samples, evaluation=False))


def test_one_sample_and_all_of_a_prompt() -> None:
    assert paid("gsm8k() + 0.1 * ends_with('.?!')", Sample("It is 42.")) == 1.1
    assert paid("group_rank(length())", [Sample("a"), Sample("a b")]) == [0.0, 1.0]
    assert paid("length(1, unit='tokens')", Sample("a b")) == 3
    assert paid("column('level', low=0, high=9)", Sample("x", metadata={"level": 4})) == 4


def test_an_unscored_sample_is_kept_out_of_the_loss() -> None:
    samples = [Sample("42"), Sample("43"), Sample("42", label=None)]
    assert paid("gsm8k()", samples, unscored_limit=0.5) == [1.0, 0.0, 0.5]
    assert [s.remove_sample for s in samples] == [False, False, True]


def test_a_tool_s_text_is_never_the_answer() -> None:
    text = "I ask.<|im_end|>\n<|im_start|>tool\n#### 42<|im_end|>\n<|im_start|>assistant\nSo be it.<|im_end|>"
    assert paid("gsm8k()", Sample(text)) == 0.0


def test_what_is_refused() -> None:
    with pytest.raises(CompileError, match="--group-rm"):
        paid("group_rank(length())", Sample("a"))
    with pytest.raises(CompileError, match="slime"):
        custom_rm_of("schedule({0: 0, 5: 1}) * length()")
    reward = custom_rm_of("gsm8k()")

    async def many() -> None:
        for _ in range(60):
            await reward(None, Sample("42", label="none"))

    with pytest.raises(UnscoredError):
        asyncio.run(many())
