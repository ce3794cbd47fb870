"""What a run leaves for the eye: a table of the first step against the last, and the picture of the reward."""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trainer_glue.verl.launch.folder import write_whole
from trainer_glue.verl.launch.metrics import Step

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

_TITLE_WIDTH: Final = 90
_STYLES: Final = ("--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)))
"""Terms can be told apart without their colours."""
_MARKED: Final = 30
"""Up to so many steps, each gets a mark: with few points a line alone hides how few."""


def training_steps(steps: Sequence[Step]) -> list[Step]:
    """The steps that trained."""
    return [s for s in steps if s.is_training]


def rows(steps: Sequence[Step]) -> list[tuple[str, float, float]]:
    """Name, value in the first step and in the last: the total, each term, the response length, and validation.

    Validation's are those of the first and the last step that validated.
    """
    first, last = steps[0], steps[-1]
    terms = dict.fromkeys([*first.terms, *last.terms])
    validated = [s.validation for s in steps if not math.isnan(s.validation)]
    return [
        ("reward", first.total, last.total),
        *((name, first.terms.get(name, math.nan), last.terms.get(name, math.nan)) for name in terms),
        ("response tokens", first.response_length, last.response_length),
        *([("validation", validated[0], validated[-1])] if validated else []),
    ]


def table(steps: Sequence[Step]) -> Table:
    """The rows as a table.

    Args:
        steps: training steps, at least one.
    """
    from rich import box
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD)
    shown.add_column("mean of the batch")
    for head in (f"step {steps[0].number}", f"step {steps[-1].number}", "change"):
        shown.add_column(head, justify="right")
    for name, first, last in rows(steps):
        digits = 1 if name == "response tokens" else 4
        shown.add_row(name, f"{first:.{digits}f}", f"{last:.{digits}f}", f"{last - first:+.{digits}f}")
    return shown


def figure(steps: Sequence[Step], formula: str) -> Figure:
    """The mean reward over the steps, and that of each term."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    drawn = Figure(figsize=(8, 4.5), dpi=150, layout="constrained")
    FigureCanvasAgg(drawn)
    axes = drawn.add_subplot()
    numbers = [s.number for s in steps]
    marker = "." if len(steps) <= _MARKED else ""
    terms = dict.fromkeys(name for s in steps for name in s.terms)
    for name, style in zip(terms, itertools.cycle(_STYLES)):
        values = [s.terms.get(name, math.nan) for s in steps]
        axes.plot(numbers, values, label=name, linewidth=1.3, marker=marker, linestyle=style)
    validated = [s for s in steps if not math.isnan(s.validation)]
    if validated:
        points = [s.number for s in validated], [s.validation for s in validated]
        axes.plot(*points, label="validation", color="black", linewidth=1.0, marker="s", linestyle=":")
    axes.plot(numbers, [s.total for s in steps], label="total", color="black", linewidth=2.2, marker=marker)
    axes.set_xlabel("training step")
    axes.set_ylabel("mean of the batch")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    title = formula if len(formula) <= _TITLE_WIDTH else f"{formula[: _TITLE_WIDTH - 1]}…"
    axes.set_title(title, fontsize=10, parse_math=False)
    axes.grid(alpha=0.3)
    axes.legend(loc="best", fontsize=9)
    return drawn


def draw(steps: Sequence[Step], formula: str, path: Path) -> None:
    """Write the picture as a PNG file."""
    buffer = io.BytesIO()
    figure(steps, formula).savefig(buffer, format="png")
    write_whole(path, buffer.getvalue())
