"""Choices that several commands offer."""

from __future__ import annotations

from enum import StrEnum


class OnBadRow(StrEnum):
    """What becomes of a row that can't be used."""

    STOP = "stop"
    SKIP = "skip"
