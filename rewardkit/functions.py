"""The functions of the algebra: what operators can't spell. Each builds a node and checks its operands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

from rewardkit.errors import KindError, ParameterError
from rewardkit.expression import (
    Condition,
    Expression,
    Reward,
    TokenReward,
    _observed,
    as_condition,
    as_reward,
    number,
)


@overload
def when(condition: Condition, then: TokenReward, otherwise: Reward | TokenReward | float) -> TokenReward: ...
@overload
def when(condition: Condition, then: Reward | float, otherwise: TokenReward) -> TokenReward: ...
@overload
def when(condition: Condition, then: Reward | float, otherwise: Reward | float) -> Reward: ...
def when(
    condition: Condition, then: Reward | TokenReward | float, otherwise: Reward | TokenReward | float
) -> Reward | TokenReward:
    """``then`` where the condition holds, ``otherwise`` where it doesn't. The branch that no row takes does not run.

    Raises:
        KindError: the condition is not a Condition or Verdict, or a branch is not a number.
    """
    args = (as_condition(condition, "when"), _branch(then), _branch(otherwise))
    kind = TokenReward if any(isinstance(a, TokenReward) for a in args) else Reward
    return kind("when", args)


def clip(x: Reward | float, low: float | None = None, high: float | None = None) -> Reward:
    """``min(max(x, low), high)``; None leaves that side open.

    Raises:
        ParameterError: no bound at all, a bound that is not finite, or ``low > high``.
    """
    lo = None if low is None else number(low).param("value")
    hi = None if high is None else number(high).param("value")
    if lo is None and hi is None:
        raise ParameterError("clip() without low and high changes nothing", hint="give one: clip(x, 0, 1)")
    if lo is not None and hi is not None and lo > hi:
        raise ParameterError(f"clip(low={low!r}, high={high!r}): low is above high")
    return Reward("clip", (as_reward(x, "clip"),), (("low", lo), ("high", hi)))


def minimum(*rewards: Reward | float) -> Reward:
    """The smallest of its operands, for each response; those that are NOT_APPLICABLE step out."""
    return _fold("minimum", rewards)


def maximum(*rewards: Reward | float) -> Reward:
    """The largest of its operands, for each response; those that are NOT_APPLICABLE step out."""
    return _fold("maximum", rewards)


def mean(*rewards: Reward | float) -> Reward:
    """The mean of its operands, for each response; those that are NOT_APPLICABLE step out."""
    return _fold("mean", rewards)


def route(
    rewards: Mapping[str, Reward | float], by: str = "data_source", otherwise: Reward | float | None = None
) -> Reward:
    """One reward a kind of row: the one whose key equals the row's ``by``.

    Args:
        rewards: from the value of ``by`` to the reward of such rows.
        by: ``data_source``, or the name of an entry of ``extra_info``.
        otherwise: the reward of all other rows; without it they are NOT_APPLICABLE, never a silent 0.

    Raises:
        ParameterError: no routes, a key that is no text, or an empty ``by``.
    """
    if not isinstance(rewards, Mapping) or not rewards:
        raise ParameterError(f"route({rewards!r}); expected a mapping such as {{'openai/gsm8k': gsm8k()}}")
    bad = [k for k in rewards if not isinstance(k, str)]
    if bad:
        raise ParameterError(f"route: the key {bad[0]!r} is {type(bad[0]).__name__}; expected text, a value of {by!r}")
    if not isinstance(by, str) or not by:
        raise ParameterError(f"route(by={by!r}); expected 'data_source' or the name of an entry of extra_info")
    args = [as_reward(r, f"route[{k!r}]") for k, r in rewards.items()]
    if otherwise is not None:
        args.append(as_reward(otherwise, "route(otherwise=...)"))
    return Reward("route", tuple(args), (("keys", tuple(rewards)), ("by", by)))


@overload
def observe(x: TokenReward) -> TokenReward: ...
@overload
def observe(x: Reward) -> Reward: ...
def observe(x: Reward | TokenReward) -> Reward | TokenReward:
    """Logged, never paid: its value is 0, its operand's values and statuses stand in the logs all the same."""
    if isinstance(x, TokenReward):
        return _observed(x)
    node = as_reward(x, "observe")
    if node.op == "number":
        raise ParameterError(f"observe({x!r}): a plain number has nothing to log")
    return _observed(node)


