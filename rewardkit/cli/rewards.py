"""`rewardkit rewards`: the ready-made ones."""

from __future__ import annotations

import ast

import typer

from rewardkit.cli import PLAIN
from rewardkit.cli._parameters import AsJson

app = typer.Typer(**PLAIN)


@app.command()
def rewards(as_json: AsJson = False) -> None:
    """List the ready-made rewards: each name can stand wherever a reward is asked for."""
    from rewardkit.cli._console import console, show_json
    from rewardkit.engine.loading import load_reward, ready_made

    described = []
    for name, path in ready_made().items():
        reward = load_reward(name)
        doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        described.append(
            {
                "name": name,
                "formula": reward.formula,
                "fingerprint": reward.fingerprint,
                "summary": doc.split("\n", 1)[0],
                "file": str(path),
            }
        )
    if as_json:
        show_json(described)
        return
    from rich.padding import Padding
    from rich.text import Text

    from rewardkit.cli._console import plain

    out = console()
    for reward_ in described:
        out.print(Text(reward_["name"], style="bold"))
        for line in (reward_["formula"], plain(reward_["summary"])):
            out.print(Padding(Text(line), (0, 0, 0, 4), expand=False))
    out.print(Text("\n`rewardkit explain NAME` shows one; `rewardkit train --reward NAME` trains with it."))
