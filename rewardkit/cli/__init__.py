"""The command line: one module a subcommand, imported when that subcommand runs.

Each module `rewardkit/cli/NAME.py` has `app`, a typer application of one command or several; dashes in a command's name
are underscores in the module's. What is imported at the top of these modules may cost a few milliseconds, no more.

Exit codes: 0 done, 1 a run that started and died or a check that found faults, 2 bad input or a full disk, 141 whoever
read standard output went away (`| head`), 128 + N stopped by signal N: 130 by Ctrl-C, 143 by SIGTERM.
"""

from __future__ import annotations

import shlex
import sys
import threading
from collections.abc import Sequence
from typing import Any, Final

import typer

from rewardkit.cli._lazy import LazyGroup
from rewardkit.cli._printable import printable
from rewardkit.cli._streams import flushed, open_streams, signals_unwind, unwritten
from rewardkit.errors import ConfigError, RewardKitError, RunError
from rewardkit.version import __version__

SECTIONS: Final = {
    "Write a reward": {
        "terms": "List what a formula can be made of.",
        "rewards": "List the ready-made rewards.",
        "explain": "Show a formula's tree, what stands out, and a row's values.",
    },
    "Try it": {
        "score": "Score a file of responses.",
        "audit": "Attack a reward on real rows: who is paid without being right?",
        "test": "Run the laws of rewards on one; find what its examples miss.",
        "compare": "Show what changes where one reward takes another's place.",
        "simulate": "Show what a run would learn from a reward, on rollouts that are there.",
    },
    "Train": {
        "data": "Write data sets as verl's parquet; check them against a formula.",
        "doctor": "Check a run before it starts.",
        "train": "Train a model with verl, paid by a formula.",
        "report": "Sum up what a training run paid for, from its dumped rollouts.",
        "convert": "Write a verl checkpoint as a Hugging Face model.",
    },
    "More": {
        "config": "Recipes; check, look up and migrate verl's configs.",
        "serve": "Score rows that come by HTTP.",
    },
}
"""Every subcommand and its line in the help, by what it is for."""
COMMANDS: Final = {name: line for lines in SECTIONS.values() for name, line in lines.items()}
MOVED: Final = {name: f"config {name}" for name in ("recipes", "validate", "schema", "migrate", "verl-args")}
"""Old spellings, which say where they went for one release, as do those of :data:`GONE`."""
GONE: Final = {
    "from-python": "rewardkit compare FILE.py FORMULA ROWS shows where a function and a formula pay differently",
    "cite": "CITATION.cff in the repository says what to cite",
}

INTERRUPTED: Final = 130
PLAIN: Final[dict[str, Any]] = {"rich_markup_mode": None, "pretty_exceptions_enable": False, "add_completion": False}
"""For every typer application here: rich's help panels take longer to import than all the rest."""


class _Group(LazyGroup):
    package = __name__
    sections = SECTIONS
    elsewhere = MOVED

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As any group; an old spelling says where it went."""
        name, *rest = args or [""]
        if name in MOVED:
            raise ConfigError(f"`{name}` is now: rewardkit {MOVED[name]} {shlex.join(rest)}".rstrip())
        if name in GONE:
            raise ConfigError(f"`{name}` is gone: {GONE[name]}")
        return super().resolve_command(ctx, args)


app = typer.Typer(cls=_Group, no_args_is_help=True, **{**PLAIN, "add_completion": True})


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rewardkit {__version__}")
        raise typer.Exit


@app.callback()
def rewardkit(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
) -> None:
    """Write an LLM reward as a formula; have it checked before it costs GPU hours; run it, batched, inside verl."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit.

    Args:
        argv: arguments without the program's name; None for the process's own.
    """
    open_streams()
    sys.exit(run(argv))


def run(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
        return flushed(_run(argv))
    with signals_unwind() as came:
        code = _run(argv)
        return flushed(128 + came[-1] if came and code == INTERRUPTED else code)


def _run(argv: Sequence[str] | None) -> int:
    try:
        result = app(args=None if argv is None else list(argv), prog_name="rewardkit", standalone_mode=True)
    except RewardKitError as e:
        print(f"rewardkit: {printable(str(e))}", file=sys.stderr)
        return 1 if isinstance(e, RunError) else 2
    except OSError as e:
        return _failed(e)
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as e:
        if isinstance(e.__context__, BrokenPipeError):  # typer's answer to it
            return unwritten(e.__context__)
        where = _called_by(e)
        if where is not None:
            print(f"rewardkit: {printable(where)} called sys.exit({e.code!r}): nothing was finished", file=sys.stderr)
            return 2
        return e.code if isinstance(e.code, int) else int(e.code is not None)
    return result if isinstance(result, int) else 0


def _called_by(end: SystemExit) -> str | None:
    """The place in a user's code that ends the process; None where the command line itself does."""
    trace = end.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] in ("typer", "click"):
        return None
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"


def _failed(why: OSError) -> int:
    """Of a file that some command did not guard, or of standard output, which has no name."""
    if why.filename is None:
        return unwritten(why)
    print(f"rewardkit: {printable(str(why.filename))}: {why.strerror}", file=sys.stderr)
    return 2
