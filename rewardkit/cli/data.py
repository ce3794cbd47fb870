"""`rewardkit data`: problems from a file, a hub or a generator, as the parquet that verl reads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rewardkit.cli import PLAIN

app = typer.Typer(no_args_is_help=True, **PLAIN)


@app.callback()
def data() -> None:
    """Write data sets as verl's parquet, every row checked on the way."""


@app.command()
def gsm8k(
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="FILE.jsonl|HUB_ID|reasoning-gym:DATASET",
            help="JSON lines with question and answer, a hub's data set, or a generator.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for train.parquet, test.parquet.")],
    split: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only this split; for a file, the one it is (default: by its name)."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="At most N rows a split.")] = None,
) -> None:
    """Problems in GSM8K form: a question, and an answer that ends in `#### NUMBER`."""
    from rewardkit.data.convert import convert

    written = convert(source, out, split=split, limit=limit)
    for note in written.notes:
        typer.echo(f"warning: {note}", err=True)
    for path, rows in written.files.items():
        typer.echo(f"{path}: {rows} rows")
