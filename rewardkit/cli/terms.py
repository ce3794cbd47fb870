"""`rewardkit terms`: what a formula can be made of."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rewardkit.cli import PLAIN
from rewardkit.cli._completing import term_names
from rewardkit.cli._parameters import AsJson

app = typer.Typer(**PLAIN)


@app.command()
def terms(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="One term or function, in full.", show_default=False, autocompletion=term_names
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the vocabulary: parameters, bounds, needs, cost, and what each is for."""
    from rewardkit.analysis.vocabulary import describe, describe_vocabulary
    from rewardkit.cli._console import show_json

    if name is None:
        vocabulary = describe_vocabulary()
        if as_json:
            show_json(vocabulary)
        else:
            _list(vocabulary)
        return
    entry = describe(name)
    if as_json:
        show_json(entry)
    else:
        _one(entry)


def _list(entries: list[dict[str, Any]]) -> None:
    from rich.padding import Padding

    from rewardkit.cli._console import console, plain

    out = console()
    for e in entries:
        bounds, needs = _declared(e)
        out.print(_text(e["signature"], "bold"))
        for line in (plain(e["summary"]), f"{e['kind']} {bounds}; needs {needs}; {e['cost']}"):
            out.print(Padding(_text(line), (0, 0, 0, 4), expand=False))
    out.print(_text("\nBounds are those at the defaults. `rewardkit terms NAME` says all of one."))


def _one(entry: dict[str, Any]) -> None:
    from rich.table import Table

    from rewardkit.cli._console import console, plain

    out = console()
    out.print(_text(f"{entry['signature']} -> {entry['kind']}", "bold"))
    bounds, needs = _declared(entry)
    out.print(_text(f"bounds {bounds}; needs {needs}; {entry['cost']}\n"))
    if entry["parameters"]:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for heading in ("parameter", "type", "default"):
            table.add_column(heading, overflow="fold")
        for p in entry["parameters"]:
            default = repr(p["default"]) if "default" in p else "(required)" if p["required"] else ""
            table.add_row(_text(p["name"]), _text(p["type"]), _text(default))
        out.print(table)
        out.print()
    out.print(_text(plain(entry["doc"])))


def _declared(entry: dict[str, Any]) -> tuple[str, str]:
    from rewardkit.analysis.vocabulary import interval_text

    bounds = "by its parameters" if entry["bounds"] is None else interval_text(entry["bounds"])
    if entry["kind"] == "function":
        bounds = "by its operands"
    needs = "by its parameters" if entry["needs"] is None else ", ".join(entry["needs"]) or "-"
    return bounds, f"{needs} (and {', '.join(entry['reads'])} where given)" if entry["reads"] else needs


def _text(text: str, style: str = "") -> Any:
    """Text as it is: brackets in it are not markup."""
    from rich.text import Text

    return Text(text, style=style)
