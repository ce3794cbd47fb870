"""`rewardkit explain`: a formula's tree, what can be said of it now, and what it makes of one row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from rewardkit.cli import PLAIN
from rewardkit.cli._parameters import AsJson, Reward, Step, Tokenizer
from rewardkit.errors import DataError

app = typer.Typer(**PLAIN)


@app.command()
def explain(
    reward: Reward,
    on: Annotated[
        Path | None,
        typer.Option(
            metavar="ROW.json",
            help="One row, as `rewardkit score` reads it: show its value and status at every node. With `tokens` (and "
            "`token_texts`) it shows where the reward stands.",
            show_default=False,
        ),
    ] = None,
    step: Step = None,
    tokenizer: Tokenizer = None,
    as_json: AsJson = False,
) -> None:
    """Show a formula's tree with kinds, bounds and directions, and what can be found in it before it scores anything.

    ↑ marks a node that raises the total where it rises, ↓ one that lowers it, ↕ one that does either.
    """
    from rewardkit.cli._console import show_json
    from rewardkit.cli._streams import prints_to_stderr
    from rewardkit.engine.loading import load_reward
    from rewardkit.engine.program import compile as compile_reward
    from rewardkit.scoring.tokens import encoding_by

    with prints_to_stderr(), encoding_by(tokenizer):
        program = compile_reward(load_reward(reward).reward)
        if on is None:
            from rewardkit.analysis.explanation import explain as explain_formula

            explanation = explain_formula(program)
        else:
            explanation = _on_row(program, on, step)
    if as_json:
        show_json(explanation)
    else:
        _show(explanation)


def _on_row(program: Any, path: Path, step: int | None) -> dict[str, Any]:
    import numpy as np

    from rewardkit.analysis.explanation import explain_row
    from rewardkit.errors import BadRow
    from rewardkit.scoring.run import batch_of

    row = _read(path)
    texts = row.get("token_texts")
    try:
        batch = batch_of(row, program, step=step)
    except BadRow as why:
        raise DataError(f"{path}: {why}") from None
    token_ends = None
    if texts is not None:
        if not isinstance(texts, list) or batch.tokens is None or len(texts) != len(batch.tokens[0]):
            raise DataError(f"{path}: `token_texts` stands beside `tokens`, one text a token")
        if "".join(map(str, texts)) != batch.responses[0]:
            raise DataError(f"{path}: `token_texts` joined are not the `response`")
        offsets = np.cumsum([len(t) for t in texts])
        token_ends = lambda i: offsets  # noqa: E731
    return explain_row(program, batch, token_ends, texts)


def _read(path: Path) -> dict[str, Any]:
    try:
        row = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise DataError(f"--on: no file {path}") from None
    except OSError as e:
        raise DataError(f"--on {path} can't be read: {e.strerror}") from e
    except (ValueError, RecursionError) as e:
        raise DataError(f"--on {path} is not JSON: {e}", hint="one row: an object with `response`") from None
    if not isinstance(row, dict):
        raise DataError(f"--on {path} is a JSON {type(row).__name__}; expected one row, an object with `response`")
    return row


def _show(explanation: dict[str, Any]) -> None:
    from rich.text import Text

    from rewardkit.analysis.diagnostics import FormulaDiagnostic
    from rewardkit.analysis.vocabulary import interval_text
    from rewardkit.cli._console import console
    from rewardkit.cli._diagnostics import show_diagnostics

    out = console()
    out.print(_tree(explanation["tree"]))
    out.print()
    facts = {
        "formula": explanation["formula"],
        "fingerprint": explanation["fingerprint"],
        "bounds": interval_text(explanation["bounds"]),
        "needs": ", ".join(explanation["needs"]) or "-",
        "cost": explanation["cost"],
        "logged as": ", ".join(explanation["names"]) or "-",
    }
    for name, value in facts.items():
        out.print(Text.assemble((f"{name:<12}", "bold"), str(value)))
    if "row" in explanation:
        out.print()
        _show_row(out, explanation["row"])
    if explanation["diagnostics"]:
        out.print()
        show_diagnostics(out, (FormulaDiagnostic(**d) for d in explanation["diagnostics"]))


def _show_row(out: Any, row: dict[str, Any]) -> None:
    from rich.text import Text

    total = "unscored" if row["total"] is None else f"{row['total']:g}"
    out.print(Text.assemble((f"{'total':<12}", "bold"), f"{total}  {row['status']}"))
    for name, why in row["reasons"].items():
        out.print(Text.assemble((f"{name:<12}", "bold"), why.strip()))
    if "tokens_missing" in row:
        out.print(Text(row["tokens_missing"]))
    for token in row.get("tokens", ()):
        text = f" {token['text']!r}" if "text" in token else ""
        out.print(Text(f"token {token['index']}{text} (id {token['id']}): {token['reward']:g}"))


def _tree(node: dict[str, Any], into: Any = None) -> Any:
    from rich.tree import Tree

    label = _label(node)
    branch = Tree(label) if into is None else into.add(label)
    for operand in node["operands"]:
        _tree(operand, branch)
    return branch


def _label(node: dict[str, Any]) -> Any:
    from rich.text import Text

    from rewardkit.analysis.vocabulary import interval_text

    leaf = not node["operands"]
    text = Text(node["text"] if leaf else _operation(node), style="bold")
    if node["op"] == "number":
        return text
    text.append(f"  {node['kind']} {interval_text(node['bounds'])} {_DIRECTION[node['polarity']]}", style="dim")
    if "cost" in node:
        text.append(f" {node['cost']}", style="dim")
    if "name" in node:
        text.append(f" as {node['name']!r}", style="dim")
    if "status" in node:
        value = "-" if node["value"] is None else f"{node['value']:g}"
        text.append(f"  = {value}", style="green")
        if node["status"] != "scored":
            text.append(f" {node['status']}", style="yellow")
    return text


def _operation(node: dict[str, Any]) -> str:
    """What a node does to its operands, which stand below it."""
    if node["op"] in ("named", "on", "spread", "total", "clip"):
        return str(
            node["text"].replace(node["operands"][0]["text"], "...", 1).removeprefix("...").removeprefix("(...)")
        )
    return str(_OPERATIONS.get(node["op"], node["op"]))


_OPERATIONS = {
    "add": "+", "mul": "*", "div": "/", "neg": "-", "and": "&", "or": "|", "not": "~", "lt": "<", "le": "<=", "gt": ">",
    "ge": ">=", "when": "when(condition, then, otherwise)",
}  # fmt: skip
_DIRECTION = {"rises": "↑", "falls": "↓", "mixed": "↕", "unpaid": "unpaid"}
