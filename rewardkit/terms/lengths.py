"""How long a response is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from rewardkit.algebra.define import term
from rewardkit.batch import Batch, Floats
from rewardkit.terms.units import Unit, counts, needs_of_unit


def _bounds(p: Mapping[str, Any]) -> tuple[float, float | None]:
    return (0.0, p["cap"])


@term(bounds=_bounds, needs=needs_of_unit, batched=True)
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
    values = per_unit * counts(batch, unit)
    return values if cap is None else np.minimum(values, cap)
