"""Where on the response's tokens a reward stands. Placement never changes how much it is.

A reward stands on the last token unless the formula says otherwise: ``x.spread()`` divides it evenly over all tokens,
``x.on(pattern)`` over the tokens that end a match of the pattern, and a token-level term brings its own numbers. In a
trajectory of several turns, all of these are tokens that the policy wrote; patterns and token-level terms are about the
turn that was scored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from rewardkit.algebra.values import Piece
from rewardkit.batch import Floats, Mask
from rewardkit.errors import CompileError
from rewardkit.patterns import compiled

_PART: Final = 512
PATTERN_TIMEOUT_S: Final = 0.05
"""Wall-clock seconds that a placement pattern may search one response; after that the value stands at the end."""

TokenEnds = Callable[[int], npt.NDArray[np.int64]]
"""For a row: the offset in characters, in the response's text, at which each of its tokens ends; shape (tokens,)."""


def place(
    pieces: Sequence[Piece],
    mask: Mask,
    texts: Sequence[str],
    token_ends: TokenEnds | None,
    scored: Mask | None = None,
) -> npt.NDArray[np.float32]:
    """Write pieces into a tensor of shape (n, T); everything outside the mask is 0.

    Args:
        pieces: what to write; amounts that are NaN (unscored rows) are left out.
        mask: shape (n, T), true on the policy's own response tokens.
        texts: the responses, for patterns.
        token_ends: where tokens end in the text, for patterns.
        scored: shape (n, T), true on the tokens of that text; a part of the mask. None: all of the mask.

    Raises:
        CompileError: a pattern and no token_ends.
    """
    n, width = mask.shape
    at_the_end = all(piece.place == "end" for piece in pieces)
    # Shares are summed in double precision; where each row has one number, that much memory would buy nothing.
    out = np.zeros((n, width), dtype=np.float32 if at_the_end else np.float64)
    at_last = np.zeros(n)
    counts = mask.sum(axis=1)
    last = _last_tokens(mask)
    scored = mask if scored is None else scored
    for piece in pieces:
        live = np.isfinite(piece.amount) & (counts > 0) & (piece.amount != 0)
        rows = np.flatnonzero(live)
        if piece.place == "spread":
            out[rows] += np.where(mask[rows], (piece.amount[rows] / counts[rows])[:, None], 0.0)
        elif piece.place == "end":
            at_last[rows] += piece.amount[rows]
        else:
            for row in rows.tolist():
                positions = np.flatnonzero(scored[row])
                if piece.place == "dense":
                    _put_dense(out[row], positions, int(last[row]), piece, row)
                else:
                    hits = _matches(piece.pattern, texts[row], row, len(positions), token_ends)
                    at = positions[hits] if len(hits) else last[row : row + 1]
                    np.add.at(out[row], at, piece.amount[row] / len(at))
    rows = np.flatnonzero(at_last)
    out[rows, last[rows]] += at_last[rows]
    return out.astype(np.float32, copy=False)


def _last_tokens(mask: Mask) -> npt.NDArray[np.int64]:
    """The last position in each row's mask; in parts, since numpy copies what it looks through backwards."""
    n, width = mask.shape
    last = np.zeros(n, dtype=np.int64)
    for start in range(0, n if width else 0, _PART):
        rows = slice(start, start + _PART)
        last[rows] = width - 1 - np.argmax(mask[rows, ::-1], axis=1)
    return last


def _put_dense(line: Floats, positions: npt.NDArray[np.intp], last: int, piece: Piece, row: int) -> None:
    assert piece.dense is not None
    values = piece.dense[row]
    if len(values) == len(positions):
        line[positions] += piece.amount[row] * values
    else:  # tokens of the response that the trainer masks out: what stood there goes to the end
        kept = min(len(values), len(positions))
        line[positions[:kept]] += piece.amount[row] * values[:kept]
        line[last] += piece.amount[row] * float(values[kept:].sum())


def _matches(pattern: str, text: str, row: int, count: int, token_ends: TokenEnds | None) -> npt.NDArray[np.intp]:
    """Which of the scored tokens end a match: the first that reaches the match's last character. None: no match."""
    if token_ends is None:
        raise CompileError(
            f"`.on({pattern!r})` needs to know where each token ends in the text, and this caller doesn't say",
            hint="pass token_ends=..., or place the reward with .spread()",
        )
    found = _match_ends(pattern, text) if count else []
    if not found:
        return np.zeros(0, dtype=np.intp)
    return np.minimum(np.searchsorted(token_ends(row), found), count - 1)


def _match_ends(pattern: str, text: str) -> list[int]:
    offsets: list[int] = []
    try:
        for match in compiled(pattern).finditer(text, timeout=PATTERN_TIMEOUT_S):
            if match.end() > match.start():
                offsets.append(match.end())
    except TimeoutError:
        return []
    return offsets
