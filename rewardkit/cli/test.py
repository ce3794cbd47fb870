"""`rewardkit test`: the laws of rewards on a reward, as its own pytest would run them; and what its examples miss."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rewardkit.cli import PLAIN
from rewardkit.cli._parameters import AsJson, Reward
from rewardkit.errors import ConfigError

if TYPE_CHECKING:
    from rewardkit.analysis.mutation import Example, Noticed

app = typer.Typer(**PLAIN)
_FILE_NAME = re.compile(r"(.+\.py)(?::\w+)?")


@app.command(no_args_is_help=True)
def test(
    reward: Reward,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DATA",
            help="Rows to start from: JSON lines or parquet with prompts and ground truths. With --mutants: examples, "
            "with `score` for what a row should be paid.",
            show_default=False,
        ),
    ] = None,
    law: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LAW",
            help="A law of your own, as often as you like: dominates(gsm8k()), bounded_by_length(0.5), ignores(strip).",
            show_default=False,
        ),
    ] = None,
    examples: Annotated[int, typer.Option(min=1, metavar="N", help="Batches that each law is tried on.")] = 100,
    mutants: Annotated[
        bool, typer.Option("--mutants", help="Instead: which slips in the formula do the examples not notice?")
    ] = False,
    write: Annotated[bool, typer.Option("--write", help="Instead: print the test file that does the same.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run the laws that every reward has to keep, and yours, on what models write.

    A broken law shows the smallest rows that break it. `--mutants` drops a term, turns a sign, doubles a weight, opens
    a gate, and asks whether the examples of --data, or the list EXAMPLES of the reward's file, notice.

    Exit codes: 0 all kept, 1 a law is broken, an example fails or a mutant survives, 2 wrong use.
    """
    if mutants:
        _mutants(reward, data, as_json)
        return
    from rewardkit.cli._streams import prints_to_stderr
    from rewardkit.engine.loading import load_reward
    from rewardkit.laws.spelled import law_of, source_of

    stated = [law_of(text) for text in law or ()]
    with prints_to_stderr():
        source = load_reward(reward)
    if write:
        typer.echo(
            _test_file(reward, source.formula, data, [source_of(text) for text in law or ()], examples), nl=False
        )
        return
    from rewardkit.cli._console import spinner
    from rewardkit.laws.run import check

    samples = _samples(data)
    with prints_to_stderr(), spinner(f"trying laws on {examples} batches each"):
        outcomes = check(source.reward, *stated, samples=samples, examples=examples)
    if as_json:
        _laws_json(source.formula, outcomes)
    else:
        _show_laws(source.formula, outcomes, examples)
    if not all(outcome.kept for outcome in outcomes):
        raise typer.Exit(1)


def _samples(data: Path | None) -> list[Any]:
    if data is None:
        return []
    from rewardkit.audit.problems import read_problems

    return [p.sample(p.response or "") for p in read_problems(data, 50)]


def _laws_json(formula: str, outcomes: Sequence[Any]) -> None:
    from rewardkit.cli._console import show_json

    show_json(
        {
            "reward": formula,
            "laws": [
                {
                    "law": o.law.name,
                    "states": o.law.states,
                    "kept": o.kept,
                    "message": None if o.kept else str(o.broken),
                    "counterexample": [
                        {"response": s.response, "ground_truth": s.ground_truth}
                        for s in ([] if o.kept else o.broken.counterexample)
                    ],
                }
                for o in outcomes
            ],
        }
    )


def _show_laws(formula: str, outcomes: Sequence[Any], examples: int) -> None:
    from rich.text import Text

    from rewardkit.cli._console import console

    out = console()
    out.print(Text(formula, style="bold"))
    for o in outcomes:
        mark, style = ("kept", "green") if o.kept else ("BROKEN", "bold red")
        out.print(Text.assemble((f"{mark:<8}", style), f"{o.law.name:<24} ", (o.law.states, "dim")))
        if not o.kept:
            for line in str(o.broken).splitlines():
                out.print(Text(f"        {line}"))
    broken = sum(not o.kept for o in outcomes)
    out.print(Text(f"{len(outcomes) - broken} of {len(outcomes)} laws kept on {examples} batches each"))


