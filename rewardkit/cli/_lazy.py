"""Groups of subcommands that are imported when they are called, listed in sections.

The sections are written by click, not by rich: rich's panels take longer to import than all the rest of `--help`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, ClassVar

from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from rewardkit.errors import did_you_mean


class LazyGroup(TyperGroup):
    """A group whose subcommands are modules of a package: `verl-args` is `verl_args.py`, its application `app`.

    Its help and the completion of its names import none of them.
    """

    package: ClassVar[str]
    sections: ClassVar[Mapping[str, Mapping[str, str]]]
    """By heading: each subcommand and its line in the help."""
    elsewhere: ClassVar[Mapping[str, str]] = {}
    """Names of other groups' subcommands, and how they are spelled in full: for hints."""

    _names_only = False

    def _line(self, name: str) -> str | None:
        return next((lines[name] for lines in self.sections.values() if name in lines), None)

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, in the order of the help."""
        return [name for lines in self.sections.values() for name in lines]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a subcommand."""
        line = self._line(cmd_name)
        if line is None:
            return None
        if self._names_only:
            return TyperCommand(cmd_name, help=line)
        command = get_command(importlib.import_module(f"{self.package}.{cmd_name.replace('-', '_')}").app)
        command.name = cmd_name
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """A subcommand and its arguments; for a name that is none, the nearest ones."""
        if args and self._line(args[0]) is None and not args[0].startswith("-"):
            known = {name: name for name in self.list_commands(ctx)} | dict(self.elsewhere)
            hint = did_you_mean(args[0], known) or ""
            for name, full in self.elsewhere.items():
                hint = hint.replace(repr(name), repr(full))
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
        """The subcommands, a section after another, in columns that line up."""
        width = max(len(name) for name in self.list_commands(ctx))
        for heading, lines in self.sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), line) for name, line in lines.items()])
