"""`rewardkit audit`: attack a reward on real rows, before a policy does."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rewardkit.cli import PLAIN
from rewardkit.cli._parameters import Tokenizer
from rewardkit.diagnostics import Severity

if TYPE_CHECKING:
    from rewardkit.audit import AuditDiagnostic, AuditReport

app = typer.Typer(**PLAIN)


_NEVER = "never"
_OLD = {"high": Severity.ERROR, "medium": Severity.WARNING, "low": Severity.NOTE}
"""Old names of the severities, understood for one release."""


def _choices() -> list[str]:
    return [*Severity, _NEVER]


def _fail_on(text: str) -> str:
    """A severity or `never`; an old name says what it is now."""
    if text in _OLD:
        typer.echo(f"warning: --fail-on {text} is now: --fail-on {_OLD[text]}", err=True)
        return _OLD[text]
    if text not in _choices():
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(_choices())}.")
    return text


@app.command(no_args_is_help=True)
def audit(
    reward: Annotated[
        str,
        typer.Argument(
            metavar="FORMULA|FILE.py[:NAME]|NAME",
            help="A formula, a ready-made reward, or what a Python file sets: a reward, or a function "
            "compute_score(data_source, solution_str, ground_truth, extra_info), or f(completions, **columns).",
            show_default=False,
        ),
    ],
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="JSON lines or parquet with prompts and ground truths: verl's columns, question and answer, or prompt "
            "and ground_truth. Responses are welcome and not needed.",
            show_default=False,
        ),
    ],
    budget: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="What the search may take, where the attacks find no hole.")
    ] = 5.0,
    rows: Annotated[int, typer.Option(min=1, metavar="N", help="Rows to audit, spread over the file's first.")] = 6,
    requests: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Requests that it may take where the formula asks a judge or a reward model. Only texts that speak to "
            "one are then tried.",
        ),
    ] = 300,
    fail_on: Annotated[
        str,
        typer.Option(
            parser=_fail_on,
            metavar="error|warning|note|never",
            autocompletion=_choices,
            help="Exit with 1 from this severity on.",
        ),
    ] = Severity.ERROR.value,
    tokenizer: Tokenizer = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report as one page too.", show_default=False)
    ] = None,
) -> None:
    """Attack a reward: who is paid without being right, how much, and for what; and a formula that doesn't do it.

    It is an error where a wrong answer can outscore a right one, or where a text without an answer is paid as if it
    were right. Exit codes: 0 nothing found, 1 a diagnostic of --fail-on or worse, 2 wrong use.
    """
    from rewardkit.audit import audit as run_audit
    from rewardkit.audit import load_subject, read_problems
    from rewardkit.audit.page import page
    from rewardkit.cli._console import show_json, spinner
    from rewardkit.cli._streams import prints_to_stderr
    from rewardkit.cli._writing import check_target
    from rewardkit.engine.loading import reward_file
    from rewardkit.scoring.tokens import encoding_by
    from rewardkit.scoring.writing import whole_file

    check_target(html, [data, reward_file(reward)], "--html")
    target = contextlib.nullcontext(None) if html is None else whole_file(html)
    with target as write:
        with prints_to_stderr(), encoding_by(tokenizer):
            subject = load_subject(reward)
            problems = read_problems(data, rows)
            with spinner(f"attacking {subject.name}"):
                report = run_audit(subject, problems, budget=budget, data=str(data), requests=requests)
        if write is not None:
            write(page(report))
    if as_json:
        show_json(report.as_dict())
    else:
        show(report)
    if fail_on != _NEVER and report.reaches(Severity(fail_on)):
        raise typer.Exit(1)


_MOST_LINES = 8
"""Diagnostics below an error that are shown in full; `--json` has them all."""


def show(report: AuditReport) -> None:
    """The report on the terminal; plain lines where there is none."""
    from rich.text import Text

    from rewardkit.cli._console import console

    out = console()
    out.print(Text(report.reward, style="bold"))
    read = report.forms.read
    reads = f"answers read as `{report.forms.best.name}`" if read else "no form of answer is told from a wrong one"
    if len(read) > 1:
        reads += f" and in {len(read) - 1} other forms"
    out.print(Text(f"{report.rows} rows, {report.tried:,} texts, {report.seconds:.1f} s; {reads}"))
    if not report.by_part:
        out.print(Text("a Python function: its total is all that can be seen, not what it paid for"))
    out.print()
    _show_diagnostics(out, report)
    _show_board(out, report)
    if report.fix is not None:
        left = f"; {', '.join(report.fix.left)} left" if report.fix.left else ""
        out.print(Text.assemble(("instead     ", "bold"), (report.fix.formula, "green")))
        out.print(Text(f"            {report.fix.tried:,} of the same texts tried on it: no error{left}\n"))
    if report.no_fix is not None:
        out.print(Text(f"instead     {report.no_fix}\n"))
    for control in report.controls:
        codes = ", ".join(control.found) or "nothing"
        verdict = "" if control.as_expected else f"; expected {', '.join(control.expected) or 'nothing'}"
        style = "dim" if control.as_expected else "yellow"
        out.print(Text(f"control     {control.name}: {codes}{verdict}", style=style))
    if report.search_skipped is not None:
        out.print(Text(f"no search   {report.search_skipped}", style="dim"))


def _show_diagnostics(out: Any, report: AuditReport) -> None:
    from rich.text import Text

    if not report.diagnostics:
        out.print(Text("nothing found\n", style="green"))
    lesser = 0
    for diagnostic in report.diagnostics:
        if diagnostic.severity is not Severity.ERROR:
            lesser += 1
            if lesser > _MOST_LINES:
                continue
        _show_diagnostic(out, diagnostic)
    if lesser > _MOST_LINES:
        out.print(Text(f"and {lesser - _MOST_LINES} more: --json shows all\n"))


def _show_diagnostic(out: Any, diagnostic: AuditDiagnostic) -> None:
    from rich.text import Text

    from rewardkit.cli._diagnostics import show_diagnostics

    show_diagnostics(out, [diagnostic])
    if diagnostic.evidence is not None:
        e = diagnostic.evidence
        _show_text(out, e.text, e.pay, e.parts, f"{e.says}, cut off" if e.truncated else e.says)
        _show_text(out, e.honest, e.honest_pay, e.honest_parts, f"compare; ground truth {e.truth}")
    if diagnostic.also:
        out.print(Text(f"            so do {', '.join(diagnostic.also)}", style="dim"))
    out.print()


def _show_text(out: Any, text: str, pay: float, parts: Any, what: str) -> None:
    from rich.text import Text

    paid = "-" if pay != pay else f"{pay:.4g}"  # NaN: it failed, or was only timed
    sum_ = ", ".join(f"{v:.3g} for {k}" for k, v in parts.items() if v)
    out.print(Text.assemble(f"  {paid:>8}  ", (shown(text), "cyan"), (f"  {what}{f': {sum_}' if sum_ else ''}", "dim")))


def shown(text: str, most: int = 160) -> str:
    """A text on one line, its middle left out where it is long."""
    if len(text) > most:
        return f"{text[: most - 40]!r} ... {text[-24:]!r} ({len(text.split()):,} words)"
    return repr(text)


def _show_board(out: Any, report: AuditReport) -> None:
    if not report.board:
        return
    from rich.table import Table
    from rich.text import Text

    labels = list(dict.fromkeys(label for line in report.board for label in line.parts))
    table = Table(box=None, pad_edge=False, header_style="bold", title_justify="left")
    table.add_column("who answers like this", no_wrap=True)
    table.add_column("is paid", justify="right")
    for label in labels:
        table.add_column(Text(label), justify="right", overflow="fold")
    for line in report.board:
        pay = "-" if line.pay != line.pay else f"{line.pay:.3g}"
        style = "green" if line.right else ""
        cells = [Text(f"{line.parts.get(label, 0.0):.3g}") for label in labels]
        table.add_row(Text(line.strategy, style=style), Text(pay, style=style), *cells)
    out.print(table)
    out.print()
