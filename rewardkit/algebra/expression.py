"""The kinds of nodes and the operators that build them.

A node is a frozen, hashable, structurally equal value: an operation and its operands. Its kind is its Python class, so
that mypy and pyright see the same rules that are checked here:

=============  ===============================  =====================================================
kind           what it is, for each response    made by
=============  ===============================  =====================================================
`Reward`       one number                       terms, ``+ - *``, ``/`` by a number, :func:`when`, ...
`Condition`    true or false                    ``< <= > >=`` between rewards, ``& | ~``
`Verdict`      0 or 1: a Reward and a Condition  terms such as ``gsm8k()``, ``& | ~`` between verdicts
`TokenReward`  one number a response token      token-level terms, ``x.on(pattern)``, ``x.spread()``
=============  ===============================  =====================================================

Only linear operations keep a TokenReward a TokenReward; others need ``.total()`` first. ``==`` compares nodes and is
never a Condition. A node has no truth value: ``and``, ``or``, ``if`` and ``0 < x < 1`` raise, and name the spelling.

What an operator builds is handed in by the file of its operation, which stands above this one (:func:`builds`).
"""

# mypy: disable-error-code="no-any-return"
# (what is handed in has the type that the method states)

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar, overload

from rewardkit.algebra.operation import MAX_DEPTH, MAX_NODES, Expression
from rewardkit.errors import KindError

__all__ = [
    "MAX_DEPTH",
    "MAX_NODES",
    "Condition",
    "Expression",
    "Reward",
    "TokenReward",
    "Verdict",
    "as_condition",
    "as_number_node",
    "as_reward",
    "as_token_reward",
    "builds",
    "number",
]

F = TypeVar("F", bound=Callable[..., Any])

_BUILD: Final[dict[str, Callable[..., Any]]] = {}


def builds(sign: str) -> Callable[[F], F]:
    """Hand in what an operator or a method of nodes builds."""

    def hand_in(function: F) -> F:
        _BUILD[sign] = function
        return function

    return hand_in


_PLACEMENTS: Final[Mapping[str, str]] = {
    "on": "Reward", "spread": "Reward", "total": "TokenReward", "named": "Reward or TokenReward",
}  # fmt: skip


def _misplaced(node: Expression, name: str) -> NoReturn:
    """The error for a method that nodes of another kind have."""
    if not name.startswith("_") and name in _PLACEMENTS:
        raise KindError(
            f"`.{name}(...)` on a {type(node).__name__}; expected a {_PLACEMENTS[name]}: {node!r}",
            hint="make a number of a condition with when(condition, 1, 0)"
            if isinstance(node, Condition)
            else "a TokenReward becomes one number with .total()",
        )
    raise AttributeError(f"{type(node).__name__!r} object has no attribute {name!r}")


def _no_condition(sign: str) -> Callable[..., Any]:
    """``&`` or ``|`` of a node that is not a Condition: the error says what it expects."""

    def refuse(self: Expression, other: object) -> Any:
        return _BUILD[sign](self, other)

    return refuse


