"""What the user sees of a run while it goes on: one line a step, and on a terminal a status line below them."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Final

from trainer_glue.verl.launch.metrics import Step
from trainer_glue.verl.launch.vital_signs import VitalSigns

if TYPE_CHECKING:
    from rich.console import Console

_RECENT: Final = 5
"""Steps whose median time says how long the rest takes: the first step of a start is several times as long."""
_NUMBER: Final = 8
_UNSCORED: Final = "unscored"


class Table:
    """The columns of the step lines, fixed by the first step."""

    def __init__(self, first: Step, total: int | None) -> None:
        self.total = total
        self.terms = list(first.terms)
        self._step_width = max(5, 2 * len(str(total or 9999)) + 1)

    def header(self) -> str:
        """The names over the columns."""
        names = ["reward", *self.terms, "s/step", "left"]
        return " ".join(["step".rjust(self._step_width), *(n.rjust(self._width(n)) for n in names)])

    def line(self, step: Step, left: float | None) -> str:
        """A step, under the names.

        Args:
            step: the step.
            left: seconds to the end of the run, or None where not known.
        """
        number = f"{step.number}/{self.total}" if self.total else str(step.number)
        terms = step.terms
        cells = [("reward", f"{step.total:.4f}"), *((t, f"{terms.get(t, math.nan):.4f}") for t in self.terms)]
        cells += [("s/step", f"{step.seconds:.1f}"), ("left", "" if left is None else duration(left))]
        text = " ".join([number.rjust(self._step_width), *(c.rjust(self._width(n)) for n, c in cells)])
        if step.unscored > 0:
            text += f"  {step.unscored:.0%} {_UNSCORED}"
        return text if math.isnan(step.validation) else f"{text}  validation {step.validation:.4f}"

    def _width(self, name: str) -> int:
        return max(_NUMBER, len(name))


def time_left(steps: Sequence[Step], total: int | None) -> float | None:
    """Seconds to the end of a run, from the time of its latest steps; None where it can't be said."""
    recent = [s.seconds for s in steps if math.isfinite(s.seconds)][-_RECENT:]
    if total is None or not recent or steps[-1].number > total:
        return None
    return statistics.median(recent) * (total - steps[-1].number)


def duration(seconds: float) -> str:
    """Such as 0:07, 12:30 or 1:02:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def status(steps: Sequence[Step], total: int | None, waited: float) -> str:
    """What is going on now.

    Args:
        steps: the steps of this start so far.
        total: steps asked for, over all starts.
        waited: seconds since the latest of them, or since the start.
    """
    if not steps:
        return f"verl is starting, then the first step: {duration(waited)}"
    done = steps[-1].number
    if done == total:
        return f"all steps are done, verl is closing: {duration(waited)}"
    left = time_left(steps, total)
    rest = "" if left is None else f", about {duration(max(0.0, left - waited))} left"
    return f"step {done + 1}: {duration(waited)}{rest}"


class Progress:
    """Shows the steps of one start of a run.

    Args:
        console: where to.
        total: steps asked for, over all starts; None where not known yet.
    """

    def __init__(self, console: Console, total: int | None) -> None:
        self._console = console
        self.total = total
        self._table: Table | None = None
        self._steps: list[Step] = []
        self._signs = VitalSigns()
        self._since = time.monotonic()
        self._status = console.status("") if console.is_terminal else None

    @property
    def has_begun(self) -> bool:
        """Whether a step was shown."""
        return bool(self._steps)

    def show(self, step: Step) -> None:
        """Print a training step."""
        self._steps.append(step)
        self._since = time.monotonic()
        if self._table is None:
            self._table = Table(step, self.total)
            self._print(self._table.header(), style="bold")
        self._print(self._table.line(step, time_left(self._steps, self.total)))
        for sign in self._signs.add(step):
            self._print(f"warning: {sign}", style="yellow")

    def tick(self) -> None:
        """Bring the status line up to date."""
        if self._status is None:
            return
        self._status.update(status(self._steps, self.total, time.monotonic() - self._since))

    def _print(self, text: str, style: str = "") -> None:
        self._console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

    def __enter__(self) -> Progress:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()
