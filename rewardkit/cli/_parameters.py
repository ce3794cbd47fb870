"""Arguments and options that several subcommands take, each said once."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from rewardkit.cli._completing import recipe_names

REWARD: Final = "FORMULA|FILE.py[:NAME]|NAME"
"""How a reward is named."""

Reward = Annotated[
    str,
    typer.Argument(
        metavar=REWARD, help="A formula, a variable of a Python file, or a ready-made reward.", show_default=False
    ),
]
RunReward = Annotated[
    str | None,
    typer.Option(
        "--reward",
        metavar=REWARD,
        help="What pays the run, over the config's own: a formula, a Python file's variable, or a ready-made reward.",
        show_default=False,
    ),
]
Config = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[CONFIG.yaml|RECIPE] [KEY=VALUE]",
        help="A config file or a recipe's name (default: tiny), then keys of verl's config.",
        show_default=False,
        autocompletion=recipe_names,
    ),
]
Step = Annotated[
    int | None,
    typer.Option(
        min=0, metavar="N", help="The training step, for schedules (default: their first value).", show_default=False
    ),
]
Tokenizer = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="Encodes rows that hold text only, such as verl's dumps: a model's folder, or its name on the hub.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print as JSON.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that is there.")]
