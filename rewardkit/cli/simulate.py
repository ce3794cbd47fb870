"""`rewardkit simulate`: the advantages that an estimator would make of rollouts."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rewardkit.cli import PLAIN
from rewardkit.cli._parameters import AsJson, Step, Tokenizer

if TYPE_CHECKING:
    from rewardkit.comparison import Simulation

app = typer.Typer(**PLAIN)


class Estimator(StrEnum):
    """What makes advantages of rewards."""

    GRPO = "grpo"
    DAPO = "dapo"
    DRGRPO = "drgrpo"
    RLOO = "rloo"
    GDPO = "gdpo"


@app.command(no_args_is_help=True)
def simulate(
    reward: Annotated[
        str,
        typer.Argument(
            metavar="REWARD",
            help="A formula, a ready-made reward, or FILE.py[:NAME], a reward or a function, as for `compare`.",
            show_default=False,
        ),
    ],
    rows: Annotated[
        Path,
        typer.Argument(
            metavar="ROLLOUTS",
            help="Several responses to each prompt, as `rewardkit compare` reads them, such as verl's dumped rollouts.",
            show_default=False,
        ),
    ],
    estimator: Annotated[Estimator, typer.Option(help="What makes the advantages.")] = Estimator.GRPO,
    against: Annotated[
        str | None, typer.Option(metavar="REWARD", help="Another reward: say what it would change.")
    ] = None,
    step: Step = None,
    tokenizer: Tokenizer = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the first N rows.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a run would learn from a reward, on rollouts that are there: dead groups, and what makes advantages.

    An unscored row is paid its group's mean, as in a run. `dapo` is `grpo` on the groups that dynamic sampling keeps.
    """
    from rewardkit.cli._console import progress_bar, show_json
    from rewardkit.comparison import load_side
    from rewardkit.comparison import simulate as simulate_advantages
    from rewardkit.scoring.tokens import encoding_by

    other = None if against is None else load_side(against)
    with encoding_by(tokenizer), progress_bar("simulate") as progress:
        simulation = simulate_advantages(
            load_side(reward), rows, estimator=estimator, against=other, step=step, limit=limit, progress=progress
        )
    if as_json:
        show_json(simulation.as_dict())
    else:
        show(simulation)


def show(simulation: Simulation) -> None:
    """The simulation on the terminal; plain lines where there is none."""
    from rich.table import Table
    from rich.text import Text

    from rewardkit.cli._console import console

    out = console()
    out.print(Text.assemble(("reward  ", "bold"), (simulation.reward, "cyan")))
    out.print()
    for heading, text in _lines(simulation):
        out.print(Text.assemble((f"{heading:<18}", "bold"), text))
    if simulation.shares:
        out.print()
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("of the advantages' variance", overflow="fold")
        table.add_column("share", justify="right")
        for label, share in simulation.shares.items():
            table.add_row(Text(label), f"{share:.0%}")
        out.print(table)


def _lines(s: Simulation) -> list[tuple[str, str]]:
    def of(part: int, whole: int) -> str:
        return f"{part:,} of {whole:,}{f' ({part / whole:.1%})' if whole else ''}"

    left_out = "".join(f", {n:,} {what}" for n, what in ((s.unscored, "unscored"), (s.alone, "in no group")) if n)
    lines = [
        ("rows", f"{s.rows:,} in {s.groups:,} groups{left_out}"),
        ("dead groups", f"{of(s.dead, s.groups)} teach nothing by {s.estimator}"),
        ("dynamic sampling", f"throws away {of(s.thrown_away, s.groups)} prompts"),
        ("advantages", f"{s.positive:.1%} above zero, standard deviation {s.spread:.4g}, largest {s.largest:+.4g}"),
    ]
    if s.of_length == s.of_length:
        way = "longer" if s.with_length > 0 else "shorter"
        lines.append(("length", f"explains {s.of_length:.0%} of the advantages' variance; {way} responses gain"))
    if s.against is not None:
        a = s.against
        moved = ", ".join(f"{n:,} {w}" for n, w in ((a.appear, "appear from zero"), (a.vanish, "vanish to zero")) if n)
        lines.append(("instead", a.name))
        lines.append(("", f"{a.sign_changes:,} advantages change sign{f'; {moved}' if moved else ''}"))
        lines.append(("", f"{a.dead:,} groups would be dead"))
    return lines
