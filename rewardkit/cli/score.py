"""`rewardkit score`: a formula over a file of responses."""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from rewardkit.cli import PLAIN
from rewardkit.cli._choices import OnBadRow
from rewardkit.cli._parameters import Reward, Step, Tokenizer
from rewardkit.errors import ConfigError, MissingDependencyError

app = typer.Typer(**PLAIN)
_SHOWN = 20
"""Skipped rows that are listed without --json."""


class Engine(StrEnum):
    """Where the terms run."""

    LOCAL = "local"
    RAY = "ray"


@app.command(no_args_is_help=True)
def score(
    reward: Reward,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="JSON lines or parquet, plain or compressed (gzip, zstd), a pipe or - for standard input, a folder of "
            "such files, or a pattern in quotes: response, and as the formula "
            "needs ground_truth, prompt, data_source, group, extra_info, truncated, tokens; verl's responses or "
            "output, reward_model.ground_truth or gts, input, uid.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where to write, whole or not at all; parquet if its name ends so (default, and -: standard output).",
            show_default=False,
        ),
    ] = None,
    step: Step = None,
    tokenizer: Tokenizer = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Only the first N rows (a group that is begun is finished).", show_default=False
        ),
    ] = None,
    engine: Annotated[
        Engine,
        typer.Option(
            help="Where to score: in this process, or over Ray Data, on the cluster that RAY_ADDRESS names or else on "
            "this machine's cores."
        ),
    ] = Engine.LOCAL,
    on_bad_row: Annotated[
        OnBadRow,
        typer.Option(
            help="A row that can't be read, or lacks what the formula needs: write nothing and name it, or leave it "
            "out and list it at the end."
        ),
    ] = OnBadRow.STOP,
    profile: Annotated[
        bool,
        typer.Option("--profile", help="Say where the time went: each stage, and each term by the rows it ran on."),
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="The summary as JSON, on standard output if --out is given, else on standard error."
        ),
    ] = False,
) -> None:
    """Score every row of a file: one JSON object a row, in order, with score, total_status, terms and status.

    Rows are read, scored and written in chunks, so memory doesn't grow with the file. If the formula compares the
    responses of a prompt, rows of one group must stand together, in one file. Both engines write the same.

    Exit codes: 0 scored, with rows skipped on demand too; 2 a bad row, or wrong use; nothing is written then.
    """
    from rewardkit.cli._console import progress_bar
    from rewardkit.cli._streams import names_stdout, prints_to_stderr
    from rewardkit.cli._writing import check_target
    from rewardkit.engine.loading import load_reward, reward_file
    from rewardkit.engine.program import compile as compile_reward
    from rewardkit.scoring import Profile
    from rewardkit.scoring.files import data_files, gather, local_parts
    from rewardkit.scoring.tokens import encoding_by

    out = None if names_stdout(out) else out
    files = data_files(data)
    check_target(out, [*files, reward_file(reward)])
    bar = progress_bar("score", shown=out is not None or not sys.stdout.isatty())
    if engine is Engine.RAY and tokenizer is not None:
        raise ConfigError("--tokenizer works in this process only", hint="leave --engine ray out")
    with prints_to_stderr() as rows, encoding_by(tokenizer):
        source = load_reward(reward)
        program = compile_reward(source.reward)
        render, target = _target(out, rows, program.names)
        skips = on_bad_row is OnBadRow.SKIP
        if engine is Engine.RAY:
            parts = _ray().ray_parts(source, files, render, step=step, limit=limit, skip_bad=skips)
        else:
            parts = local_parts(program, files, render, step=step, limit=limit, skip_bad=skips)
        times = Profile(program)
        with bar as progress, target as write:
            tally = gather(parts, files, data, write, progress=progress, profile=times)
    if as_json:
        summary = {**tally.as_dict(), **({"profile": times.as_dict()} if profile else {})}
        typer.echo(json.dumps(summary), err=out is None)
        return
    _show(tally)
    if profile:
        _show_profile(times)


def _target(
    out: Path | None, rows: TextIO, names: Sequence[str]
) -> tuple[Callable[..., Any], AbstractContextManager[Callable[[Any], object]]]:
    """What makes something of scored rows, and what takes that."""
    from rewardkit.scoring.tables import Tables, whole_parquet
    from rewardkit.scoring.writing import Lines, whole_file

    if out is None:
        return Lines(names), contextlib.nullcontext(rows.write)
    if out.suffix == ".parquet":
        return Tables(names), whole_parquet(out)
    return Lines(names), whole_file(out)


def _ray() -> Any:
    """The engine on Ray, imported by name: this package never depends on it.

    Raises:
        MissingDependencyError: Ray, or what its data sets need, is not installed.
    """
    try:
        return importlib.import_module("trainer_glue.engines.ray_data")
    except ModuleNotFoundError as e:
        if e.name is None or e.name.partition(".")[0] in ("rewardkit", "trainer_glue"):
            raise
        raise MissingDependencyError(
            f"--engine ray needs Ray Data; {e.name} is not installed", hint="pip install 'rewardkit-rl[ray]'"
        ) from e


def _show(tally: Any) -> None:
    from rich.table import Table
    from rich.text import Text

    from rewardkit.cli._console import console

    out = console(err=True)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("", "mean", "std", "min", "max", "status"):
        table.add_column(heading, justify="left" if heading in ("", "status") else "right", overflow="fold")
    for name, moments in {"total": tally.total, **tally.terms}.items():
        numbers = [moments.mean, moments.std, moments.low, moments.high]
        cells = [f"{x:.4g}" for x in numbers] if moments.count else ["-"] * 4
        shares = ", ".join(f"{status} {share:.1%}" for status, share in moments.shares().items())
        table.add_row(Text(name), *cells, shares)
    out.print(Text(f"{tally.rows:,} rows, {tally.unscored:.1%} unscored"))
    out.print(table)
    if tally.first_reason is not None:
        out.print(Text(f"first unscored row: {tally.first_reason}"))
    if tally.skipped:
        out.print(Text(f"{tally.skipped:,} bad {'row was' if tally.skipped == 1 else 'rows were'} skipped:"))
        for row in tally.listed[:_SHOWN]:
            out.print(Text(f"  {row}"))
        if tally.skipped > _SHOWN:
            out.print(Text(f"  and {tally.skipped - _SHOWN:,} more; --json lists them"))


def _show_profile(times: Any) -> None:
    from rich.table import Table
    from rich.text import Text

    from rewardkit.cli._console import console

    total = sum(times.stages.values()) or 1.0
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("", "seconds", "share", "rows", "ran on", "us/row"):
        table.add_column(heading, justify="left" if not heading else "right")
    for stage, seconds in times.stages.items():
        table.add_row(Text(stage), f"{seconds:.2f}", f"{seconds / total:.0%}", "", "", "")
        if stage == "terms":
            for name, cost in sorted(times.terms.items(), key=lambda item: -item[1].seconds):
                each = f"{cost.seconds / cost.ran * 1e6:.1f}" if cost.ran else "-"
                share, counts = f"{cost.seconds / total:.0%}", (f"{cost.asked:,}", f"{cost.ran:,}")
                table.add_row(Text(f"  {name}"), f"{cost.seconds:.2f}", share, *counts, each)
    console(err=True).print(table)
