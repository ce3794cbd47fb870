"""`rewardkit data`: problems from any source as the parquet that verl reads, and a check of such files."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from rewardkit.cli import PLAIN
from rewardkit.cli._choices import OnBadRow
from rewardkit.data.known import KNOWN

app = typer.Typer(no_args_is_help=True, **PLAIN)


@app.callback()
def data() -> None:
    """Write data sets as verl's parquet, every row checked on the way; check files against a formula."""


From = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="FILE|HUB_ID|reasoning-gym:DATASET",
        help="JSON lines, a JSON array, parquet, Arrow or CSV; a hub's data set; or a generator.",
    ),
]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Folder for train.parquet, test.parquet.")]
Split = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Only this split; for a file, the one it is (default: by its name)."),
]
Limit = Annotated[int | None, typer.Option(min=1, metavar="N", help="At most N rows a split.")]
Label = Annotated[
    str | None,
    typer.Option("--data-source", metavar="NAME", help="The label of the rows, by which a `route` tells sets apart."),
]
Bad = Annotated[
    OnBadRow,
    typer.Option(
        "--on-bad-row", help="A row that is not usable: write nothing and name it, or leave it out and say so."
    ),
]


def _write(source: str, out: Path, bad: OnBadRow, **options: Any) -> None:
    from rewardkit.cli._console import echo
    from rewardkit.data.convert import convert

    written = convert(source, out, skip_bad=bad is OnBadRow.SKIP, **options)
    for note in written.notes:
        echo(f"warning: {note}", err=True)
    for path, rows in written.files.items():
        echo(f"{path}: {rows} rows")


@app.command("from")
def from_columns(
    source: Annotated[
        str, typer.Argument(metavar="FILE|HUB_ID", help="The rows, as for --from of the others.", show_default=False)
    ],
    out: Out,
    prompt: Annotated[str, typer.Option(metavar="COLUMN", help="What is asked: text, or chat messages.")] = "prompt",
    ground_truth: Annotated[
        str, typer.Option(metavar="COLUMN", help="What a response is graded against; a.b reaches into an object.")
    ] = "ground_truth",
    data_source: Label = None,
    template: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Text around the prompt, which takes the place of {prompt}.")
    ] = None,
    system: Annotated[str | None, typer.Option(metavar="TEXT", help="A system message before each prompt.")] = None,
    extra: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="A column to keep in extra_info; may be repeated.")
    ] = None,
    reward: Annotated[
        str | None,
        typer.Option(metavar="FORMULA|FILE.py[:NAME]|NAME", help="What must be able to grade every ground truth."),
    ] = None,
    split: Split = None,
    limit: Limit = None,
    on_bad_row: Bad = OnBadRow.STOP,
) -> None:
    """Rows of any form, by the names of their columns.

    rewardkit data from qa.csv --prompt question --ground-truth answer --out data
    """
    from rewardkit.data.shapes.columns import columns
    from rewardkit.engine.loading import load_reward

    shape = columns(
        prompt,
        ground_truth,
        data_source=data_source or Path(source).name.partition(".")[0] or "data",
        template=template,
        system=system,
        extra=extra or (),
    )
    grading = None if reward is None else load_reward(reward).reward
    _write(source, out, on_bad_row, shape=shape, reward=grading, data_source=data_source, split=split, limit=limit)


def _named(name: str) -> None:
    def command(
        source: From,
        out: Out,
        data_source: Label = None,
        split: Split = None,
        limit: Limit = None,
        on_bad_row: Bad = OnBadRow.STOP,
    ) -> None:
        from rewardkit.data.shapes import SHAPES

        _write(source, out, on_bad_row, shape=SHAPES[name], data_source=data_source, split=split, limit=limit)

    app.command(name, help=KNOWN[name])(command)


@app.command("bfcl", help=KNOWN["bfcl"])
def bfcl(
    source: From,
    out: Out,
    answers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The accepted answers by `id`, where the rows don't have them themselves."),
    ] = None,
    data_source: Label = None,
    split: Split = None,
    limit: Limit = None,
    on_bad_row: Bad = OnBadRow.STOP,
) -> None:
    """As `KNOWN` says, with the accepted answers from a file of their own."""
    from rewardkit.data.shapes.tools import BFCL, accepted, with_answers

    prepare = None if answers is None else partial(with_answers, answers=accepted(answers))
    _write(
        source,
        out,
        on_bad_row,
        shape=BFCL,
        data_source=data_source,
        split=split,
        limit=limit,
        prepare=prepare,
    )


for _name in KNOWN:
    if _name != "bfcl":
        _named(_name)


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

    One line for each on standard output, in the order of the rows, then what is wrong with the file as a whole:
    prompts that are all empty, `reward_model` as text, rows that repeat others or contradict them. The number of rows
    is on standard error. Exit code 1 if there is any error. The file is streamed: of each row a hash is kept.
    """
    import json

    from rewardkit.cli._diagnostics import line
    from rewardkit.cli._printable import printable
    from rewardkit.cli._streams import prints_to_stderr
    from rewardkit.data.check import check_file
    from rewardkit.diagnostics import Diagnostic, Severity
    from rewardkit.engine.loading import load_reward

    with prints_to_stderr() as out:
        errors: list[Diagnostic] = []

        def show(d: Diagnostic) -> None:
            if d.severity is Severity.ERROR:
                errors[:] = [d]
            typer.echo(json.dumps(d.as_dict()) if as_json else printable(line(d)), file=out)

        checked = check_file(load_reward(reward).reward, data, show, whole=show)
    verdict = f"{checked.faulty:,} can't be scored" if checked.faulty else "all can be scored"
    typer.echo(f"{checked.rows:,} rows, {verdict}", err=True)
    if errors:
        raise typer.Exit(1)
