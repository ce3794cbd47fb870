"""rich's console, which lets through the control characters of what it prints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

from rewardkit.cli._printable import printable


class SafeConsole(Console):
    """A console that shows control characters instead of sending them; styles and cursor moves of its own stay."""

    def render(self, *arguments: Any, **options: Any) -> Iterable[Segment]:
        """The segments of something to print."""
        for segment in super().render(*arguments, **options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))
