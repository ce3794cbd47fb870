"""`rewardkit config recipes`: complete configs to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rewardkit.cli import PLAIN
from rewardkit.cli._completing import recipe_names
from rewardkit.cli._parameters import AsJson, Force

app = typer.Typer(invoke_without_command=True, **PLAIN)


@app.callback()
def recipes(context: typer.Context, as_json: AsJson = False) -> None:
    """List the recipes: each is a whole config, and `rewardkit train NAME` runs it."""
    if context.invoked_subcommand is not None:
        return
    from rich.padding import Padding
    from rich.text import Text

    from rewardkit.cli._console import console, show_json
    from rewardkit.cli._glue import glue

    known = glue("config.recipes", "config recipes").recipes()
    if as_json:
        show_json([{"name": r.name, "summary": r.summary, "file": str(r.path)} for r in known])
        return
    out = console()
    for recipe in known:
        out.print(Text(recipe.name, style="bold"))
        out.print(Padding(Text(recipe.summary), (0, 0, 0, 4), expand=False))
    out.print(Text("\n`rewardkit config recipes copy NAME` writes one to a file; `rewardkit train NAME` runs it."))


@app.command()
def copy(
    name: Annotated[str, typer.Argument(help="The recipe's name.", show_default=False, autocompletion=recipe_names)],
    to: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where it goes (default: NAME.yaml).", show_default=False)
    ] = None,
    force: Force = False,
) -> None:
    """Write a recipe to a file of your own."""
    from rewardkit.cli._glue import glue
    from rewardkit.cli._writing import check_target, write_new

    recipe = glue("config.recipes", "config recipes").recipe(name)
    path = to if to is not None else Path(f"{recipe.name}.yaml")
    check_target(path, [recipe.path], "--to")
    write_new(path, recipe.path.read_text(encoding="utf-8"), force=force)
    typer.echo(f"{path}: rewardkit config validate {path} checks it, rewardkit train {path} runs it")
