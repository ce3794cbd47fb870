"""`rewardkit config`: what can be done with a config of verl's beside running it; one module a subcommand."""

from __future__ import annotations

from typing import Final

import typer

from rewardkit.cli import PLAIN
from rewardkit.cli._lazy import LazyGroup

LINES: Final = {
    "recipes": "List the recipes; copy one to a file.",
    "validate": "Find everything that is wrong with a config, at once.",
    "schema": "Show the keys of a config: types, defaults, meanings.",
    "migrate": "Rewrite a config of an older verl for today's.",
    "verl-args": "Print a reward as arguments for a verl script of yours.",
}
"""Every subcommand and its line in the help."""


class _Group(LazyGroup):
    package = __name__
    sections = {"Commands": LINES}  # noqa: RUF012 - a class variable of LazyGroup's


app = typer.Typer(cls=_Group, no_args_is_help=True, **PLAIN)


@app.callback()
def config() -> None:
    """Start from a recipe; check a config, look up its keys, bring an old one up to date."""
