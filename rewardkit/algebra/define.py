"""`@term`: a function becomes a term, and a built-in one enters the vocabulary."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any, Concatenate, Generic, Literal, TypeVar, overload

from rewardkit.algebra.expression import Reward, TokenReward, Verdict
from rewardkit.algebra.interval import UNIT
from rewardkit.algebra.operations.calls import call_of
from rewardkit.algebra.registry import enter_term
from rewardkit.algebra.term import NEEDS, Bounds, Cost, Need, P, Params, Term
from rewardkit.errors import ParameterError, did_you_mean

K = TypeVar("K", Reward, Verdict, TokenReward)


class _Decorator(Generic[K]):
    """What ``@term(...)`` returns: turns a function into a Term of the right kind."""

    def __init__(self, kind: type[K], options: dict[str, Any]) -> None:
        self._kind: type[K] = kind
        self._options = options

    def __call__(self, function: Callable[Concatenate[Any, P], Any]) -> Term[P, K]:
        if not isinstance(function, types.FunctionType):
            raise ParameterError(f"@term on {function!r}; expected a function")
        made: Term[P, K] = Term(function, kind=self._kind, build=call_of, **self._options)
        if made.builtin:
            enter_term(made)
        return made


@overload
def term(*, verdict: Literal[True], **options: Any) -> _Decorator[Verdict]: ...
@overload
def term(*, verdict: Callable[[Params], bool], **options: Any) -> _Decorator[Any]: ...
@overload
def term(*, per_token: Literal[True], **options: Any) -> _Decorator[TokenReward]: ...
@overload
def term(
    *,
    bounds: Bounds | Callable[[Params], Bounds] = ...,
    floor: Bounds = ...,
    needs: Iterable[Need] | Callable[[Params], Iterable[Need]] = ...,
    reads: Iterable[Need] = ...,
    cost: Cost | Literal["cheap", "cpu", "worker", "remote"] = ...,
    batched: bool = ...,
    optional: bool = ...,
    version: str = ...,
    check: Callable[[Params], None] = ...,
) -> _Decorator[Reward]: ...
def term(
    *misplaced: object, verdict: bool | Callable[[Params], bool] = False, per_token: bool = False, **options: Any
) -> Any:
    """Make a term of a function.

    The function's first parameter is a :class:`Sample` (one number out: a float, a bool, a :class:`Score`, or None for
    NOT_APPLICABLE) or, with ``batched=True``, a :class:`Batch` (an array of shape ``(n,)`` or a sequence of n such
    values out). With ``per_token=True`` it returns one array a row, as long as the row's token ids. The other
    parameters are the term's own, and need types.

    Args:
        misplaced: what `@term` without brackets gets: an error.
        verdict: the values are 0 or 1, and the node can stand where a condition is wanted; or a function of the
            parameters that says so.
        per_token: one number for each token of the response.
        options:
            ``bounds``: (low, high), None for an end without bound, or a function of the parameters that gives them;
            a value outside is an ERROR, never paid. Default: unbounded.
            ``floor``: (low, high) that a policy-caused failure is worth where the bounds have no end.
            ``needs``: what it reads of a row besides ``response``; a row whose ground truth is None is BAD_GOLD
            before the function is called.
            ``reads``: what it makes use of where a row has it.
            ``cost``: cheap, cpu, worker or remote.
            ``batched``: the function takes a Batch.
            ``optional``: the function may answer None (NOT_APPLICABLE).
            ``check``: a function of the parameters that raises where they don't fit together.
            ``version``: raise it when values change though the source doesn't (a data file, a model).

    Raises:
        ParameterError: no function, a parameter without a type, or an option that is unknown.
    """
    if misplaced:
        got = getattr(misplaced[0], "__name__", misplaced[0])
        raise ParameterError(
            f"@term got {got!r}; it takes options by their names, in brackets",
            hint="write @term(bounds=(low, high)), or @term() for values without bounds",
        )
    known = {"bounds", "floor", "needs", "reads", "cost", "batched", "optional", "version", "check"}
    for name in options:
        if name not in known:
            raise ParameterError(f"@term has no option {name!r}", hint=did_you_mean(name, known))
    if verdict and per_token:
        raise ParameterError("@term(verdict=True, per_token=True): a verdict is one value a response")
    needs = options.get("needs", ())
    if not callable(needs):
        unknown = [n for n in needs if n not in NEEDS]
        if unknown:
            raise ParameterError(f"@term(needs=...): unknown part of a row: {unknown[0]!r}", hint=f"one of {NEEDS}")
        options["needs"] = tuple(dict.fromkeys(("response", *needs, *(("tokens",) if per_token else ()))))
    if verdict:
        options.setdefault("bounds", (UNIT.low, UNIT.high))
        if callable(verdict):
            is_verdict = verdict
            options["kind_of"] = lambda given: Verdict if is_verdict(given) else Reward
        return _Decorator(Verdict, options)
    options.setdefault("bounds", (None, None))
    return _Decorator(TokenReward if per_token else Reward, options)
