"""`rewardkit serve`: a formula behind HTTP."""

from __future__ import annotations

import importlib
from typing import Annotated

import typer

from rewardkit.cli import PLAIN
from rewardkit.errors import MissingDependencyError

app = typer.Typer(**PLAIN)


@app.command(no_args_is_help=True)
def serve(
    reward: Annotated[
        str,
        typer.Argument(
            metavar="FORMULA|FILE.py[:NAME]|NAME",
            help="A formula, a variable of a Python file, or a ready-made reward.",
            show_default=False,
        ),
    ],
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for any free one.")] = 8200,
) -> None:
    """Score rows that come by HTTP: POST /score with {"rows": [...]} as in a file for `rewardkit score`.

    GET /health names the formula. SIGHUP reads the reward again and restarts without losing a request; where the new
    one doesn't load, the old one goes on. SIGTERM answers what has come and ends. There is no authentication: listen
    where only your trainers reach it.
    """
    from rewardkit.engine.loading import load_reward
    from rewardkit.engine.program import compile as compile_reward

    compile_reward(load_reward(reward).reward)  # a mistake shows here, before any port is taken
    try:
        importlib.import_module("trainer_glue.server.app")
    except ModuleNotFoundError as e:
        if e.name not in ("fastapi", "starlette"):
            raise
        raise MissingDependencyError(
            f"serving needs fastapi and uvicorn; {e.name} is not installed", hint="pip install 'rewardkit-rl[serve]'"
        ) from e
    importlib.import_module("trainer_glue.server.serving").Parent(reward, host, port).run()