class Reward(Expression):
    """One number for each response."""

    __slots__ = ()

    @overload
    def __add__(self, other: TokenReward) -> TokenReward: ...
    @overload
    def __add__(self, other: Reward | float) -> Reward: ...
    def __add__(self, other: Reward | TokenReward | float) -> Reward | TokenReward:
        return _BUILD["+"](self, other)

    def __radd__(self, other: float) -> Reward:
        return as_reward(_BUILD["+"](other, self), "+")

    @overload
    def __sub__(self, other: TokenReward) -> TokenReward: ...
    @overload
    def __sub__(self, other: Reward | float) -> Reward: ...
    def __sub__(self, other: Reward | TokenReward | float) -> Reward | TokenReward:
        return _BUILD["+"](self, -as_number_node(other, "-"))

    def __rsub__(self, other: float) -> Reward:
        return as_reward(_BUILD["+"](other, -self), "-")

    @overload
    def __mul__(self, other: TokenReward) -> TokenReward: ...
    @overload
    def __mul__(self, other: Reward | float) -> Reward: ...
    def __mul__(self, other: Reward | TokenReward | float) -> Reward | TokenReward:
        return _BUILD["*"](self, other)

    def __rmul__(self, other: float) -> Reward:
        return as_reward(_BUILD["*"](other, self), "*")

    def __truediv__(self, other: float) -> Reward:
        return _BUILD["/"](self, other)

    if not TYPE_CHECKING:  # type checkers know what each kind has
        __getattr__ = _misplaced
        __and__, __or__ = _no_condition("&"), _no_condition("|")

        def __rtruediv__(self, other: object) -> Any:
            return _BUILD["/"](other, self)

    def __neg__(self) -> Reward:
        return _BUILD["-"](self)

    def __pos__(self) -> Reward:
        return self

    def __lt__(self, other: Reward | float) -> Condition:
        return _BUILD["<"](self, other)

    def __le__(self, other: Reward | float) -> Condition:
        return _BUILD["<="](self, other)

    def __gt__(self, other: Reward | float) -> Condition:
        return _BUILD[">"](self, other)

    def __ge__(self, other: Reward | float) -> Condition:
        return _BUILD[">="](self, other)

    def named(self, name: str) -> Reward:
        """The same value under a name of its own in the logs.

        Raises:
            ParameterError: not a letter or underscore followed by letters, digits, ``_ . -`` (64 characters at most),
                a reserved name, or a name that stands inside this node already.
        """
        return _BUILD["named"](self, name)

    def on(self, pattern: str) -> TokenReward:
        """Place the value on the tokens that end the matches of a regular expression, shared evenly among them.

        A response without a match gets it on its last token: where a value stands never changes how much it is.

        Raises:
            ParameterError: the pattern doesn't compile.
        """
        return _BUILD["on"](self, pattern)

    def spread(self) -> TokenReward:
        """Place the value evenly on all tokens of the response."""
        return _BUILD["spread"](self)


class Condition(Expression):
    """True or false for each response."""

    __slots__ = ()

    def __and__(self, other: Condition) -> Condition:
        return _BUILD["&"](self, other)

    def __or__(self, other: Condition) -> Condition:
        return _BUILD["|"](self, other)

    def __invert__(self) -> Condition:
        return _BUILD["~"](self)

    if not TYPE_CHECKING:  # for the error's sake; type checkers refuse these without our help
        __getattr__ = _misplaced

        def _no_arithmetic(self, other: object = None) -> NoReturn:
            raise KindError(
                f"a Condition in arithmetic: {self!r}",
                hint=f"make a number of it with when({self!r}, 1, 0)",
            )

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _no_arithmetic
        __neg__ = __lt__ = __le__ = __gt__ = __ge__ = _no_arithmetic
        __rand__ = __ror__ = lambda self, other: as_condition(other, "& or |")


class Verdict(Reward, Condition):
    """0 or 1 for each response: a number in arithmetic, a truth value where a condition is wanted."""

    __slots__ = ()

    @overload
    def __and__(self, other: Verdict) -> Verdict: ...
    @overload
    def __and__(self, other: Condition) -> Condition: ...
    def __and__(self, other: Condition) -> Condition:
        return _BUILD["&"](self, other)

    @overload
    def __or__(self, other: Verdict) -> Verdict: ...
    @overload
    def __or__(self, other: Condition) -> Condition: ...
    def __or__(self, other: Condition) -> Condition:
        return _BUILD["|"](self, other)

    def __invert__(self) -> Verdict:
        return _BUILD["~"](self)

    def named(self, name: str) -> Verdict:
        """The same verdict under a name of its own in the logs; see :meth:`Reward.named`."""
        return _BUILD["named"](self, name)


