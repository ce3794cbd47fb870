"""What a formula's tree says about it before a single response is scored.

Each diagnostic says whether it is proved (it holds whatever the terms do within their declarations, or a pair of texts
shows it) or possible (the bounds allow it). Nothing here runs a user's term, and no data may enter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from rewardkit.algebra.direction import Direction
from rewardkit.algebra.expression import Expression, Reward
from rewardkit.algebra.interval import Interval
from rewardkit.algebra.monotonicity import directions
from rewardkit.algebra.operation import compares_rows, may_step_out, short
from rewardkit.algebra.operations.choice import When
from rewardkit.algebra.operations.comparisons import FALSE, TRUE
from rewardkit.algebra.operations.constants import Schedule
from rewardkit.algebra.operations.extrema import Extremum, Maximum
from rewardkit.algebra.operations.naming import Observe, is_observed
from rewardkit.analysis.conditional_bounds import bounds_given
from rewardkit.analysis.diagnostics import Certainty, FormulaDiagnostic
from rewardkit.analysis.dominance import dominance
from rewardkit.diagnostics import ordered
from rewardkit.engine.program import Program


def check(program: Program) -> tuple[FormulaDiagnostic, ...]:
    """Everything that a compiled formula's tree says of it, warnings first."""
    root = program.reward
    towards = directions(root)
    found = [
        *_unbounded(program, towards),
        *dominance(program, towards),
        *_dead_branches(root),
        *_without_effect(root),
        *_never_deciding(root),
        *_observed(root),
        *_group_relative(root),
        *_scheduled(root),
    ]
    return ordered(found)


def _unbounded(program: Program, towards: Mapping[Expression, Direction]) -> Iterator[FormulaDiagnostic]:
    root, total = program.reward, program.bounds
    if total.is_finite:
        return
    intervals = bounds_given(root, {}, {})
    sources = [
        n
        for n in root.walk()
        if (n.term is not None or compares_rows(n)) and not intervals[n].is_finite and towards[n] is not Direction.NONE
    ]
    directions = _infinite(total)
    shown: set[str] = set()
    for node in _straight(root).intersection(sources):
        if node.term is not None and node.term.builtin and towards[node] is not Direction.MIXED:
            own = intervals[node]
            shown.update(_infinite(own if towards[node] is Direction.RISES else -own))
    names = ", ".join(dict.fromkeys(short(n) for n in sources))
    undeclared = [n for n in sources if n.term is not None and not n.term.builtin]
    yield FormulaDiagnostic(
        "unbounded-total",
        f"the total is unbounded {' and '.join(directions)}, by {names}",
        short(root),
        "declare @term(bounds=(low, high))" if undeclared else "cap it: clip(x, low, high), or the term's own cap",
        certainty=Certainty.PROVED if shown.issuperset(directions) else Certainty.POSSIBLE,
    )


def _infinite(interval: Interval) -> list[str]:
    return [way for way, end in (("above", interval.high), ("below", interval.low)) if not math.isfinite(end)]


def _straight(root: Expression) -> set[Expression]:
    """The nodes that the total is a plain multiple of, other things equal: no clip, no choice, no condition between."""
    summands: set[Expression] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        summands.add(node)
        stack.extend(node.operation.multiples(node))
    return summands


def _dead_branches(root: Expression) -> Iterator[FormulaDiagnostic]:
    intervals = bounds_given(root, {}, {})
    for node in root.walk():
        if not isinstance(node.operation, When):
            continue
        condition, then, otherwise = node.args
        sure = intervals[condition]
        if sure in (TRUE, FALSE):
            dead = otherwise if sure == TRUE else then
            yield FormulaDiagnostic(
                "dead-branch",
                f"{short(condition)} {'always' if sure == TRUE else 'never'} holds, so {short(dead)} is never paid",
                short(node),
                "compare with a number inside the bounds of both sides",
            )


def _without_effect(root: Expression) -> Iterator[FormulaDiagnostic]:
    intervals = bounds_given(root, {}, {})
    hidden: set[Expression] = set()
    for node in reversed(list(root.walk())):  # parents first: only the outermost is told
        if node in hidden or is_observed(node):
            hidden.update(node.args)
            continue
        has_terms = any(n.term is not None for n in node.walk())
        constant = intervals[node].low == intervals[node].high
        if not constant or not has_terms or not isinstance(node, Reward):
            continue
        hidden.update(node.args)
        yield FormulaDiagnostic(
            "no-effect",
            f"{short(node)} is always {intervals[node].low:g}: nothing inside it changes the total",
            short(node),
            "to log a term without paying it, write observe(...)",
        )


def _never_deciding(root: Expression) -> Iterator[FormulaDiagnostic]:
    intervals = bounds_given(root, {}, {})
    for node in root.walk():
        if not isinstance(node.operation, Extremum):
            continue
        name = node.operation.json_name
        for i, operand in enumerate(node.args):
            for j, other in enumerate(node.args):
                if i == j or may_step_out(other) or (other == operand and j > i):
                    continue
                a, b = intervals[operand], intervals[other]
                if b.low >= a.high if isinstance(node.operation, Maximum) else b.high <= a.low:
                    yield FormulaDiagnostic(
                        "never-decides",
                        f"{short(operand)} {a} never decides this {name}: {short(other)} {b} always does",
                        short(node),
                    )
                    break


def _observed(root: Expression) -> Iterator[FormulaDiagnostic]:
    for node in root.walk():
        if isinstance(node.operation, Observe):
            inner = short(node.args[0])
            yield FormulaDiagnostic("weight-zero", f"{inner} is logged, never paid", short(node))


def _group_relative(root: Expression) -> Iterator[FormulaDiagnostic]:
    for node in root.walk():
        if "batch" in node.operation.needs():
            yield FormulaDiagnostic(
                "group-relative",
                f"{short(node)} needs all rows of a training step together. A trainer that hands over fewer can't "
                "carry it. `rewardkit score` takes each file as one batch",
                short(node),
            )
        elif compares_rows(node):
            yield FormulaDiagnostic(
                "group-relative",
                f"{short(node)} needs all responses of a prompt together. A trainer that hands over one response at a "
                "time can't carry it. `rewardkit score` takes them from the column `group`",
                short(node),
            )


def _scheduled(root: Expression) -> Iterator[FormulaDiagnostic]:
    for node in root.walk():
        if isinstance(node.operation, Schedule):
            first = node.operation.points[0][1]
            yield FormulaDiagnostic(
                "schedule-without-step",
                f"{short(node)} follows the training step; outside a run, without a step, it counts as {first:g}",
                short(node),
            )
