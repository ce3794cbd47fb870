"""`rewardkit config schema`: the keys of a config, what may stand there, and what they mean."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rewardkit.cli import PLAIN
from rewardkit.cli._parameters import AsJson

app = typer.Typer(**PLAIN)


@app.command()
def schema(
    field: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="Only this key: any dotted key of verl's config.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the keys that users set: types, defaults, meanings. Any other key of verl's is shown by --field."""
    from rewardkit.cli._console import console, show_json
    from rewardkit.cli._glue import glue

    module = glue("config.describe", "config schema")
    described = module.describe_settings() if field is None else module.describe(field)
    if as_json:
        show_json([d.as_dict() for d in described] if field is None else described.as_dict())
        return
    out = console()
    if field is not None:
        _show_one(out, described)
        return
    section = ""
    for one in described:
        above, _, name = one.key.rpartition(".")
        if above != section:
            section = above
            out.print(f"\n{section}", style="bold", markup=False)
        out.print(_line(one, name))


def _line(one: Any, name: str) -> Any:
    from rich.text import Text

    facts = "; ".join(part for part in (one.types, one.expected, f"default {_shown(one.default)}") if part)
    return Text.assemble((f"  {name}", "green"), f": {one.about} ", (f"({facts})", "dim"))


def _show_one(out: Any, one: Any) -> None:
    from rich.text import Text

    facts = {
        "type": one.types,
        "expected": one.expected,
        "default": None if one.below else _shown(one.default),
        "meaning": one.about,
        "verl says": one.verl,
        "below": ", ".join(one.below),
    }
    out.print(Text(one.key, style="bold"))
    for name, text in facts.items():
        if text:
            out.print(Text.assemble((f"{name:<10}", "dim"), text))


def _shown(value: Any) -> str:
    import json

    return "must be set" if value == "???" else value if isinstance(value, str) else json.dumps(value)