def _test_file(reward: str, formula: str, data: Path | None, stated: Sequence[str], examples: int) -> str:
    """The text of a test file for pytest."""
    names = sorted({"laws", *(s.partition("(")[0] for s in stated)})
    imports = [f"from rewardkit.laws import {', '.join(names)}"]
    is_formula = "(" in reward
    what = repr(formula) if is_formula else f"load_reward({reward!r}).reward"
    if any("parse(" in s for s in stated):
        imports.insert(0, "from rewardkit import parse")
    if not is_formula:
        imports.append("from rewardkit.engine.loading import load_reward")
    arguments = [what, *stated]
    before = ""
    if data is not None:
        imports.insert(0, "from pathlib import Path\n")
        imports.insert(1 + any("parse(" in s for s in stated), "from rewardkit.audit import read_problems")
        before = f"PROBLEMS = read_problems(Path({str(data)!r}), 50)\n"
        arguments.append('samples=[p.sample(p.response or "") for p in PROBLEMS]')
    if examples != 100:
        arguments.append(f"examples={examples}")
    listed = "".join(f"    {a},\n" for a in arguments)
    title = '"""Laws that the reward keeps."""'
    return f"{title}\n\n" + "\n".join(imports) + f"\n\n{before}test_reward = laws(\n{listed})\n"


def _mutants(reward: str, data: Path | None, as_json: bool) -> None:
    from rewardkit.analysis.mutation import notice
    from rewardkit.cli._streams import prints_to_stderr
    from rewardkit.engine.loading import load_reward

    with prints_to_stderr():
        source = load_reward(reward)
        noticed = notice(source.reward, _examples(reward, data))
    if as_json:
        _mutants_json(source.formula, noticed)
    else:
        _show_mutants(source.formula, noticed)
    if noticed.failed or noticed.survived:
        raise typer.Exit(1)


def _examples(reward: str, data: Path | None) -> list[Example]:
    from rewardkit.analysis.mutation import examples_of_file, examples_of_module
    from rewardkit.engine.loading import file_value, ready_made

    if data is not None:
        return examples_of_file(data)
    name = reward.strip()
    match = _FILE_NAME.fullmatch(name)
    path = Path(match[1]) if match else ready_made().get(name)
    listed = None if path is None else file_value(f"{path}:EXAMPLES")
    if listed is None:
        raise ConfigError(
            f"--mutants needs examples, and {reward!r} comes with none",
            hint="--data FILE.jsonl with response, ground_truth and score; or "
            "EXAMPLES = [(response, ground_truth, pay), ...] "
            "in the reward's file",
        )
    return examples_of_module(listed, str(path))


def _mutants_json(formula: str, noticed: Noticed) -> None:
    from rewardkit.cli._console import show_json

    show_json(
        {
            "reward": formula,
            "examples_failed": [
                {"response": e.sample.response, "should_pay": e.pay, "pays": None if pay != pay else pay}
                for e, pay in noticed.failed
            ],
            "caught": [{"slip": m.slip, "formula": repr(m.reward), "by": e.sample.response} for m, e in noticed.caught],
            "survived": [{"slip": m.slip, "formula": repr(m.reward)} for m in noticed.survived],
        }
    )


def _show_mutants(formula: str, noticed: Noticed) -> None:
    from rich.text import Text

    from rewardkit.cli._console import console

    out = console()
    out.print(Text(formula, style="bold"))
    for example, pay in noticed.failed:
        out.print(
            Text(f"FAILS    {example.sample.response!r} should be paid {example.pay:g} and is paid {pay:g}", "red")
        )
    for mutant, example in noticed.caught:
        seen = example.sample.response
        seen = f"{seen[:57]}..." if len(seen) > 60 else seen
        out.print(Text.assemble(("noticed  ", "green"), mutant.slip, (f"  by {seen!r}", "dim")))
    for mutant in noticed.survived:
        out.print(Text.assemble(("SURVIVES ", "bold red"), mutant.slip, (f"  {mutant.reward!r}", "dim")))
    total = len(noticed.caught) + len(noticed.survived)
    out.print(Text(f"{len(noticed.caught)} of {total} slips are noticed by the examples"))
