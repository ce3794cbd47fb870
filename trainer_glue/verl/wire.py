"""What travels from the reward loop to the sampler: the numbers of a row's extra info, and how they are read again.

The keys are the same for every row of a formula: each name's value, each term's status code and milliseconds, what it
asked of other machines, and ``unscored``. verl shows them in its validation metrics and dumps under the same names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from rewardkit.algebra.expression import Expression, TokenReward
from rewardkit.algebra.term import Cost
from rewardkit.algebra.values import TermColumn
from rewardkit.batch import Status
from rewardkit.engine.program import Leaves, Program
from rewardkit.engine.scores import UNSCORED_KEY, Scores, milliseconds_key, status_key

SECTION: Final = "rewardkit"
"""The section of verl's ``reward.reward_kwargs`` and ``sampler_kwargs`` that holds the formula."""
PREFIX: Final = "reward"
"""What the keys of the training metrics begin with."""


def runs_in_sampler(node: Expression) -> bool:
    """Whether a term needs what the reward loop can't hand over or take back: whole groups, or a number a token."""
    return isinstance(node, TokenReward) or (node.term is not None and "group" in node.term.needs(node))


def cost_keys(name: str, node: Expression) -> tuple[str, ...]:
    """The keys of what a term cost for a row: its time, and of one that asks other machines how much it asked."""
    remote = node.term is not None and node.term.cost is Cost.REMOTE
    return (milliseconds_key(name), *(f"{name}/{what}" for what in ("requests", "tokens", "usd") if remote))


def costs_of(program: Program, leaves: Leaves, rows: int) -> dict[str, dict[str, float]]:
    """By term what it cost for a row, by key: that of the batch, shared evenly."""
    costs = {}
    for name, node in program.terms.items():
        spent = leaves.costs[node]
        numbers = (1000 * spent.seconds, spent.usage.requests, spent.usage.tokens, spent.usage.usd)
        costs[name] = {key: number / rows for key, number in zip(cost_keys(name, node), numbers, strict=False)}
    return costs


def row_info(
    scores: Scores, row: int, costs: Mapping[str, Mapping[str, float]], *, none_for_nan: bool
) -> dict[str, Any]:
    """The extra info of one row.

    Args:
        scores: of a batch.
        row: which row of it.
        costs: of each term, for one row.
        none_for_nan: verl 0.9 leaves None out of its validation means; one NaN would make the mean NaN.
    """
    info: dict[str, Any] = {}
    for name, values in scores.values.items():
        value = float(values[row])
        info[name] = None if none_for_nan and np.isnan(value) else value
    for name, spent in costs.items():
        info[status_key(name)] = int(scores.statuses[name][row])
        info |= spent
    info[UNSCORED_KEY] = float(scores.unscored[row])
    return info


def failed_info(program: Program) -> dict[str, Any]:
    """The extra info of a row that could not even be read: every key, and the status ERROR."""
    info: dict[str, Any] = dict.fromkeys(program.names)
    for name, node in program.terms.items():
        info |= {status_key(name): int(Status.ERROR), **dict.fromkeys(cost_keys(name, node), 0.0)}
    return {**info, UNSCORED_KEY: 1.0}


def deferred_info(program: Program) -> dict[str, Any]:
    """The extra info of a row that the sampler is to score: every key, and no status yet."""
    info: dict[str, Any] = dict.fromkeys([*program.names, *map(status_key, program.terms)])
    costs = {key: 0.0 for name, node in program.terms.items() for key in cost_keys(name, node)}
    return {**info, **costs, UNSCORED_KEY: 1.0}


def is_deferred(info: Mapping[str, Any], program: Program) -> bool:
    """Whether a row's extra info is what `deferred_info` makes."""
    return any(info.get(status_key(name), 0) is None for name in program.terms)


def batch_info(program: Program, scores: Scores) -> dict[str, list[Any]]:
    """The extra info of a whole batch, one list a key, as verl up to 0.7.0 takes it."""
    info: dict[str, list[Any]] = {name: values.tolist() for name, values in scores.values.items()}
    info |= {status_key(name): scores.statuses[name].tolist() for name in program.terms}
    info[UNSCORED_KEY] = scores.unscored.astype(float).tolist()
    return info


def column_of(infos: Sequence[Mapping[str, Any]], name: str) -> TermColumn:
    """A term's column, read from the extra info of many rows; a row that sent nothing is an ERROR."""
    sent = [info.get(status_key(name)) for info in infos]
    statuses = np.asarray([Status.ERROR if status is None else status for status in sent], dtype=np.int8)
    values = np.asarray([np.nan if (value := info.get(name)) is None else float(value) for info in infos])
    values[statuses != Status.SCORED] = np.nan
    return TermColumn(values, statuses)


def mean_costs(infos: Sequence[Mapping[str, Any]], program: Program) -> dict[str, float]:
    """By key, what the terms cost for one row in the reward loop: the mean over the rows that were scored there."""
    means: dict[str, float] = {}
    for key in (key for name, node in program.terms.items() for key in cost_keys(name, node)):
        spent = [float(info[key]) for info in infos if info.get(key) is not None]
        if spent:
            means[key] = sum(spent) / len(spent)
    return means
