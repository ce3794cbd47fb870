"""The command line: one module a subcommand, imported when that subcommand runs.

Each module `rewardkit/cli/NAME.py` has `app`, a typer application of one command or several; dashes in a command's name
are underscores in the module's. What is imported at the top of these modules may cost a few milliseconds, no more.

Exit codes: 0 done, 1 a run that started and died or a check that found faults, 2 bad input, 130 and 143 stopped by
Ctrl-C and by SIGTERM.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from rewardkit.errors import RewardKitError, RunError, did_you_mean
from rewardkit.version import __version__

COMMANDS: Final = {
    "terms": "List what a formula can be made of.",
    "rewards": "List the ready-made rewards.",
    "explain": "Show a formula's tree, what can be found in it, and what it makes of a row.",
    "score": "Score a file of responses.",
    "serve": "Score rows that come by HTTP.",
    "test": "Run the laws of rewards on a reward; find what its examples don't notice.",
    "audit": "Attack a reward on real rows: who is paid without being right, and for what.",
    "train": "Train a model with verl, paid by a formula.",
    "report": "Sum up what a training run paid for, from its dumped rollouts.",
    "doctor": "Check a run before it starts.",
    "recipes": "List the recipes; copy one to a file.",
    "validate": "Find everything that is wrong with a config, at once.",
    "schema": "Show the keys of a config: types, defaults, meanings.",
    "migrate": "Rewrite a config of an older verl for today's.",
    "from-python": "Read an existing reward function as a formula.",
    "verl-args": "Print a reward as arguments for a verl script that is there already.",
    "data": "Write data sets as the parquet that verl reads; check them against a formula.",
    "convert": "Write a verl checkpoint as a Hugging Face model.",
    "cite": "Print how to cite rewardkit.",
}
"""Every subcommand and its line in the help."""

INTERRUPTED: Final = 130
PLAIN: Final[dict[str, Any]] = {"rich_markup_mode": None, "pretty_exceptions_enable": False, "add_completion": False}
"""For every typer application here: rich's help panels take longer to import than all the rest."""


class LazyGroup(TyperGroup):
    """Subcommands that are imported when they are called; the help and the completion of names need none of them."""

    _names_only = False

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a subcommand."""
        if cmd_name not in COMMANDS:
            return None
        if self._names_only:
            return TyperCommand(cmd_name, help=COMMANDS[cmd_name])
        module = importlib.import_module(f"rewardkit.cli.{cmd_name.replace('-', '_')}")
        command = get_command(module.app)
        command.name = cmd_name
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """A subcommand and its arguments; for a name that is none, the nearest ones."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            hint = did_you_mean(args[0], COMMANDS)
            ctx.fail(f"No such command {args[0]!r}." + (f" {hint[0].upper()}{hint[1:]}" if hint else ""))
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Names and options that begin so."""
        self._names_only = True
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self._names_only = False

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The list of subcommands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


app = typer.Typer(cls=LazyGroup, no_args_is_help=True, **{**PLAIN, "add_completion": True})


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
    sys.exit(run(argv))


def run(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    try:
        result = app(args=None if argv is None else list(argv), prog_name="rewardkit", standalone_mode=True)
    except RewardKitError as e:
        print(f"rewardkit: {e}", file=sys.stderr)
        return 1 if isinstance(e, RunError) else 2
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as e:
        return e.code if isinstance(e.code, int) else int(e.code is not None)
    return result if isinstance(result, int) else 0
