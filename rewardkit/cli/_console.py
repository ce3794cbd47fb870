"""Consoles and small pieces that several subcommands print with."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import typer

from rewardkit.cli._printable import json_printable, printable

if TYPE_CHECKING:
    from rich.console import Console

_WIDE: Final = 100_000
"""Columns where there is no terminal: a reader of a pipe wants whole lines."""


def console(*, err: bool = False) -> Console:
    """A console that styles on a terminal only, not under NO_COLOR, and never breaks the lines of a pipe.

    FORCE_COLOR styles in a pipe too. rich alone keeps bold and dim under NO_COLOR; here nothing is left of them.
    """
    from rewardkit.cli._rich import SafeConsole

    stream = sys.stderr if err else sys.stdout
    width = None if stream.isatty() else _WIDE
    if os.environ.get("NO_COLOR"):
        return SafeConsole(stderr=err, highlight=False, width=width, color_system=None)
    return SafeConsole(stderr=err, highlight=False, width=width)


@contextlib.contextmanager
def spinner(text: str) -> Iterator[None]:
    """Say what is going on while nothing is printed; only where standard error is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    with console(err=True).status(text):
        yield


@contextlib.contextmanager
def progress_bar(task: str, *, shown: bool = True) -> Iterator[Callable[[float, int], object] | None]:
    """The share that is done, rows and time left, on a terminal; nothing elsewhere, or where rows would run into it."""
    if not shown or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[rows]:,} rows"), TimeRemainingColumn())
    with Progress(*columns, console=console(err=True)) as bar:
        added = bar.add_task(task, total=1.0, rows=0)
        yield lambda done, rows: bar.update(added, completed=done, rows=rows)


def one_line(text: str, most: int = 90) -> str:
    """A text on one line, in quotes, its middle left out where it is long."""
    return repr(text if len(text) <= most else f"{text[: most - 30]} ... {text[-24:]}")


def show_json(value: Any) -> None:
    """One JSON value on standard output, indented."""
    typer.echo(json_printable(json.dumps(value, indent=2, ensure_ascii=False)))


def echo(text: str, *, err: bool = False) -> None:
    """One line that has text of data in it."""
    typer.echo(printable(text), err=err)


def plain(text: str) -> str:
    """A docstring's text without the doubled backticks of its markup."""
    return text.replace("``", "`")
