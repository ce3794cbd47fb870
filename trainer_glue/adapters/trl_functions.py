"""A formula as several reward functions of TRL's GRPOTrainer, one a part, with their weights.

    parts = reward_functions_of("gsm8k() + 0.1 * ends_with('.?!')", ground_truth="answer")
    args = GRPOConfig(reward_weights=parts.weights, multi_objective_aggregation="normalize_then_sum", ...)
    trainer = GRPOTrainer(model, reward_funcs=parts.functions, args=args, ...)

TRL logs each part under its own name, and can normalise each by itself, which is GDPO. The formula still runs once a
batch: the functions share what it came to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rewardkit.algebra.expression import Expression
from rewardkit.algebra.operation import short
from rewardkit.algebra.operations.constants import Number
from rewardkit.algebra.operations.naming import is_observed, unnamed
from rewardkit.analysis.summands import summands
from rewardkit.batch import Floats, Mask
from rewardkit.errors import CompileError
from rewardkit.processes.budget import batch_budget
from trainer_glue.adapters.base import AnyReward
from trainer_glue.adapters.trl import RewardFunction, log
from trainer_glue.adapters.unscored import UNSCORED_LIMIT, check_unscored


class RewardFunctions(NamedTuple):
    """What GRPOTrainer takes: `reward_funcs`, and `reward_weights` of its config."""

    functions: list[Callable[..., list[float | None]]]
    weights: list[float]


def reward_functions_of(
    reward: AnyReward,
    *,
    ground_truth: str = "ground_truth",
    num_generations: int | None = None,
    unscored_limit: float = UNSCORED_LIMIT,
) -> RewardFunctions:
    """One reward function for each part of a formula's sum, and the weights that make them the formula again.

    The weighted sum of the functions is the formula on every row, but for a plain number in it, which moves no
    advantage. Weights are above 0: a part that is taken off is negated. A row without a score is None in all functions;
    a part that is NOT_APPLICABLE is None in its own. Metrics of the whole formula are logged once.

    Args:
        reward: a formula, its text, a reward file or the name of a ready-made reward.
        ground_truth: the dataset's column with the ground truths.
        num_generations: the trainer's own; needed by formulas that compare the responses of one prompt.
        unscored_limit: the share of a call's rows that may be unscored before it raises.

    Raises:
        CompileError: as `RewardFunction`, or nothing in the formula is paid.
        FormulaError, ConfigError: the reward doesn't load.
    """
    whole = RewardFunction(
        reward, ground_truth=ground_truth, num_generations=num_generations, unscored_limit=unscored_limit
    )
    shared = _Shared(whole)
    if not shared.parts:
        raise CompileError(f"{whole.program.reward!r} pays nothing that a response can change")
    return RewardFunctions([_function(shared, i) for i in range(len(shared.parts))], [w for _, w in shared.parts])


class _Shared:
    """The formula over the batch that was asked for last."""

    def __init__(self, whole: RewardFunction) -> None:
        self.whole = whole
        every = list(summands(whole.program.reward))
        weights: dict[Expression, float] = {}
        for node, weight in every:
            if not isinstance(node.operation, Number) and not is_observed(node) and weight != 0:
                weights[node] = weights.get(node, 0.0) + weight
        self.constant = sum(w * n.operation.value for n, w in every if isinstance(n.operation, Number))
        self._signs = [np.sign(w) for w in weights.values() if w]
        self.nodes = [node for node, w in weights.items() if w]
        self.parts = [(node, abs(w)) for node, w in weights.items() if w]
        names = {unnamed(node): name for name, node in whole.program.named.items()}
        labels = [names.get(unnamed(node)) or short(node, 40) for node in self.nodes]
        self.names = [f"-{label}" if sign < 0 else label for label, sign in zip(labels, self._signs, strict=True)]
        self._asked: object = None
        self._columns: list[Floats] = []
        self._unscored: Mask = np.zeros(0, dtype=np.bool_)

    def column(self, i: int, call: Mapping[str, Any], columns: Mapping[str, Sequence[Any]]) -> list[float | None]:
        """What one part pays the batch."""
        if self._asked is not call["completions"]:  # TRL hands the same list to one function after the other
            self._run(call, columns)
            self._asked = call["completions"]
        gone = self._unscored | np.isnan(self._columns[i])
        return [None if g else float(v) for v, g in zip(self._columns[i], gone, strict=True)]

    def _run(self, call: Mapping[str, Any], columns: Mapping[str, Sequence[Any]]) -> None:
        whole, program = self.whole, self.whole.program
        batch = whole.batch_of(
            call["prompts"], call["completions"], call["completion_ids"], call["trainer_state"], columns
        )
        with batch_budget():
            leaves = program.leaves(batch)
        scores = program.finish(leaves, step=batch.step, groups=batch.groups)
        whole.log_failures(scores)
        check_unscored(scores, whole.unscored_limit)
        log(scores, call["log_metric"], call["log_extra"])
        values = program.trace(leaves, step=batch.step, groups=batch.groups)
        paid = [sign * values[node].value for node, sign in zip(self.nodes, self._signs, strict=True)]
        weights = [weight for _, weight in self.parts]
        sums = np.sum([w * np.nan_to_num(p) for w, p in zip(weights, paid, strict=True)], axis=0)
        rest = scores.total - self.constant - sums
        floored = ~scores.unscored & (np.abs(rest) > 1e-9 * np.maximum(1.0, np.abs(scores.total)))
        paid[0] = np.where(floored, np.nan_to_num(paid[0]) + rest / weights[0], paid[0])
        self._columns, self._unscored = paid, scores.unscored


def _function(shared: _Shared, i: int) -> Callable[..., list[float | None]]:
    def pay(
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Sequence[Sequence[int]] | None = None,
        *,
        trainer_state: Any = None,
        log_metric: Callable[[str, float], object] | None = None,
        log_extra: Callable[[str, list[Any]], object] | None = None,
        **columns: Sequence[Any],
    ) -> list[float | None]:
        call = {
            "prompts": prompts,
            "completions": completions,
            "completion_ids": completion_ids,
            "trainer_state": trainer_state,
            "log_metric": log_metric,
            "log_extra": log_extra,
        }
        return shared.column(i, call, columns)

    pay.__name__ = shared.names[i]
    return pay
