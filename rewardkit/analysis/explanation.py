"""A formula as data for whoever explains it: its tree with what is known of each node, and with a row, what came of it.

Everything is plain data, ready for JSON; how it looks on a terminal is the command line's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from rewardkit.algebra.direction import Direction
from rewardkit.algebra.expression import Expression
from rewardkit.algebra.json import fingerprint
from rewardkit.algebra.operations.placement import On
from rewardkit.algebra.term import Cost
from rewardkit.algebra.values import NOT_RUN, Values
from rewardkit.analysis.checks import check
from rewardkit.analysis.conditional_bounds import bounds_given
from rewardkit.analysis.vocabulary import bounds_pair
from rewardkit.batch import Batch, Status
from rewardkit.engine.placement import TokenEnds
from rewardkit.engine.program import Program

_COSTS: Final = list(Cost)
_DIRECTION: Final[Mapping[Direction, str]] = {
    Direction.NONE: "unpaid",
    Direction.RISES: "rises",
    Direction.FALLS: "falls",
    Direction.MIXED: "mixed",
}
"""How the total moves when the node rises."""


def explain(program: Program) -> dict[str, Any]:
    """What is known of a formula before anything is scored."""
    root = program.reward
    return {
        "formula": repr(root),
        "fingerprint": fingerprint(root),
        "kind": type(root).__name__,
        "bounds": bounds_pair(program.bounds),
        "needs": sorted(program.needs),
        "cost": _cost(root),
        "names": list(program.names),
        "tree": _tree(program, {}),
        "diagnostics": [d.as_dict() for d in check(program)],
    }


def explain_row(
    program: Program, batch: Batch, token_ends: TokenEnds | None = None, texts: list[str] | None = None
) -> dict[str, Any]:
    """The same, with the value and status of every node on a batch's only row.

    Args:
        program: a compiled formula.
        batch: one row.
        token_ends: where tokens end in the response's text; without it no placement by a pattern is shown.
        texts: the tokens' texts, to show.

    Raises:
        CompileError: the formula needs groups and the batch has none.
    """
    leaves = program.leaves(batch)
    scores = program.finish(leaves, step=batch.step, groups=batch.groups)
    values = program.trace(leaves, step=batch.step, groups=batch.groups)
    explanation = explain(program)
    explanation["tree"] = _tree(program, values)
    explanation["row"] = {
        "total": _number(scores.total[0]),
        "status": Status(int(scores.status[0])).name.lower(),
        "reasons": {name: why[0] for name, why in scores.reasons.items() if 0 in why},
    }
    by_pattern = any(isinstance(node.operation, On) for node in program.reward.walk())
    if batch.tokens is None:
        explanation["row"]["tokens_missing"] = "the row has no `tokens`: where the reward stands on them is not shown"
    elif token_ends is None and by_pattern:
        explanation["row"]["tokens_missing"] = "`.on(pattern)` needs `token_texts` beside `tokens` to find its tokens"
    else:
        rewards = scores.token_rewards(np.ones((1, len(batch.tokens[0])), dtype=np.bool_), token_ends=token_ends)[0]
        explanation["row"]["tokens"] = [
            {"index": i, "id": batch.tokens[0][i], **({"text": texts[i]} if texts else {}), "reward": float(rewards[i])}
            for i in np.flatnonzero(rewards).tolist()
        ]
    return explanation


def _tree(program: Program, values: Mapping[Expression, Values]) -> dict[str, Any]:
    root = program.reward
    intervals = bounds_given(root, {}, {})
    names = {node: name for name, node in program.terms.items()}
    built: dict[Expression, dict[str, Any]] = {}
    for node in root.walk():
        built[node] = {
            "text": repr(node),
            "op": node.operation.json_name,
            "kind": type(node).__name__,
            "bounds": bounds_pair(intervals[node]),
            "polarity": _DIRECTION[program.directions[node]],
            **({"cost": node.term.cost.value, "needs": sorted(node.term.needs(node))} if node.term is not None else {}),
            **({"name": names[node]} if node in names else {}),
            **_value(values.get(node)),
            "operands": [built[a] for a in node.args],
        }
    return built[root]


def _value(values: Values | None) -> dict[str, Any]:
    if values is None:
        return {}
    status = int(values.status[0])
    return {
        "value": _number(values.value[0]),
        "status": "not_run" if status == NOT_RUN else Status(status).name.lower(),
    }


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _cost(root: Expression) -> str:
    costs = [n.term.cost for n in root.walk() if n.term is not None]
    return max(costs, key=_COSTS.index, default=Cost.CHEAP).value
