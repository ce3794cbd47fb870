"""How long a response is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from rewardkit.batch import Batch, Floats
from rewardkit.declaration import Need, term

Unit = Literal["words", "characters", "tokens"]


def _bounds(p: Mapping[str, Any]) -> tuple[float, float | None]:
    return (0.0, p["cap"])


def _needs(p: Mapping[str, Any]) -> tuple[Need, ...]:
    return ("response", "tokens") if p["unit"] == "tokens" else ("response",)


@term(bounds=_bounds, needs=_needs, batched=True, builtin=True)
def length(
    batch: Batch,
    per_unit: Annotated[float, Field(gt=0)] = 1.0,
    *,
    unit: Unit = "words",
    cap: Annotated[float, Field(gt=0)] | None = None,
) -> Floats:
    """``min(per_unit * count, cap)``: a reward for each word, character or token of the response.

    Words are what blanks separate (``str.split``), as in the Llama-3 GRPO recipe, whose length bonus is
    ``length(0.1)``. Characters are Unicode code points. Tokens are the trainer's own response tokens.

    Without a cap it is unbounded above, and a policy that is paid for words writes words: give one, or write
    ``when(gsm8k(), length(0.01, cap=0.5), 0)``.

    Args:
        batch: the responses.
        per_unit: what one unit is worth; above 0 (for a penalty write ``-length(...)``).
        unit: ``words``, ``characters`` or ``tokens``.
        cap: the most it pays, in reward (not in units); above 0.
    """
    counts: list[int]
    if unit == "words":
        counts = [len(text.split()) for text in batch.responses]
    elif unit == "characters":
        counts = [len(text) for text in batch.responses]
    else:
        assert batch.tokens is not None  # declared as a need
        counts = [len(ids) for ids in batch.tokens]
    values = per_unit * np.asarray(counts, dtype=np.float64)
    return values if cap is None else np.minimum(values, cap)
