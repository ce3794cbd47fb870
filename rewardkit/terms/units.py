"""In what a response is measured: words, characters, tokens. Shared by the terms that look at length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from rewardkit.batch import Batch, Floats
from rewardkit.declaration import Need

Unit = Literal["words", "characters", "tokens"]


def counts(batch: Batch, unit: Unit) -> Floats:
    """The length of each response. Words are what blanks separate, characters are Unicode code points."""
    if unit == "words":
        found = [len(text.split()) for text in batch.responses]
    elif unit == "characters":
        found = [len(text) for text in batch.responses]
    else:
        assert batch.tokens is not None  # declared as a need
        found = [len(ids) for ids in batch.tokens]
    return np.asarray(found, dtype=np.float64)


def needs_of_unit(p: Mapping[str, Any]) -> tuple[Need, ...]:
    """Tokens are the trainer's own, so a term that counts them needs them."""
    return ("response", "tokens") if p["unit"] == "tokens" else ("response",)