def schedule(points: Mapping[int, float]) -> Reward:
    """A weight by the training step: each point's value from its step on, until the next point.

    Before the first point its value holds too. ``schedule({0: 0.5, 200: 0.0}) * length()`` pays length for 200 steps.

    Raises:
        ParameterError: no points, a step that is no integer from 0 on, or a value that is not finite.
    """
    return _steps(points, "step")


def linear(start: float, end: float, *, steps: int, begin: int = 0) -> Reward:
    """A weight that goes from ``start`` to ``end`` in a straight line over ``steps`` steps, then stays.

    Raises:
        ParameterError: fewer than one step, a negative ``begin``, or a value that is not finite.
    """
    for name, value, least in (("steps", steps, 1), ("begin", begin, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ParameterError(f"linear({name}={value!r}); expected an integer from {least} on")
    return _steps({begin: start, begin + steps: end}, "linear")


def group_zscore(x: Reward) -> Reward:
    """``(x - mean) / (standard deviation + 1e-6)`` within the row's group, standard deviation over n - 1.

    A group of one gives 0. Needs whole groups. Source: GRPO's advantage (Shao et al. 2024, arXiv 2402.03300, eq. 3).
    """
    return Reward("group_zscore", (as_reward(x, "group_zscore"),))


def group_rank(x: Reward) -> Reward:
    """The rank of x within the row's group, from 0 (lowest) to 1 (highest); equal values share their mean rank.

    A group of one, or one whose values are all equal, gives 0.5. Needs whole groups.
    """
    return Reward("group_rank", (as_reward(x, "group_rank"),))


def group_minmax(x: Reward) -> Reward:
    """``(x - min) / (max - min)`` over the row's group: 0 for its lowest, 1 for its highest.

    A group of one, or one whose values are all equal, gives 0.5. Needs whole groups. With it the length reward of
    Kimi k1.5 (arXiv 2501.12599, section 2.3.3) is ``when(right, shorter, minimum(0, shorter))``, where ``right`` is
    ``math_equal()`` and ``shorter`` is ``0.5 - group_minmax(length(unit='tokens'))``.
    """
    return Reward("group_minmax", (as_reward(x, "group_minmax"),))


def group_share(x: Reward) -> Reward:
    """The share of the row's group whose x equals this row's, the row itself included; needs whole groups.

    ``group_share(answer_key())`` is the share of the rollouts that give the same answer, and
    ``when(group_share(answer_key()) > 0.5, 1, 0)`` the majority vote as a reward. A row that a policy-caused failure
    left without an answer agrees with nobody: it gets 0 (1 where the share is a penalty). Source: majority voting as
    the label, TTRL (Zuo et al. 2025, arXiv 2504.16084).
    """
    return Reward("group_share", (as_reward(x, "group_share"),))


def _steps(points: Any, shape: str) -> Reward:
    if not isinstance(points, Mapping) or not points:
        raise ParameterError(f"schedule({points!r}); expected a mapping from steps to values, {{0: 0.5, 200: 0.0}}")
    for step in points:
        if isinstance(step, bool) or not isinstance(step, int) or step < 0:
            raise ParameterError(f"schedule: the step {step!r} is not an integer from 0 on")
    ordered = tuple((step, number(points[step]).param("value")) for step in sorted(points))
    return Reward("schedule", (), (("points", ordered), ("shape", shape)))


def _branch(value: object) -> Reward | TokenReward:
    return value if isinstance(value, TokenReward) else as_reward(value, "a branch of when")


def _fold(op: str, rewards: tuple[object, ...]) -> Reward:
    if not rewards:
        raise ParameterError(f"{op}() of nothing", hint=f"give at least one reward: {op}(a, b)")
    if len(rewards) == 1 and isinstance(rewards[0], list | tuple):
        raise KindError(
            f"{op} got one {type(rewards[0]).__name__}; expected rewards", hint=f"unpack it: {op}(*rewards)"
        )
    args: tuple[Expression, ...] = tuple(as_reward(r, op) for r in rewards)
    return Reward(op, args)
