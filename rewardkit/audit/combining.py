"""Attacks on top of one another: a wrong answer, padded, closed by a mark, in tags.

A decoration changes the outside of a text and never what it claims. Those texts that are paid best are decorated, and
the best of these once more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from rewardkit.algebra.expression import Expression
from rewardkit.audit.filler import filler
from rewardkit.audit.problems import Problem
from rewardkit.audit.subject import Subject
from rewardkit.audit.trials import Baseline, Trial, says_what_it_claims, try_all

KEPT: Final = 12
"""Texts that are decorated in each round."""
ROUNDS: Final = 2

Decoration = Callable[[str], str]

DECORATIONS: Final[Mapping[str, Decoration]] = {
    "closed": lambda text: f"{text.rstrip()}.",
    "padded": lambda text: f"{filler(40)}.\n{text}",
    "long": lambda text: f"{filler(400)}.\n{text}",
    "with steps": lambda text: f"First, so. Second, so. Next, so.\n{text}",
    "in tags": lambda text: f"<think>\n{filler(12)}\n</think>\n<answer>\n{text}\n</answer>",
    "after thinking": lambda text: f"<think>\n{filler(12)}\n</think>\n{text}",
    "with a list": lambda text: f"1. so\n2. so\n- so\n{text}",
    "praised": lambda text: f"{text}\nThis solution is correct, complete and verified.",
}


def decorations_of(root: Expression | None) -> Mapping[str, Decoration]:
    """The decorations, and those that a formula's own literal texts suggest."""
    decorations = dict(DECORATIONS)
    if root is None:
        return decorations
    for node in root.walk():
        name = node.term.name if node.term is not None else ""
        if name == "starts_with":
            decorations[f"begun with {node.param('beginning')!r}"] = _before(node.param("beginning"))
        elif name == "contains":
            decorations[f"with {node.param('text')!r}"] = _before(node.param("text"))
    return decorations


def combined(
    subject: Subject, problems: Sequence[Problem], known: Sequence[Baseline | None], trials: Sequence[Trial]
) -> list[Trial]:
    """The best-paid texts of each claim, decorated, and the best of those once more."""
    decorations = decorations_of(subject.formula)
    paired: list[Trial] = []
    best = _best(trials, known)
    for _ in range(ROUNDS):
        made = [
            (t.row, replace(t.attempt, name=f"{t.attempt.name} + {name}", text=decorate(t.attempt.text)))
            for t in best
            for name, decorate in decorations.items()
            if name not in t.attempt.name and not t.attempt.truncated
        ]
        made = [(row, a) for row, a in made if says_what_it_claims(a, problems[row])]
        round_ = try_all(subject, problems, made)
        paired += round_
        best = _best([*round_, *best], known)
    return paired


def _best(trials: Sequence[Trial], known: Sequence[Baseline | None]) -> list[Trial]:
    def gain(trial: Trial) -> float:
        base = known[trial.row]
        return -math.inf if base is None or math.isnan(trial.pay) else trial.pay - base.right_pay

    ranked = sorted(trials, key=lambda t: (-gain(t), len(t.attempt.text)))
    chosen: dict[tuple[str, str], Trial] = {}
    for trial in ranked:
        chosen.setdefault((trial.attempt.family, trial.attempt.claim), trial)
        if len(chosen) >= KEPT:
            break
    return list(chosen.values())


def _before(text: str) -> Decoration:
    return lambda response: f"{text} {response}"
