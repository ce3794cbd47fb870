"""The static limits that stand before any parser, each with its reason.

A response over a limit gets the status LIMIT: it is scored at the term's floor, and nothing heavier ever sees it. A
limit is a constant and not a parameter: moving one would change verdicts between two runs that look the same.
"""

from __future__ import annotations

from typing import Final

MAX_CHARS: Final = 1 << 20
"""Longest response that is looked at. 1 MB is fifty times the longest rollout in use; longer text is a fault."""

MAX_MARKERS: Final = 256
"""Most answer markers in one response. Nobody concludes 256 times; a loop that prints boxes does."""

MAX_CLAIM: Final = 4096
"""Longest text after one marker (characters). The longest ground truth of the MATH data set has under 400."""

MAX_DIGITS: Final = 1000
"""Longest run of digits. Python refuses to read 4,301 digits, and 1,000 is far past every known ground truth."""

MAX_EXPONENT: Final = 1000
"""Largest power of ten in scientific notation (``1e1000``), so that no number has more than about 2,000 digits."""

FALLBACK_WINDOW: Final = 600
"""Without a marker, how far around the last number the sentence is looked for (characters)."""

MAX_FORMULA: Final = 2000
"""Longest formula that is parsed (characters)."""

MAX_TOKENS: Final = 800
"""Most tokens (numbers, names, operators) in one formula."""

MAX_DEPTH: Final = 40
"""Deepest nesting of brackets, fractions and exponents. People don't write ten."""

MAX_BITS: Final = 4000
"""Largest number that a formula may be worth on the way (bits, about 1,200 digits): the power towers' limit."""

MAX_FACTORIAL: Final = 400
"""Largest argument of a factorial; 400! is within MAX_BITS."""
