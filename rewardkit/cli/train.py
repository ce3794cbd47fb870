"""`rewardkit train`: a verl run, paid by a formula."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from rewardkit.cli import PLAIN
from rewardkit.cli._glue import glue
from rewardkit.cli._parameters import Config, RunReward
from rewardkit.errors import ConfigError

app = typer.Typer(**PLAIN)


@app.command()
def train(
    arguments: Config = None,
    reward: RunReward = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The run's folder (default: runs/NAME of the recipe or file).")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print verl's command and config; start and write nothing.")
    ] = False,
    export: Annotated[
        bool, typer.Option("--export", help="At the end, write the last checkpoint as a Hugging Face model.")
    ] = False,
) -> None:
    """Train a model with verl, paid by a formula.

    The same command again goes on from the last checkpoint of the run in its folder.
    """
    source, overrides = split(arguments or [])
    plan = glue("launch.plan", "train").make_plan(source, overrides, reward=reward, out=out, dry_run=dry_run)
    if dry_run:
        typer.echo(describe(plan))
        return
    from rewardkit.cli._console import console

    launch = glue("launch.run", "train")
    try:
        launch.Run(plan, console(), ("rewardkit", *sys.argv[1:]), exports=export).run()
    except launch.Terminated as e:
        raise typer.Exit(128 + e.number) from None


def split(arguments: list[str]) -> tuple[str | None, list[str]]:
    """The config or recipe, and the `key=value` arguments behind it.

    Raises:
        ConfigError: an argument that is neither.
    """
    first = arguments[0] if arguments and not _is_override(arguments[0]) else None
    overrides = arguments[first is not None :]
    for text in overrides:
        if not _is_override(text):
            raise ConfigError(
                f"{text!r} is not key=value", hint="one config file or recipe comes first, then keys of verl's config"
            )
    return first, overrides


def describe(plan: Any) -> str:
    """What a plan would do: comments, then verl's config, so that the whole is a config file."""
    lines = ["nothing was written or started", "", f"the config below goes to {plan.folder.config}, then:", ""]
    lines += [plan.verl.shell(), ""]
    if not plan.resolved.accelerator:
        lines += ["(CUDA_VISIBLE_DEVICES names devices that are nowhere: Ray counts them, and torch sees none)", ""]
    lines += ["or, by hand and without that file:", "", *plan.verl.by_hand(plan.resolved.groups).splitlines(), ""]
    lines += [f"warning: {line}" for note in plan.notes for line in note.splitlines()]
    lines += [f"the reward: {plan.resolved.reward.formula}", f"its fingerprint: {plan.resolved.reward.fingerprint}"]
    return "\n".join([*(f"# {line}".rstrip() for line in lines), plan.verl.text])


def _is_override(text: str) -> bool:
    return text.startswith("~") or "=" in text
