r"""What multiplies the number before it: ``5 million``, ``1.5 \times 10^3``.

A suffix without a name (``5k``) and a unit that counts (``2 dozen``) multiply nothing.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from rewardkit.answers.limits import MAX_EXPONENT
from rewardkit.answers.number import Number, whole

_SCALES: Final = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_SCALE: Final = re.compile(rf"[ ]?({'|'.join(_SCALES)})(?![^\W_])", re.IGNORECASE)
_POWER_OF_TEN: Final = re.compile(
    r"[ $]*(?:\\times|\\cdot|[x×*·])[ $]*10[ ]?\^[ ]?(?:\{[ ]?([-+]?\d{1,4})[ ]?\}|([-+]?\d{1,4}))(?![\d.,]*[\d^])"
)
_SCALE_HINTS: Final = ("illion", "housand", "undred", "ILLION", "HOUSAND", "UNDRED")


def scaled(text: str, value: Number, end: int) -> tuple[Number, int]:
    r"""The value and end of ``5 million`` or ``1.5 \times 10^3``, given those of the number in front."""
    word = _SCALE.match(text, end)
    if word is not None:
        return whole(value * 10 ** _SCALES[word[1].lower()]), word.end()
    power = _POWER_OF_TEN.match(text, end)
    if power is None:
        return value, end
    exponent = int(power[1] or power[2])
    if abs(exponent) > MAX_EXPONENT:
        return value, end
    return whole(value * Fraction(10) ** exponent), power.end()


def may_scale(text: str) -> bool:
    """False when no scale word stands in a text: a cheap way past :func:`scaled`."""
    return any(map(text.__contains__, _SCALE_HINTS))
