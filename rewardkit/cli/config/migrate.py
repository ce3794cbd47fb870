"""`rewardkit config migrate`: a config or a launch script of an older verl, rewritten for today's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rewardkit.cli import PLAIN
from rewardkit.cli._parameters import Force

app = typer.Typer(**PLAIN)


@app.command()
def migrate(
    old: Annotated[
        Path,
        typer.Argument(
            metavar="OLD.yaml|RUN.sh", help="A config file for verl 0.2 to 0.9, or the script that launches a run."
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="NEW.yaml", help="Where the new file goes.", show_default=False)],
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Rewrite a config of an older verl for today's, and say what became of each key.

    What is not named in the report stays as it was, comments and order included; it is indented by two spaces. Of a
    launch script the KEY=VALUE arguments are read, with the variables that it sets; nothing of it is run.

    Exit code 2 if the new file has errors that only you can mend.
    """
    from rewardkit.cli._console import console, show_json
    from rewardkit.cli._diagnostics import count, show_diagnostics
    from rewardkit.cli._glue import glue
    from rewardkit.cli._writing import check_target, write_new

    check_target(out, [old])
    report = glue("config.migration", "config migrate").migrate(old)
    write_new(out, report.text, force=force)
    left = glue("config.validation", "config migrate").validate(out, report.groups, ask_verl=False)
    if as_json:
        show_json({"old": str(old), "new": str(out), **_as_dict(report), "diagnostics": left.as_dicts()})
    else:
        plain = console()
        for line in report.lines():
            plain.print(line, markup=False)
        show_diagnostics(plain, left.diagnostics)
        counts = ", ".join(f"{number} {kind}" for kind, number in report.counts().items() if number)
        rest = f"; {count(len(left.errors), 'error')} left to mend by hand" if left.errors else ""
        plain.print(f"{out}: {counts}{rest}", markup=False)
    if left.errors:
        raise typer.Exit(2)


def _as_dict(report: Any) -> dict[str, Any]:
    changes = [
        {"kind": c.kind, "key": c.key, "line": c.line, "to": c.to, "value": c.value, "why": c.why}
        for c in report.changes
    ]
    return {"counts": report.counts(), "changes": changes, "notes": report.notes}
