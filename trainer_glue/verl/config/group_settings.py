"""The advantage estimator and dynamic sampling against the formula: what would die, do nothing, or be done twice."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rewardkit.algebra.expression import Expression
from rewardkit.algebra.operation import short
from rewardkit.algebra.operations.batch_zscore import BatchZscore
from rewardkit.algebra.operations.groups import GroupZscore
from rewardkit.algebra.operations.naming import unnamed
from rewardkit.analysis.summands import summands
from rewardkit.diagnostics import Severity
from rewardkit.engine.loading import RewardSource
from rewardkit.engine.program import Program
from rewardkit.engine.program import compile as compile_reward
from rewardkit.errors import CompileError
from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.config.keys import Where
from trainer_glue.verl.config.written import dig
from trainer_glue.verl.filtering import check_metric

ESTIMATOR: Final = "algorithm.adv_estimator"
BY_STD: Final = "algorithm.norm_adv_by_std_in_grpo"
FILTER: Final = "algorithm.filter_groups.enable"
_METRIC: Final = "algorithm.filter_groups.metric"
_GRPO: Final = ("grpo", "grpo_vectorized")
WITHIN_GROUPS: Final = (*_GRPO, "rloo", "rloo_vectorized", "opo", "gdpo", "reinforce_plus_plus_baseline")
"""Estimators that pay a row by its distance from its group."""
_WIDE: Final = 10.0
"""A formula that differs by more within a group, where nothing divides its advantages by their spread."""


def check_group_settings(
    config: Mapping[str, Any], reward: RewardSource | None, where: Where
) -> list[ConfigDiagnostic]:
    """Diagnostics on a resolved config whose types were checked."""
    if reward is None:
        return []
    program = compile_reward(reward.reward)
    return [
        ConfigDiagnostic(code, message, where(key), hint, severity=severity, key=key)
        for code, severity, key, message, hint in (*_estimator(config, program), *_filter(config, program))
    ]


_Found = Iterator[tuple[str, Severity, str, str, str | None]]


def _estimator(config: Mapping[str, Any], program: Program) -> _Found:
    estimator = dig(config, ESTIMATOR)
    parts = [part for part, _ in summands(program.reward)]
    divides = estimator in _GRPO and dig(config, BY_STD) is not False
    scored = [p for p in parts if isinstance(unnamed(p).operation, GroupZscore)]
    if estimator == "gdpo" and dig(config, "trainer.use_v1") is not False:
        yield (
            "estimator",
            Severity.ERROR,
            ESTIMATOR,
            "is 'gdpo', with which verl's first step dies (KeyError: 'prompts')",
            f"adv_estimator: grpo, norm_adv_by_std_in_grpo: false, and the formula {as_gdpo(program.reward)}",
        )
    elif divides and len(scored) > 1 and len(scored) == len(parts):
        message = (
            "is true, and the formula is a sum of z-scores: each group is divided by its spread once more, so a group "
            "in which its parts agree counts as much as one in which they cancel"
        )
        yield "normalised-twice", Severity.WARNING, BY_STD, message, "false: the advantages are then GDPO's"
    elif divides and isinstance(unnamed(program.reward).operation, BatchZscore):
        message = "is true, which takes out again what batch_zscore does: each group is divided by its own spread"
        yield "normalised-twice", Severity.WARNING, BY_STD, message, "false, or leave batch_zscore out"
    width = program.bounds.high - program.bounds.low
    if estimator in WITHIN_GROUPS and not divides and estimator != "gdpo" and math.isfinite(width) and width > _WIDE:
        key = BY_STD if estimator in _GRPO else ESTIMATOR
        message = (
            f"leaves the advantages in the formula's own unit, and the formula lies in {program.bounds}: steps are "
            f"up to {width:g} times as large as with a verdict of 0 or 1"
        )
        yield "formula-scale", Severity.WARNING, key, message, "divide the formula, or lower actor.optim.lr"
    if estimator in WITHIN_GROUPS:
        for part in parts:
            if unnamed(part).operation.shared:
                message = f"compares the rows of a group, and {short(part)} is the same for all of them: it pays none"
                yield "same-in-group", Severity.WARNING, ESTIMATOR, message, "leave it out, or observe(...) it"


def _filter(config: Mapping[str, Any], program: Program) -> _Found:
    if dig(config, FILTER) is not True:
        return
    if dig(config, "trainer.use_v1") is False:
        yield "sampler", Severity.ERROR, FILTER, "is true, and verl's old trainer doesn't read it", "leave it off"
    try:
        check_metric(str(dig(config, _METRIC) or "reward"), program.names)
    except CompileError as e:
        yield "wrong-value", Severity.ERROR, _METRIC, e.message.removeprefix(f"{_METRIC} "), e.hint
    if dig(config, "actor_rollout_ref.rollout.n") == 1:
        message = "is true, and with rollout.n=1 every group is one row, which is never thrown away"
        yield "sampler", Severity.WARNING, FILTER, message, "leave it off, or set rollout.n"
    elif program.bounds.low == program.bounds.high:
        message = f"is true, and the formula is always {program.bounds.low:g}: every group would be thrown away"
        yield "sampler", Severity.ERROR, FILTER, message, None


def as_gdpo(node: Expression) -> str:
    """A formula with each part normalised within its group, as text."""
    terms: list[str] = []
    for part, weight in summands(node):
        own = repr(part) if isinstance(unnamed(part).operation, GroupZscore) else f"group_zscore({part!r})"
        size = "" if abs(weight) == 1 else f"{abs(weight):g} * "
        sign = ("- " if terms else "-") if weight < 0 else ("+ " if terms else "")
        terms.append(f"{sign}{size}{own}")
    return " ".join(terms)
