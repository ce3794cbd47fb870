"""`rewardkit from-python`: read a reward function that is there already, and propose a formula."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rewardkit.cli import PLAIN

if TYPE_CHECKING:
    from rewardkit.translate import Translation
    from rewardkit.translate.compare import Comparison

app = typer.Typer(**PLAIN)

_MOST_DIFFERENCES = 10
"""Rows that are shown; `--json` has them all."""
_SHOWN = 100
"""Characters of a response's end."""


@app.command(no_args_is_help=True)
def from_python(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.py",
            help="A file with compute_score(data_source, solution_str, ground_truth, extra_info) or with functions "
            "f(completions, **columns), as verl and TRL take them. It is read, not run.",
            show_default=False,
        ),
    ],
    function: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A function to read; several are summed. Default: compute_score, or those of reward_funcs=[...] by "
            "reward_weights=[...], or all that take completions.",
            show_default=False,
        ),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(
            metavar="ROWS",
            help="Also run the functions next to the formula on rows, as `rewardkit score` reads them, and show where "
            "they differ.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Rows to check, from the first.")] = 1000,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Propose a formula for an existing reward function, and say line by line what it is in the formula.

    `equal` is the same number for every response, `nearly` but for the rare texts that are named, `similar` another
    rule for the same thing, `left out` is not in the formula. Exit codes: 0 all was translated, 1 something was left
    out, 2 the file can't be read.
    """
    from rewardkit.translate import translate_file

    found = translate_file(file, tuple(function or ()))
    compared = None
    if check is not None:
        from rewardkit.translate.compare import compare_on

        compared = compare_on(found, file, check, limit=limit)
    if as_json:
        from rewardkit.cli._console import show_json

        show_json(found.as_dict() | ({} if compared is None else _as_dict(compared)))
    else:
        _show(found)
        if compared is not None:
            _show_check(compared)
    if not found.complete:
        raise typer.Exit(1)


_STYLES = {"equal": "green", "nearly": "green", "similar": "yellow", "left out": "red"}


def _show(found: Translation) -> None:
    from rich.text import Text

    from rewardkit.cli._console import console

    out = console()
    functions = " + ".join(f"{weight:g} * {name}" if weight != 1 else name for name, weight in found.functions)
    out.print(Text.assemble((f"{'reads':<10}", "bold"), functions))
    out.print(Text.assemble((f"{'formula':<10}", "bold"), found.formula or "nothing of it could be said as a formula"))
    level = _word(found.level)
    out.print(Text.assemble((f"{'total':<10}", "bold"), (level, _STYLES[level]), f": {_MEANING[level]}"))
    out.print()
    for n in found.notes:
        word = _word(n.level)
        out.print(Text.assemble(f"{n.line:>5}  ", (f"{word:<9}", _STYLES[word]), n.code))
        told = "" if n.formula is None else f"-> {n.formula!r}"
        for line in filter(None, (told, n.says)):
            out.print(Text(f"{'':16}{line}"))


_MEANING = {
    "equal": "the same number for every response",
    "nearly": "the same number, but for the rare texts named below",
    "similar": "what is told below is asked by another rule",
    "left out": "part of it is not in the formula",
}


def _show_check(compared: Comparison) -> None:
    from rich.text import Text

    from rewardkit.cli._console import console

    out = console()
    out.print()
    out.print(Text(f"checked on {compared.rows:,} rows: {len(compared.differences):,} differ"))
    for d in compared.differences[:_MOST_DIFFERENCES]:
        theirs = f"{d.function:g}" if d.function is not None else d.why or "no number"
        ours = f"{d.formula:g}" if d.formula is not None else "unscored"
        paid = f"{theirs} by the file, {ours} by the formula"
        out.print(Text(f"{d.where}: {paid}; gold {d.ground_truth!r}: {d.response[-_SHOWN:]!r}"))
    if len(compared.differences) > _MOST_DIFFERENCES:
        out.print(Text(f"and {len(compared.differences) - _MOST_DIFFERENCES:,} more"))


def _as_dict(compared: Comparison) -> dict[str, Any]:
    import dataclasses

    return {"checked": compared.rows, "differences": [dataclasses.asdict(d) for d in compared.differences]}


def _word(level: Any) -> str:
    return str(level.name.lower().replace("_", " "))
