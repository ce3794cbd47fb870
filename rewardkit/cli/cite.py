"""`rewardkit cite`: a BibTeX entry for the version that is installed."""

from __future__ import annotations

from typing import Final

import typer

from rewardkit.cli import PLAIN
from rewardkit.version import __version__

app = typer.Typer(**PLAIN)

TITLE: Final = "rewardkit: rewards for language models as formulas that are checked before a run"
AUTHORS: Final = "The rewardkit authors"
YEAR: Final = 2026


@app.command()
def cite() -> None:
    """Print a BibTeX entry that names the installed version. With a formula's fingerprint it says what paid a run."""
    typer.echo(entry())


def entry() -> str:
    """The entry."""
    return "\n".join(
        [
            "@software{rewardkit,",
            f"  author  = {{{{{AUTHORS}}}}},",
            f"  title   = {{{{{TITLE}}}}},",
            f"  version = {{{__version__}}},",
            f"  year    = {{{YEAR}}},",
            "  note    = {Python package rewardkit-rl, Apache-2.0}",
            "}",
        ]
    )
