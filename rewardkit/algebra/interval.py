"""Between which two numbers something lies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Interval:
    """The closed interval from ``low`` to ``high``. Either end may be infinite."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if math.isnan(self.low) or math.isnan(self.high) or self.low > self.high:
            raise ValueError(f"no interval: [{self.low}, {self.high}]")

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __mul__(self, other: Interval) -> Interval:
        corners = [_times(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(corners), max(corners))

    def __truediv__(self, divisor: float) -> Interval:
        corners = (self.low / divisor, self.high / divisor)
        return Interval(min(corners), max(corners))

    def hull(self, other: Interval) -> Interval:
        """The smallest interval that holds both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    @property
    def is_finite(self) -> bool:
        """True when neither end is infinite."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def __str__(self) -> str:
        low = "unbounded below" if self.low == -math.inf else f"{self.low:g}"
        high = "unbounded above" if self.high == math.inf else f"{self.high:g}"
        if not math.isfinite(self.low) and not math.isfinite(self.high):
            return "unbounded"
        return f"[{low}, {high}]"


UNIT: Final = Interval(0.0, 1.0)
ZERO: Final = Interval(0.0, 0.0)
ANY: Final = Interval(-math.inf, math.inf)


def _times(a: float, b: float) -> float:
    """0 × infinity is 0 here: the infinite end is a bound that no value reaches."""
    return 0.0 if a == 0 or b == 0 else a * b
