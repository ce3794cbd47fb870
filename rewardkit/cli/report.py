"""`rewardkit report`: what a training run paid for, from its dumped rollouts."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rewardkit.cli import PLAIN
from rewardkit.cli._parameters import Tokenizer

if TYPE_CHECKING:
    from rewardkit.report import RolloutReport

app = typer.Typer(**PLAIN)


@app.command(no_args_is_help=True)
def report(
    rollouts: Annotated[
        Path,
        typer.Argument(
            metavar="ROLLOUTS",
            help="A folder that verl dumped (trainer.rollout_data_dir), the completions that TRL logged "
            "(log_completions), one file of these, or what `rewardkit score --out` wrote.",
            show_default=False,
        ),
    ],
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write one page with pictures, for a browser offline.", show_default=False),
    ] = None,
    reward: Annotated[
        str | None,
        typer.Option(
            metavar="FORMULA|FILE.py[:NAME]|NAME",
            help="Work out this formula's terms from the texts, for dumps that lack terms (the trainer of verl 0.9 "
            "writes totals only).",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With scores: the file that was scored, for its texts.", show_default=False),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=WEIGHT,...",
            help="With TRL's completions: the rewards that make the total (default: every numeric column, once).",
            show_default=False,
        ),
    ] = None,
    tokenizer: Tokenizer = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Sum up what a training run paid for: each term and its drift, what goes with the score, dead groups.

    And the best- and worst-paid texts, near-duplicates that are paid well, and endings that many responses share.
    """
    from rewardkit.cli._console import show_json
    from rewardkit.cli._streams import prints_to_stderr
    from rewardkit.cli._writing import check_target
    from rewardkit.engine.loading import load_reward, reward_file
    from rewardkit.engine.program import compile as compile_reward
    from rewardkit.report import report_on
    from rewardkit.report.page import page, require
    from rewardkit.scoring.tokens import encoding_by
    from rewardkit.scoring.writing import whole_file

    check_target(html, [rollouts, data, None if reward is None else reward_file(reward)], "--html")
    if html is not None:
        require()
    target = contextlib.nullcontext(None) if html is None else whole_file(html)
    with target as write:
        with prints_to_stderr(), encoding_by(tokenizer), _progress() as progress:
            program = None if reward is None else compile_reward(load_reward(reward).reward)
            result = report_on(rollouts, data=data, reward=program, weights=_weights(weights), progress=progress)
        if write is not None:
            write(page(result))
    if as_json:
        show_json(result.as_dict())
    else:
        show(result)


def _weights(text: str | None) -> dict[str, float] | None:
    from rewardkit.errors import ConfigError

    if text is None:
        return None
    weights = {}
    for part in text.split(","):
        name, _, value = part.rpartition("=")
        try:
            weights[name.strip()] = float(value)
        except ValueError:
            weights[name.strip()] = math.nan
        if not name.strip() or not math.isfinite(weights[name.strip()]):
            raise ConfigError(f"--weights got {part!r}; expected NAME=WEIGHT", hint="such as correct=1,format=0.2")
    return weights


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[int, int, int], object] | None]:
    if not sys.stderr.isatty():
        yield None
        return
    from rewardkit.cli._console import console

    with console(err=True).status("reading") as status:
        yield lambda file, files, rows: status.update(f"reading file {file:,} of {files:,}, {rows:,} rows")


def show(report_: RolloutReport) -> None:
    """The report on the terminal; plain lines where there is none."""
    from rich.text import Text

    from rewardkit.cli._console import console, one_line

    out = console()
    steps = [step for step, _ in report_.steps.items()]
    timed = f", steps {steps[0]} to {steps[-1]}" if len(steps) > 1 else ""
    unscored = f", {report_.unscored / report_.rows:.1%} unscored" if report_.unscored else ""
    files = f"{report_.files:,} file{'s' if report_.files > 1 else ''}"
    out.print(Text(f"{report_.layout}: {report_.rows:,} rows in {files}{timed}{unscored}", style="bold"))
    out.print()
    for note in report_.notes:
        out.print(Text.assemble((f"{note.code:<17}", "yellow"), note.message))
    if not report_.notes:
        out.print(Text("nothing stands out", style="green"))
    out.print()
    out.print(_table(report_, timed=bool(timed)))
    if report_.groups is not None and report_.groups.groups:
        g = report_.groups
        out.print(Text(f"{g.dead:,} of {g.groups:,} groups are dead: paid the same throughout ({g.share:.1%})"))
    if not report_.has_texts:
        out.print(Text("scores have no texts: --data FILE names the scored file", style="dim"))
    if not report_.terms and report_.formula is None:
        out.print(Text("the dump has no terms: --reward FORMULA works them out from the texts", style="dim"))
    for title, texts in (("best paid", report_.best[:3]), ("worst paid", report_.worst[:3])):
        for paid in texts:
            at = f"  {paid.where}{f', ground truth {paid.ground_truth}' if paid.ground_truth is not None else ''}"
            out.print(
                Text.assemble((f"{title:<11}", "bold"), f"{paid.total:>8.4g}  ", (one_line(paid.text), "cyan"), at)
            )


def _table(report_: RolloutReport, *, timed: bool) -> Any:
    from rich.table import Table
    from rich.text import Text

    from rewardkit.report.result import TOTAL, WORDS

    columns = {TOTAL: report_.total, **report_.terms} | ({WORDS: report_.words} if report_.has_texts else {})
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("", "mean", "std", "min", "max", *(("first", "last") if timed else ()), "other than scored"):
        left = heading in ("", "other than scored")
        table.add_column(heading, justify="left" if left else "right", overflow="fold")
    for name, moments in columns.items():
        numbers = [moments.mean, moments.std, moments.low, moments.high] if moments.count else [math.nan] * 4
        cells = [*numbers, *(report_.first_and_last(name) if timed else ())]
        shares = moments.shares().items() if name in report_.terms else ()
        other = ", ".join(f"{status} {share:.1%}" for status, share in shares if status != "scored")
        table.add_row(Text(name), *("-" if math.isnan(x) else f"{x:.4g}" for x in cells), other)
    return table
