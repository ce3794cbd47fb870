"""`rewardkit config verl-args`: a reward for a verl launch script that is there already."""

from __future__ import annotations

from typing import Annotated

import typer

from rewardkit.cli import PLAIN
from rewardkit.cli._parameters import Reward

app = typer.Typer(**PLAIN)


@app.command()
def verl_args(
    reward: Reward,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON, not quoted for a shell.")] = False,
) -> None:
    """Print the arguments that let a reward pay a run of `python -m verl.trainer.main_ppo`: paste them behind it.

    A file's text travels in the arguments. rewardkit has to be installed where verl is.
    """
    from rewardkit.cli._console import show_json
    from rewardkit.cli._glue import glue
    from rewardkit.engine.loading import load_reward

    module = glue("config.arguments", "config verl-args")
    arguments = module.reward_arguments(load_reward(reward))
    if as_json:
        show_json([{"key": a.key, "value": a.value, "override": str(a)} for a in arguments])
    else:
        typer.echo(module.quoted_lines([str(a) for a in arguments]))
