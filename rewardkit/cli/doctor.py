"""`rewardkit doctor`: what would make a run fail, or teach nothing, before it starts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rewardkit.cli import PLAIN
from rewardkit.cli._glue import glue
from rewardkit.cli._parameters import AsJson, Config, RunReward
from rewardkit.cli.train import split

app = typer.Typer(**PLAIN)


@app.command()
def doctor(
    arguments: Config = None,
    reward: RunReward = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Scores of several responses to each prompt, as `rewardkit score` writes them, with `group`: show the "
            "share of groups that would teach nothing.",
            show_default=False,
        ),
    ] = None,
    gpu_memory: Annotated[
        float | None,
        typer.Option(
            min=1,
            metavar="GB",
            help="Memory of a GPU of the run, for a run on another machine (default: this machine's, else 80).",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a run before it starts: versions, GPUs, memory, sampling, steps, data, the formula, the disk.

    Nothing is written or started. Exit code 2 if there is an error. What a code means: docs/doctor.md.
    """
    source, overrides = split(arguments or [])
    diagnose = glue("preflight.report", "doctor").diagnose
    report = diagnose(source, overrides, reward=reward, scores=scores, gpu=gpu_memory)
    if as_json:
        from rewardkit.cli._console import show_json

        show_json(report.as_dict())
    else:
        _show(report)
    if report.errors:
        raise typer.Exit(2)


def _show(report: Any) -> None:
    from rich.text import Text

    from rewardkit.cli._console import console
    from rewardkit.cli._diagnostics import counts, show_diagnostics

    out = console()
    show_diagnostics(out, report.diagnostics)
    if report.diagnostics:
        out.print()
    for line in report.memory:
        out.print(Text(line))
    if report.memory:
        out.print()
    out.print(Text(f"{report.name}: {counts(report.diagnostics)}"))
