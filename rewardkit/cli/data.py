"""`rewardkit data`: problems from any source as the parquet that verl reads, and a check of such files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rewardkit.cli import PLAIN

app = typer.Typer(no_args_is_help=True, **PLAIN)


@app.callback()
def data() -> None:
    """Write data sets as verl's parquet, every row checked on the way; check files against a formula."""


@app.command()
def gsm8k(
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="FILE|HUB_ID|reasoning-gym:DATASET",
            help="JSON lines or parquet with question and answer, a hub's data set, or a generator.",
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
    from rewardkit.cli._console import echo
    from rewardkit.data.convert import convert

    written = convert(source, out, split=split, limit=limit)
    for note in written.notes:
        echo(f"warning: {note}", err=True)
    for path, rows in written.files.items():
        echo(f"{path}: {rows} rows")


@app.command()
def check(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="JSON lines or parquet, a file, a pipe or -: ground_truth, reward_model.ground_truth or gts; "
            "data_source, extra_info.",
            show_default=False,
        ),
    ],
    reward: Annotated[
        str,
        typer.Option(
            metavar="FORMULA|FILE.py[:NAME]|NAME",
            help="What the rows will be graded by: a formula, a variable of a Python file, or a ready-made reward.",
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line, with row and term.")] = False,
) -> None:
    """Rows whose ground truth the formula can't grade, and rows that no route of it takes.

    One line for each on standard output, in the order of the rows; the number of rows on standard error. Exit code 1
    if there is any. The file is streamed: memory doesn't grow with it.
    """
    import json

    from rewardkit.cli._diagnostics import line
    from rewardkit.cli._printable import printable
    from rewardkit.cli._streams import prints_to_stderr
    from rewardkit.data.check import RowDiagnostic, check_file
    from rewardkit.engine.loading import load_reward

    with prints_to_stderr() as out:

        def show(d: RowDiagnostic) -> None:
            typer.echo(json.dumps(d.as_dict()) if as_json else printable(line(d)), file=out)

        checked = check_file(load_reward(reward).reward, data, show)
    verdict = f"{checked.faulty:,} can't be scored" if checked.faulty else "all can be scored"
    typer.echo(f"{checked.rows:,} rows, {verdict}", err=True)
    if checked.faulty:
        raise typer.Exit(1)
