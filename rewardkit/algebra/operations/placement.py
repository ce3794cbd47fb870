"""Where on the response's tokens a reward stands, and how much it is in all. No place changes how much it is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewardkit.algebra.direction import Direction
from rewardkit.algebra.expression import Reward, TokenReward, as_reward, builds
from rewardkit.algebra.interval import Interval
from rewardkit.algebra.operation import Case, Context, Expression, Operation, Plan
from rewardkit.algebra.operations.rules import NOTHING, any_steps_out, ask_all
from rewardkit.algebra.print import Text, method
from rewardkit.algebra.values import Piece, Values
from rewardkit.batch import Floats, Mask
from rewardkit.errors import KindError, ParameterError
from rewardkit.patterns import compiled


class Placement(Operation, family=True):
    """What the same value in another place says of itself."""

    __slots__ = ()

    constant = False
    shared = False

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        return operands[0]

    def monotonicity(self, i: int, operands: Sequence[Interval]) -> Direction:
        return Direction.RISES

    def applicability(self, node: Expression) -> bool:
        return any_steps_out(node)

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

    def addends(self, node: Expression, weight: float) -> Sequence[tuple[Expression, float]]:
        return [(node.args[0], weight)]


class OnTokens(Placement, family=True):
    """A number put on tokens. A subclass says on which."""

    __slots__ = ()

    def apply(self, *operands: Any) -> Expression:
        (x,) = operands
        return TokenReward(self, (as_reward(x, f".{self.json_name}()"),))

    def values(self, node: Expression, operands: Sequence[Values], context: Context) -> Values:
        (v,) = operands
        return v.at((self.piece(np.where(v.known, v.value, 0.0)),))

    @abstractmethod
    def piece(self, amount: Floats) -> Piece:
        """An amount for each row, on its tokens."""

    def needs(self) -> frozenset[str]:
        return frozenset({"tokens"})


@dataclass(frozen=True, slots=True)
class Spread(OnTokens):
    """Evenly on all tokens of the response."""

    json_name = "spread"

    def piece(self, amount: Floats) -> Piece:
        return Piece(amount, "spread")

    def text(self, operands: Sequence[Text]) -> Text:
        return method(operands[0], "spread")


@dataclass(frozen=True, slots=True)
class On(OnTokens):
    """On the tokens that end a match of a pattern; on the last one where nothing matches."""

    pattern: str

    json_name = "on"

    def __post_init__(self) -> None:
        if not isinstance(self.pattern, str) or not self.pattern:
            raise ParameterError(f"on({self.pattern!r}); expected a regular expression that is not empty")
        try:
            compiled(self.pattern)
        except ValueError as e:
            raise ParameterError(f"on({self.pattern!r}): not a regular expression: {e}") from e

    def piece(self, amount: Floats) -> Piece:
        return Piece(amount, "on", self.pattern)

    def text(self, operands: Sequence[Text]) -> Text:
        return method(operands[0], "on", self.pattern)


@dataclass(frozen=True, slots=True)
class Total(Placement):
    """The sum over the response's tokens, as one number."""

    json_name = "total"

    def apply(self, *operands: Any) -> Expression:
        (x,) = operands
        if not isinstance(x, TokenReward):
            raise KindError(f"`.total()` of {x!r}; expected a TokenReward")
        return Reward(self, (x,))

    def values(self, node: Expression, operands: Sequence[Values], context: Context) -> Values:
        return operands[0].at(None)

    def needs(self) -> frozenset[str]:
        return NOTHING

    def text(self, operands: Sequence[Text]) -> Text:
        return method(operands[0], "total")


@builds("on")
def _on(x: Reward, pattern: str) -> Expression:
    return On(pattern).apply(x)


builds("spread")(Spread().apply)
builds("total")(Total().apply)
