"""`rewardkit config validate`: everything that is wrong with a config, at once."""

from __future__ import annotations

from typing import Annotated

import typer

from rewardkit.cli import PLAIN
from rewardkit.cli._completing import recipe_names
from rewardkit.cli._parameters import AsJson, RunReward
from rewardkit.cli.train import split

app = typer.Typer(**PLAIN)


@app.command()
def validate(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="CONFIG.yaml|RECIPE [KEY=VALUE]",
            help="A config file or a recipe's name, then keys of verl's config.",
            show_default=False,
            autocompletion=recipe_names,
        ),
    ],
    reward: RunReward = None,
    no_verl: Annotated[bool, typer.Option("--no-verl", help="Leave out verl's own checks: they take seconds.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check a config against the installed verl: keys, types, values, batches, and verl's own validation.

    Needs no GPU and no model; `rewardkit doctor` looks at those. A data file that isn't there is an error.

    Exit code 2 if there is an error.
    """
    from rewardkit.cli._console import console, show_json
    from rewardkit.cli._diagnostics import counts, show_diagnostics
    from rewardkit.cli._glue import glue

    source, overrides = split(arguments)
    validation = glue("config.validation", "config validate").validate(
        source, overrides, reward=reward, ask_verl=not no_verl, need_data=True
    )
    if as_json:
        valid = {"config": source, "valid": not validation.errors, "asked_verl": validation.asked_verl}
        show_json({**valid, "diagnostics": validation.as_dicts()})
    else:
        out = console()
        show_diagnostics(out, validation.diagnostics)
        asked = "" if validation.asked_verl else "; verl's own checks did not run"
        out.print(f"{source or 'the config'}: {counts(validation.diagnostics)}{asked}")
    if validation.errors:
        dead = next((f.file for f in validation.errors if f.code == "dead-key" and f.file), None)
        if dead is not None:
            typer.echo(f"rewardkit config migrate {dead} --out NEW.yaml writes it anew for today's verl", err=True)
        raise typer.Exit(2)
