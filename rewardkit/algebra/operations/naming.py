"""What a node is called in the logs, and whether it is paid."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, overload

from rewardkit.algebra.direction import Direction
from rewardkit.algebra.expression import Reward, TokenReward, as_reward, builds
from rewardkit.algebra.interval import ZERO, Interval
from rewardkit.algebra.operation import Case, Context, Expression, Operation, Plan
from rewardkit.algebra.operations.constants import Number
from rewardkit.algebra.operations.rules import NOTHING, any_steps_out, ask_all
from rewardkit.algebra.print import Text, call, method
from rewardkit.algebra.registry import function
from rewardkit.algebra.values import Values, constant
from rewardkit.batch import Mask
from rewardkit.errors import ParameterError, shown

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]{0,63}")
"""What a name in the logs looks like: it becomes a metric key, so no slash, no blank, at most 64 characters."""
RESERVED_NAMES: Final = frozenset(
    {"total", "unscored", "reward", "score", "acc", "pred", "uid", "step", "input", "output", "gts"}
)
"""Names that verl's validation metrics and dumps, or rewardkit's own totals, already use."""


@dataclass(frozen=True, slots=True)
class Named(Operation):
    """The same value under a name of its own in the logs."""

    name: str

    json_name = "named"
    constant = False
    shared = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name):
            raise ParameterError(
                f"named({shown(self.name)}); expected a letter or _ followed by at most 63 letters, digits, '_', '.' "
                "or '-'"
            )
        if self.name in RESERVED_NAMES:
            raise ParameterError(
                f"named({self.name!r}): verl's or rewardkit's own metrics bear that name", hint="choose another"
            )

    def apply(self, *operands: Any) -> Expression:
        (node,) = operands
        if any(isinstance(n.operation, Named) and n.operation.name == self.name for n in node.walk()):
            raise ParameterError(f"named({self.name!r}): that name stands inside the same node already: {node!r}")
        named: Expression = type(node)(self, (node,))
        return named

    def values(self, node: Expression, operands: Sequence[Values], context: Context) -> Values:
        return operands[0]

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        return operands[0]

    def monotonicity(self, i: int, operands: Sequence[Interval]) -> Direction:
        return Direction.RISES

    def applicability(self, node: Expression) -> bool:
        return any_steps_out(node)

    def needs(self) -> frozenset[str]:
        return NOTHING

    def text(self, operands: Sequence[Text]) -> Text:
        return method(operands[0], "named", self.name)

    def slips(self, node: Expression) -> Iterable[tuple[str, Expression]]:
        return ()

    def demand(self, node: Expression, rows: Mask, plan: Plan) -> None:
        ask_all(node, rows, plan)

    def decided(self, i: int, operands: Sequence[Interval]) -> None:
        return None

    def paid(self, node: Expression, case: Case) -> Sequence[Expression]:
        return node.args

    def multiples(self, node: Expression) -> Sequence[Expression]:
        return node.args

    def addends(self, node: Expression, weight: float) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Observe(Operation):
    """Logged, never paid: 0, whatever its operand."""

    json_name = "observe"
    constant = True
    shared = False

    def apply(self, *operands: Any) -> Expression:
        node: Expression = observe(*operands)
        return node

    def values(self, node: Expression, operands: Sequence[Values], context: Context) -> Values:
        return constant(0.0, context.n).at(() if isinstance(node, TokenReward) else None)

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        return ZERO

    def monotonicity(self, i: int, operands: Sequence[Interval]) -> Direction:
        return Direction.NONE

    def applicability(self, node: Expression) -> bool:
        return False

    def needs(self) -> frozenset[str]:
        return NOTHING

    def text(self, operands: Sequence[Text]) -> Text:
        return call("observe", operands[0].text)

    def slips(self, node: Expression) -> Iterable[tuple[str, Expression]]:
        return ()

    def demand(self, node: Expression, rows: Mask, plan: Plan) -> None:
        ask_all(node, rows, plan)

    def decided(self, i: int, operands: Sequence[Interval]) -> None:
        return None

    def paid(self, node: Expression, case: Case) -> Sequence[Expression]:
        return ()

    def multiples(self, node: Expression) -> Sequence[Expression]:
        return ()

    def addends(self, node: Expression, weight: float) -> Sequence[tuple[Expression, float]]:
        return ()


_OBSERVE: Final = Observe()


@builds("named")
def _named(node: Expression, name: str) -> Expression:
    return Named(name).apply(node)


@overload
def observe(x: TokenReward) -> TokenReward: ...
@overload
def observe(x: Reward) -> Reward: ...
@function()
def observe(x: Reward | TokenReward) -> Reward | TokenReward:
    """Logged, never paid: its value is 0, its operand's values and statuses stand in the logs all the same."""
    node = x if isinstance(x, TokenReward) else as_reward(x, "observe")
    if isinstance(node.operation, Number):
        raise ParameterError(f"observe({x!r}): a plain number has nothing to log")
    return observed(node)


def observed(node: Reward | TokenReward) -> Reward | TokenReward:
    """The node, logged and never paid; one that is observed already stays as it is."""
    if isinstance(node.operation, Observe):
        return node
    return TokenReward(_OBSERVE, (node,)) if isinstance(node, TokenReward) else Reward(_OBSERVE, (node,))


def unnamed(node: Expression) -> Expression:
    """The node below its names."""
    while isinstance(node.operation, Named):
        node = node.args[0]
    return node


def is_observed(node: Expression) -> bool:
    """Whether a node is only observed, under whatever name."""
    return isinstance(unnamed(node).operation, Observe)
