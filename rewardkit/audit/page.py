"""The report as one page that needs no network: tables and texts, no script. What a model wrote is only ever text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from typing import Final

from rewardkit.audit.diagnostics import AuditDiagnostic
from rewardkit.audit.report import AuditReport

_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font: 600 1.3rem ui-monospace, monospace; overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; }
td, th { padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; background: #f4f4f4; padding: .3rem .6rem;
      max-height: 14rem; overflow: auto; }
section { border-left: 4px solid #bbb; padding: .1rem 0 .1rem 1rem; margin: 1.2rem 0; }
section.error { border-color: #c62828; } section.warning { border-color: #e0a100; }
.right { color: #1b6e2c; } small { color: #666; }
"""
LONGEST: Final = 4_000
"""Characters of a text that are shown."""


def page(report: AuditReport) -> str:
    """An HTML document."""
    read = ", ".join(f"<code>{escape(f.name)}</code>" for f in report.forms.read) or "none"
    by_part = "" if report.by_part else "<p>A Python function: what it paid for can't be seen.</p>"
    instead = report.no_fix or "" if report.fix is None else report.fix.formula
    fix = f"<h2>Instead</h2><pre>{escape(instead)}</pre>" if instead else ""
    diagnostics = "".join(map(_section, report.diagnostics)) or "<p>Nothing found.</p>"
    controls = "".join(
        f"<tr><td>{escape(c.name)}</td><td>{escape(', '.join(c.found) or 'nothing')}</td>"
        f"<td>{'as expected' if c.as_expected else 'NOT as expected'}</td></tr>"
        for c in report.controls
    )
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Audit of {escape(report.reward)}</title>'
        f"<style>{_STYLE}</style>\n<h1>{escape(report.reward)}</h1>\n"
        f"<p>{report.rows} rows of {escape(report.data)}, {report.tried:,} texts, {report.seconds:.1f} s.</p>"
        f"<p>Forms of answer that it reads: {read}.</p>{by_part}\n"
        f"<h2>Diagnostics</h2>{diagnostics}\n{fix}\n<h2>Who is paid what</h2>{_board(report)}\n"
        f"<h2>Controls</h2><table>{controls}</table></html>\n"
    )


def _section(f: AuditDiagnostic) -> str:
    rows = ""
    if f.evidence is not None:
        e = f.evidence
        rows = (
            "<table>"
            + _text(e.says, e.text, e.pay, e.parts)
            + _text(f"compare (ground truth {e.truth})", e.honest, e.honest_pay, e.honest_parts)
            + "</table>"
        )
    also = f"<p><small>So do: {escape(', '.join(f.also))}</small></p>" if f.also else ""
    fix = f"<p>{escape(f.hint)}</p>" if f.hint else ""
    return (
        f'<section class="{f.severity.value}"><p><b>{f.severity.value}</b> {escape(f.message)} '
        f"<small>{escape(f.label)}</small></p>{rows}{also}{fix}</section>\n"
    )


def _text(what: str, text: str, pay: float, parts: Mapping[str, float]) -> str:
    cut = text if len(text) <= LONGEST else f"{text[:LONGEST]} ... ({len(text):,} characters)"
    by_part = "<br>".join(f"{v:.4g} {escape(k)}" for k, v in parts.items() if v)
    return (
        f'<tr><td>{escape(what)}</td><td class="n">{_number(pay)}</td><td><pre>{escape(cut)}</pre></td>'
        f"<td><small>{by_part}</small></td></tr>"
    )


def _board(report: AuditReport) -> str:
    labels = list(dict.fromkeys(label for line in report.board for label in line.parts))
    head = "".join(f'<th class="n">{escape(label)}</th>' for label in labels)
    rows = "".join(
        f'<tr class="{"right" if x.right else "wrong"}"><td>{escape(x.strategy)}</td>'
        f'<td class="n">{_number(x.pay)}</td>'
        + "".join(f'<td class="n">{_number(x.parts.get(label, 0.0))}</td>' for label in labels)
        + "</tr>"
        for x in report.board
    )
    return f'<table><tr><th>strategy</th><th class="n">pay</th>{head}</tr>{rows}</table>'


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4g}"
