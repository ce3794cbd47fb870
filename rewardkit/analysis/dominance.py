"""Whether a wrong answer can outscore a right one: by bounds for all responses, or by two texts that show it.

What is right is said by the formula's own verdicts that read the ground truth, all together: a wrong answer is one that
every one of them rejects, a right one is one that all accept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rewardkit.algebra.direction import Direction
from rewardkit.algebra.expression import Expression, Verdict
from rewardkit.algebra.interval import Interval
from rewardkit.algebra.operation import Case, compares_rows, short
from rewardkit.algebra.operations.comparisons import FALSE, TRUE
from rewardkit.analysis.conditional_bounds import bounds_given, cases, live
from rewardkit.analysis.counterexample import Counterexample, find_counterexample
from rewardkit.analysis.diagnostics import Certainty, FormulaDiagnostic
from rewardkit.engine.program import Program


@dataclass(frozen=True, slots=True)
class _Range:
    """What wrong and right answers can earn in one case."""

    case: Case
    verdicts: tuple[Expression, ...]
    wrong: Interval
    right: Interval

    @property
    def gap(self) -> float:
        if self.wrong.high == math.inf or self.right.low == -math.inf:
            return math.inf
        return self.wrong.high - self.right.low


def dominance(program: Program, directions: Mapping[Expression, Direction]) -> Iterator[FormulaDiagnostic]:
    """Whether a wrong answer can outscore a right one. A verdict is right or wrong where it reads the ground truth."""
    root = program.reward
    ranges = [r for case in cases(root) if (r := _range(program, case, directions)) is not None]
    if not ranges:
        return
    worst = max(ranges, key=lambda r: r.gap)
    verdicts = ", ".join(dict.fromkeys(short(v) for r in ranges for v in r.verdicts))
    if worst.gap <= 1e-12:
        yield FormulaDiagnostic(
            "verdict-dominates",
            f"no wrong answer outscores a right one: a wrong one can earn {_most(worst.wrong)}, a right one "
            f"{_least(worst)}{', so the two can be equal' if worst.gap > -1e-12 else ''}",
            verdicts,
        )
        return
    counterexample = find_counterexample(program, worst.verdicts, worst.case)
    causes = _causes(program, worst, directions)
    at = "".join(f" (where {by} is {value!r})" for by, value in worst.case.items() if value is not None)
    yield FormulaDiagnostic(
        "verdict-outweighed",
        f"a wrong answer can earn {_most(worst.wrong)} while a right one can earn {_least(worst)}{at}"
        + (f"; what outweighs {verdicts}: {', '.join(causes)}" if causes else "")
        + (f". {_shown(counterexample)}" if counterexample else ""),
        verdicts,
        f"pay the rest only to right answers: when({short(worst.verdicts[0])}, 1 + ..., 0)"
        if causes
        else "the total falls where the verdict rises: look at its sign",
        certainty=Certainty.POSSIBLE if counterexample is None else Certainty.PROVED,
    )


def _range(program: Program, case: Case, directions: Mapping[Expression, Direction]) -> _Range | None:
    root = program.reward
    paid = set(live(root, case))
    verdicts = tuple(
        n for n in root.walk() if n in paid and directions[n] is not Direction.NONE and _reads_ground_truth(n)
    )
    if not verdicts:
        return None
    wrong = bounds_given(root, dict.fromkeys(verdicts, FALSE), case)[root]
    right = bounds_given(root, dict.fromkeys(verdicts, TRUE), case)[root]
    others = [n for n in paid if n.term is not None and n not in verdicts]
    if any(directions[n] is Direction.MIXED for n in others):  # such a term can fail, and pays the formula's floor then
        right = right.hull(Interval(program.bounds.low, right.low))
    return _Range(case, verdicts, wrong, right)


def _reads_ground_truth(node: Expression) -> bool:
    return node.term is not None and isinstance(node, Verdict) and "ground_truth" in node.term.needs(node)


def _causes(program: Program, worst: _Range, directions: Mapping[Expression, Direction]) -> list[str]:
    """The other parts of the formula by how much they widen the gap, the widest first."""
    root = program.reward
    causes: list[tuple[float, str]] = []
    base = bounds_given(root, {}, worst.case)
    for node in live(root, worst.case):
        if (node.term is None and not compares_rows(node)) or node in worst.verdicts:
            continue
        if directions[node] is Direction.NONE:
            continue
        own = base[node]
        still = own.low if math.isfinite(own.low) else min(own.high, 0.0)
        pinned = {node: Interval(still, still)}
        wrong = bounds_given(root, {**dict.fromkeys(worst.verdicts, FALSE), **pinned}, worst.case)[root]
        right = bounds_given(root, {**dict.fromkeys(worst.verdicts, TRUE), **pinned}, worst.case)[root]
        narrower = worst.gap - _Range(worst.case, worst.verdicts, wrong, right).gap
        if narrower > 0:  # NaN, where two parts are unbounded, is not
            causes.append((narrower, f"{short(node)} {own}"))
        elif not own.is_finite:
            causes.append((math.inf, f"{short(node)} {own}"))
    return [text for _, text in sorted(causes, key=lambda item: (-item[0], item[1]))]


def _most(interval: Interval) -> str:
    return f"at most {interval.high:g}" if math.isfinite(interval.high) else "any amount"


def _least(ranges: _Range) -> str:
    low = ranges.right.low
    return f"as little as {low:g}" if math.isfinite(low) else "an unbounded negative amount"


def _shown(counterexample: Counterexample) -> str:
    return (
        f"Of texts that were tried on the ground truth 42, {_text(counterexample.wrong)} earns "
        f"{counterexample.wrong_total:g} "
        f"and {_text(counterexample.right)} {counterexample.right_total:g}"
    )


def _text(text: str) -> str:
    words = len(text.split())
    return repr(text) if words < 10 else f"{text[:20]!r} ... {text[-12:]!r} ({words} words)"
