"""Near-duplicates among sampled texts: one text under many prompts can't be the answer to all of them.

Candidates by MinHash and locality-sensitive hashing (Broder 1997; Leskovec, Rajaraman and Ullman, ch. 3), so that a few
thousand texts take a second and not millions of comparisons; each candidate is then compared in full. Written here in
numpy: the comparison decides, and a package for the rest would be one more to install.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from rewardkit.report.sample import Kept

ALIKE: Final = 0.5
"""The share of word triples that two texts have in common (Jaccard) to count as near-duplicates: of 80 words 8 may
be others, or a quarter of the text in one piece."""
_BANDS: Final = 32
_ROWS: Final = 3
"""32 bands of 3: two texts that have 0.5 in common meet with a chance of 0.986, with 0.1 of 0.03."""
_SHINGLE: Final = 3
_MOST_SHINGLES: Final = 1_000
_PRIME: Final = np.uint64(4_294_967_311)
"""The first prime above 2**32."""
Shingles = frozenset[int]


@dataclass(frozen=True, slots=True)
class Cluster:
    """Texts that are near-duplicates of the first of them."""

    members: tuple[Kept, ...]

    @property
    def mean(self) -> float:
        """What they are paid, on average."""
        return float(np.mean([member.total for member in self.members]))

    @property
    def spread(self) -> float:
        """By how much that differs among them (standard deviation)."""
        return float(np.std([member.total for member in self.members]))

    @property
    def prompts(self) -> int:
        """Under how many different prompts they stand; 0 where prompts are not known."""
        return len({member.prompt for member in self.members if member.prompt is not None})

    @property
    def first(self) -> int | None:
        """The first step at which one was sampled."""
        return min((member.step for member in self.members if member.step is not None), default=None)


def clusters(texts: Sequence[Kept]) -> list[Cluster]:
    """Group near-duplicates, the largest group first. Each text is compared with the first of a group."""
    leaders: list[tuple[Shingles, list[Kept]]] = []
    buckets: dict[tuple[int, bytes], list[int]] = {}
    for text in texts:
        shingles = _shingles(text.text)
        if not shingles:
            continue
        bands = _bands(shingles)
        candidates = dict.fromkeys(leader for band in bands for leader in buckets.get(band, ()))
        home = next((i for i in candidates if _jaccard(shingles, leaders[i][0]) >= ALIKE), None)
        if home is not None:
            leaders[home][1].append(text)
            continue
        leaders.append((shingles, [text]))
        for band in bands:
            buckets.setdefault(band, []).append(len(leaders) - 1)
    repeated = [Cluster(tuple(members)) for _, members in leaders if len(members) > 1]
    return sorted(repeated, key=lambda cluster: -len(cluster.members))


def _shingles(text: str) -> Shingles:
    words = text.lower().split()[: _MOST_SHINGLES + _SHINGLE - 1]
    if not words:
        return frozenset()
    grams = [" ".join(words[i : i + _SHINGLE]) for i in range(max(1, len(words) - _SHINGLE + 1))]
    return frozenset(zlib.crc32(gram.encode("utf-8", "replace")) for gram in grams)


def _jaccard(a: Shingles, b: Shingles) -> float:
    common = len(a & b)
    return common / (len(a) + len(b) - common)


_RANDOM: Final = np.random.default_rng(0)
_FACTORS: Final = _RANDOM.integers(1, 1 << 31, (_BANDS * _ROWS, 1), dtype=np.uint64)
_OFFSETS: Final = _RANDOM.integers(0, 1 << 31, (_BANDS * _ROWS, 1), dtype=np.uint64)


def _bands(shingles: Shingles) -> list[tuple[int, bytes]]:
    values: npt.NDArray[np.uint64] = np.fromiter(shingles, np.uint64, len(shingles))
    smallest = ((_FACTORS * values + _OFFSETS) % _PRIME).min(axis=1)
    return [(band, smallest[band * _ROWS : (band + 1) * _ROWS].tobytes()) for band in range(_BANDS)]
