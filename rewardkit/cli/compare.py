"""`rewardkit compare`: two rewards on the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rewardkit.cli import PLAIN
from rewardkit.cli._parameters import AsJson, Step, Tokenizer

if TYPE_CHECKING:
    from rewardkit.comparison import Comparison
    from rewardkit.comparison.result import Difference, Groups

app = typer.Typer(**PLAIN)

_SHOWN = 5
"""Differences on the terminal; `--json` has 20."""


@app.command(no_args_is_help=True)
def compare(
    old: Annotated[
        str,
        typer.Argument(
            metavar="OLD",
            help="What pays today: a formula, a ready-made reward, or FILE.py[:NAME], a reward or a function: "
            "compute_score(data_source, solution_str, ground_truth, extra_info), or f(completions, **columns).",
            show_default=False,
        ),
    ],
    new: Annotated[str, typer.Argument(metavar="NEW", help="What might take its place, likewise.", show_default=False)],
    rows: Annotated[
        Path,
        typer.Argument(
            metavar="ROWS",
            help="Responses, as `rewardkit score` reads them: JSON lines or parquet, a folder of such files, or a "
            "pattern in quotes. verl's dumped rollouts are such rows.",
            show_default=False,
        ),
    ],
    step: Step = None,
    tokenizer: Tokenizer = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the first N rows.")] = None,
    fail_on_difference: Annotated[
        bool,
        typer.Option(
            "--fail-on-difference", help="Exit with 1 if a row is paid differently, or scored by one side only."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what changes where one reward takes another's place: the pay, the order, the groups, the advantages.

    Rows of one group, uid or else prompt are rollouts of one prompt. A row that a side can't score is counted apart.
    Exit codes: 0 compared, 1 with --fail-on-difference if anything differs, 2 wrong use.
    """
    from rewardkit.cli._console import progress_bar, show_json
    from rewardkit.comparison import compare as compare_rewards
    from rewardkit.comparison import load_side
    from rewardkit.scoring.tokens import encoding_by

    sides = load_side(old), load_side(new)
    with encoding_by(tokenizer), progress_bar("compare") as progress:
        comparison = compare_rewards(*sides, rows, step=step, limit=limit, progress=progress)
    if as_json:
        show_json(comparison.as_dict())
    else:
        show(comparison)
    if fail_on_difference and comparison.differs:
        raise typer.Exit(1)


def show(comparison: Comparison) -> None:
    """The comparison on the terminal; plain lines where there is none."""
    from rich.text import Text

    from rewardkit.cli._console import console

    out = console()
    for side, name, reason, pay in zip(
        ("old", "new"), (comparison.old, comparison.new), comparison.reasons, comparison.totals, strict=True
    ):
        spread = f"  pays {pay.mean:.4g} on average, {pay.low:.4g} to {pay.high:.4g}" if pay.count else ""
        out.print(Text.assemble((f"{side}  ", "bold"), (name, "cyan"), (spread, "dim")))
        if reason is not None:
            out.print(Text(f"     first unscored row: {reason}", style="dim"))
    out.print()
    for heading, text in _lines(comparison):
        out.print(Text.assemble((f"{heading:<18}", "bold"), text))
    if comparison.terms and comparison.both:
        out.print()
        out.print(_terms(comparison))
    if comparison.largest:
        out.print(Text("\nlargest differences", style="bold"))
    for difference in comparison.largest[:_SHOWN]:
        _show_difference(out, difference)


def _lines(comparison: Comparison) -> list[tuple[str, str]]:
    counts = (("old only", comparison.only_old), ("new only", comparison.only_new), ("neither", comparison.neither))
    apart = "".join(f", {n:,} by {who}" for who, n in counts if n)
    lines = [("rows", f"{comparison.rows:,}: {comparison.both:,} scored by both{apart}")]
    if not comparison.both:
        return lines
    change = f", by {comparison.mean_change:+.4g} on average over all" if comparison.different else ""
    lines.append(("paid differently", f"{_of(comparison.different, comparison.both, 'rows')}{change}"))
    ranks = [] if comparison.spearman != comparison.spearman else [f"Spearman {comparison.spearman:.4f} over all rows"]
    if comparison.groups is None:
        none = [("groups", "none: the rows have no group, uid or prompt")]
        return [*lines, *([("rank correlation", ranks[0])] if ranks else []), *none]
    g = comparison.groups
    if g.pairs.kendall == g.pairs.kendall:
        ranks.append(f"Kendall {g.pairs.kendall:.4f} within groups")
    if ranks:
        lines.append(("rank correlation", ", ".join(ranks)))
    return [*lines, *_of_groups(g)]


def _of_groups(g: Groups) -> list[tuple[str, str]]:
    moved = ", ".join(
        f"{n:,} {what}" for n, what in ((g.appear, "appear from zero"), (g.vanish, "vanish to zero")) if n
    )
    return [
        ("best response", f"changes in {_of(g.best_changes, g.groups, 'groups')}"),
        ("advantages", f"{_of(g.sign_changes, g.rows, 'rows')} change sign{f'; {moved}' if moved else ''}"),
        ("dead groups", f"{g.dead_old:,} by old, {g.dead_new:,} by new"),
    ]


def _of(part: int, whole: int, what: str) -> str:
    return f"{part:,} of {whole:,} {what}{f' ({part / whole:.1%})' if whole else ''}"


def _terms(comparison: Comparison) -> Any:
    from rich.table import Table
    from rich.text import Text

    both = all(t.rows is not None for t in comparison.terms.values())
    side = "old" if all(t.new is None for t in comparison.terms.values()) else "new"
    headings = ("old", "new", "rows", "of the difference", "sign changes")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("mean pay for", *(headings if both else (side, "where different", "correlation"))):
        table.add_column(heading, justify="left" if heading == "mean pay for" else "right", overflow="fold")
    for label, t in comparison.terms.items():
        if both:
            part = "-" if t.of_difference is None else f"{t.of_difference:.0%}"
            cells = [_number(t.old), _number(t.new), f"{t.rows:,}", part, f"{t.sign_changes:,}"]
        else:
            goes_with = "-" if t.correlation != t.correlation else f"{t.correlation:+.2f}"
            cells = [_number(t.new if t.old is None else t.old), _number(t.where_different), goes_with]
        table.add_row(Text(label), *cells)
    return table


def _show_difference(out: Any, d: Difference) -> None:
    from rich.text import Text

    from rewardkit.cli._console import one_line

    truth = "" if d.ground_truth is None else f"  ground truth {one_line(str(d.ground_truth), 60)}"
    out.print(
        Text.assemble(
            f"{_number(d.old):>8} -> {_number(d.new):<8} ", (one_line(d.response), "cyan"), f"  {d.where}{truth}"
        )
    )
    parts = [
        f"{label}: {' -> '.join(_number(x) for x in pair if x is not None)}"
        for label, pair in d.parts.items()
        if any(pair)
    ]
    if parts:
        out.print(Text(f"{'':21}{'; '.join(parts)}", style="dim"))


def _number(value: float | None) -> str:
    return "-" if value is None or value != value else f"{value:.4g}"
