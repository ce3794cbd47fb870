"""What is known of verl's versions, all of it in this package.

Here: which versions are tested, and how each asks for rewards. `keys`: what became of the keys of older config files.
`installed`: the installed verl. A new version of verl is a line in :data:`TESTED`, one in :data:`INTEGRATION_POINTS` if
it asks in another way, and the keys that it moved; the canary tests of `cpu.workarounds` then say which lines moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

TESTED: Final = ("0.9.1",)
"""Versions whose config, trainer and CPU path are tested here with real runs; the last one is what is installed."""
BATCHED_TESTED: Final = ("0.3.0", "0.4.1", "0.5.0", "0.6.1", "0.7.0")
"""Versions inside which the batched call is tested, on their own ``DataProto``."""


@dataclass(frozen=True, slots=True)
class IntegrationPoint:
    """How some versions of verl ask for rewards, and what that can carry."""

    versions: str
    call: str
    token_level: bool
    """Whether one number a token arrives."""
    groups: str
    """How whole groups arrive; empty where they don't."""
    metrics: str
    """Where each term's values are shown."""


INTEGRATION_POINTS: Final = (
    IntegrationPoint(TESTED[-1], "`run_single` + sampler", True, "yes", "training and validation"),
    IntegrationPoint("0.7.1 to 0.9.0", "`run_single`", False, "", "validation only"),
    IntegrationPoint("0.3 to 0.7.0", "`manager(data, return_dict)`", True, "yes, by `uid`", "validation only"),
)


def table() -> str:
    """The integration points as a Markdown table."""
    lines = [
        "| verl | how it asks | token-level rewards | whole groups | each term's metrics |",
        "|---|---|---|---|---|",
    ]
    for point in INTEGRATION_POINTS:
        token_level = "yes" if point.token_level else "no"
        cells = (point.versions, point.call, token_level, point.groups or "no", point.metrics)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