class TokenReward(Expression):
    """One number for each token of each response. Its total is their sum."""

    __slots__ = ()

    def __add__(self, other: Reward | TokenReward | float) -> TokenReward:
        return as_token_reward(_BUILD["+"](self, other))

    def __radd__(self, other: float) -> TokenReward:
        return as_token_reward(_BUILD["+"](other, self))

    def __sub__(self, other: Reward | TokenReward | float) -> TokenReward:
        return as_token_reward(_BUILD["+"](self, -as_number_node(other, "-")))

    def __rsub__(self, other: float) -> TokenReward:
        return as_token_reward(_BUILD["+"](other, -self))

    def __mul__(self, other: Reward | float) -> TokenReward:
        return as_token_reward(_BUILD["*"](self, other))

    def __rmul__(self, other: float) -> TokenReward:
        return as_token_reward(_BUILD["*"](other, self))

    def __truediv__(self, other: float) -> TokenReward:
        return _BUILD["/"](self, other)

    def __neg__(self) -> TokenReward:
        return _BUILD["-"](self)

    def __pos__(self) -> TokenReward:
        return self

    if not TYPE_CHECKING:
        __getattr__ = _misplaced

        def __rtruediv__(self, other: object) -> Any:
            return _BUILD["/"](other, self)

        __and__, __or__ = _no_condition("&"), _no_condition("|")

        def _compare_tokens(self, other: object) -> NoReturn:
            as_reward(self, "a comparison")

        __lt__ = __le__ = __gt__ = __ge__ = _compare_tokens

    def total(self) -> Reward:
        """The sum over the response's tokens, as one number."""
        return _BUILD["total"](self)

    def named(self, name: str) -> TokenReward:
        """The same value under a name of its own in the logs; see :meth:`Reward.named`."""
        return _BUILD["named"](self, name)


def number(value: object) -> Reward:
    """A plain number as a node.

    Raises:
        KindError: not a number (a bool is none).
        ParameterError: NaN or infinite.
    """
    node: Reward = _BUILD["number"](value)
    return node


def as_number_node(value: object, where: str) -> Reward | TokenReward:
    """A Reward or TokenReward from what stands beside an arithmetic operator."""
    if isinstance(value, TokenReward):
        return value
    return as_reward(value, where)


def as_reward(value: object, where: str) -> Reward:
    """A Reward from a number or a node, or the error that says how to get one.

    Raises:
        KindError: a Condition, a TokenReward, or no node at all.
    """
    if isinstance(value, Reward):
        return value
    if isinstance(value, TokenReward):
        raise KindError(
            f"{where} got a TokenReward, {value!r}; expected a Reward",
            hint="sum its tokens first: (...).total()",
        )
    if isinstance(value, Condition):
        raise KindError(
            f"{where} got a Condition, {value!r}; expected a Reward",
            hint=f"make a number of it with when({value!r}, 1, 0)",
        )
    _reject_term(value, where)
    return number(value)


def as_condition(value: object, where: str) -> Condition:
    """A Condition from a node, or the error that says how to get one.

    Raises:
        KindError: a Reward that is not a Verdict, a TokenReward, or no node at all.
    """
    if isinstance(value, Condition):
        return value
    if isinstance(value, Reward):
        raise KindError(
            f"{where} got a Reward, {value!r}; expected a Condition", hint=f"compare it with a number: {value!r} > 0"
        )
    _reject_term(value, where)
    raise KindError(f"{where} got {value!r} ({type(value).__name__}); expected a Condition")


def as_token_reward(value: Reward | TokenReward) -> TokenReward:
    """A TokenReward as it is; a plain Reward, standing on the last token, where a sum or product turned out to be one.

    Raises:
        KindError: not a TokenReward.
    """
    if isinstance(value, TokenReward):
        return value
    raise KindError(f"expected a TokenReward, got the Reward {value!r}", hint="place it with .spread() or .on(pattern)")


def _reject_term(value: object, where: str) -> None:
    """`gsm8k + 1` for `gsm8k() + 1` is the commonest slip: name it."""
    name = getattr(value, "__name__", None)
    if callable(value) and name:
        raise KindError(f"{where} got the term {name!r} itself; expected a node", hint=f"call it: {name}(...)")
