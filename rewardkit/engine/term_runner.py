"""One term over many rows: run it, hold it to its declarations, and never let it raise.

Whatever a term does, a column comes back: a value and a status for each row. What a term declared is enforced here: a
value out of its bounds, of the wrong shape or not finite is an ERROR with the reason, and never paid.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rewardkit.algebra.expression import Expression, TokenReward
from rewardkit.algebra.values import TermColumn
from rewardkit.batch import Batch, Score, Status
from rewardkit.engine.read_guard import COLUMN_OF, GuardedBatch
from rewardkit.errors import ParameterError
from rewardkit.processes.timeouts import TIMED_OUT, call_in_time
from rewardkit.turns import Turn

if TYPE_CHECKING:
    from rewardkit.algebra.term import Term

_SLACK: Final = 1e-9
"""Relative slack on declared bounds, for the rounding of a term's own arithmetic."""
_NUMBERS: Final = "biuf"
"""Kinds of numpy arrays that hold numbers: what else becomes a float loses a part, or was a text or a date."""
_ASYNC_LIMIT: Final = 32
"""Calls of one async term under way at once."""


def run_term(node: Expression, batch: Batch, *, deadline: float | None = None) -> TermColumn:
    """The column of a term's node over a batch. Never raises for what the term does.

    Args:
        node: the term's node.
        batch: the rows.
        deadline: seconds of wall time that one call of a user's term may take; over it, its rows are ERROR.
    """
    assert node.term is not None
    column = _found(node, node.term, batch, deadline)
    if isinstance(node, TokenReward) and column.tokens is None:
        column.tokens = [np.zeros(0)] * len(batch)
    return column


def _found(node: Expression, term: Term[Any, Any], batch: Batch, deadline: float | None) -> TermColumn:
    """The term's column over the rows that have what it needs."""
    needs = term.needs(node)
    if "turns" in needs | term.reads:
        batch = _with_turns(batch)
    if "chat" in needs:
        batch = replace(batch, chats=batch.chats or batch.prompts)
    missing = [need for need in needs if _column_of(batch, need) is None and need not in ("response", "extra_info")]
    if missing and "ground_truth" not in missing:
        return _all(len(batch), Status.ERROR, f"{term.name} needs {', '.join(missing)}, which this batch lacks")
    unusable, given = _read_rows(node, term, batch)
    if not unusable:
        return _checked(node, term, batch, deadline, given)
    column = _all(len(batch), Status.BAD_GOLD, "")
    column.reasons.clear()
    column.reasons.update(unusable)
    if isinstance(node, TokenReward):
        column.tokens = [np.zeros(0)] * len(batch)
    usable = [i for i in range(len(batch)) if i not in unusable]
    if usable:
        column.put(usable, _checked(node, term, batch.take(usable), deadline, given))
    return column


def _read_rows(node: Expression, term: Term[Any, Any], batch: Batch) -> tuple[dict[int, str], dict[str, list[Any]]]:
    """Why rows can't be scored, and what the others give: by parameter, their values in order."""
    unusable: dict[int, str] = {}
    if "ground_truth" in term.needs(node):
        ground_truths = batch.ground_truths or [None] * len(batch)
        unusable = {i: "no ground truth" for i, ground_truth in enumerate(ground_truths) if ground_truth is None}
    names = term.columns(node)
    if not names:
        return unusable, {}
    rows: dict[int, dict[str, Any]] = {}
    for i, info in enumerate(batch.extra_infos or [{}] * len(batch)):
        try:
            rows[i] = {parameter: _row_value(term, parameter, name, info) for parameter, name in names.items()}
        except ParameterError as e:
            unusable.setdefault(i, e.message)
    usable = [row for i, row in rows.items() if i not in unusable]
    return unusable, {parameter: [row[parameter] for row in usable] for parameter in names}


def _row_value(term: Term[Any, Any], parameter: str, name: str, info: Mapping[str, Any]) -> int | float:
    if info.get(name) is None:
        raise ParameterError(f"extra_info has no {name!r} for {term.name}'s {parameter}")
    try:
        return term.row_value(parameter, info[name])
    except ParameterError as e:
        raise ParameterError(f"extra_info[{name!r}] for {term.name}'s {e.message}") from None


def _with_turns(batch: Batch) -> Batch:
    """The batch with turns in every row: where nobody says what they are, the response is the only one."""
    given = batch.turns or [None] * len(batch)
    turns = [(Turn(text),) if line is None else line for text, line in zip(batch.responses, given, strict=True)]
    return replace(batch, turns=turns)


def _column_of(batch: Batch, need: str) -> Sequence[Any] | None:
    column: Sequence[Any] | None = getattr(batch, COLUMN_OF[need])
    return column


def _all(n: int, status: Status, reason: str) -> TermColumn:
    return TermColumn(np.full(n, np.nan), np.full(n, status, dtype=np.int8), dict.fromkeys(range(n), reason))


def _checked(
    node: Expression, term: Term[Any, Any], batch: Batch, deadline: float | None, given: Mapping[str, list[Any]]
) -> TermColumn:
    """The term's answers, held to what it declared."""
    seen: Any = batch if term.builtin else GuardedBatch(batch, term.needs(node) | term.reads, term.name)
    try:
        if term.batched:
            params = {**dict(node.params), **{name: np.asarray(values) for name, values in given.items()}}
            column = _from_batched(term, seen, params, None if term.builtin else deadline)
        else:
            column = _from_samples(term, seen, _by_row(node, given), None if term.builtin else deadline)
    except BaseException as e:  # a panic of a Rust extension is not an Exception, and `exit()` in a grader ends no run
        if _ends_the_run(e):
            raise
        return _all(len(batch), Status.ERROR, traceback.format_exc())
    if isinstance(node, TokenReward):
        _sum_tokens(column, term, batch)
    _enforce(column, node, term)
    return column


def _ends_the_run(error: BaseException) -> bool:
    """Whether it is Ctrl-C, which Python gives to the main thread alone; all else that a term raises costs its rows."""
    return isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()


def _timed_out(term: Term[Any, Any], deadline: float) -> str:
    return f"{term.name} gave no answer within {deadline:g} s, and was left behind"


def _from_batched(term: Term[Any, Any], batch: Batch, params: dict[str, Any], deadline: float | None) -> TermColumn:
    if deadline is None:
        answer = term.function(batch, **params)
    else:
        answer = _called(term, batch, params, deadline)
    if isinstance(answer, str | bytes | bytearray | Mapping | Set):
        got = type(answer).__name__
        return _all(len(batch), Status.ERROR, f"{term.name} returned a {got}; expected an array or a list")
    if isinstance(answer, TermColumn) and len(answer.values) == len(batch):
        return answer
    if isinstance(answer, TermColumn):
        answer = answer.values
    if len(answer) != len(batch):
        return _all(
            len(batch),
            Status.ERROR,
            f"{term.name} returned {len(answer)} values for {len(batch)} rows; expected one each",
        )
    plain = isinstance(answer, np.ndarray) and answer.dtype.kind in _NUMBERS and not np.ma.isMaskedArray(answer)
    if plain and answer.ndim == 1:
        return TermColumn(answer.astype(np.float64), np.zeros(len(batch), dtype=np.int8))
    return _from_answers(term, list(answer))


def _called(term: Term[Any, Any], batch: Batch, params: dict[str, Any], deadline: float) -> Any:
    """A batched term's answer; what it raised is raised here, but Ctrl-C, which no other thread ever gets."""

    def call(_: int) -> Any:
        try:
            return term.function(batch, **params)
        except KeyboardInterrupt:
            return _all(len(batch), Status.ERROR, traceback.format_exc())

    (answer,) = call_in_time(call, 1, deadline)
    return _all(len(batch), Status.ERROR, _timed_out(term, deadline)) if answer is TIMED_OUT else answer


Params = Callable[[int], Mapping[str, Any]]
"""The parameters of a row."""


def _by_row(node: Expression, given: Mapping[str, list[Any]]) -> Params:
    params = dict(node.params)
    if not given:
        return lambda _: params
    return lambda i: {**params, **{name: values[i] for name, values in given.items()}}


def _from_samples(term: Term[Any, Any], batch: Batch, params: Params, deadline: float | None) -> TermColumn:
    if inspect.iscoroutinefunction(term.function):
        return _from_answers(term, _gather(term, batch, params, deadline))

    def call(i: int, sample: Any) -> Any:
        try:
            return term.function(sample, **params(i))
        except BaseException as e:
            if _ends_the_run(e):
                raise
            return Score(status=Status.ERROR, reason=traceback.format_exc())

    if deadline is None:
        return _from_answers(term, [call(i, sample) for i, sample in enumerate(batch)])
    late = Score(status=Status.ERROR, reason=_timed_out(term, deadline))
    answers = call_in_time(lambda i: call(i, batch[i]), len(batch), deadline)
    return _from_answers(term, [late if answer is TIMED_OUT else answer for answer in answers])


def _gather(term: Term[Any, Any], batch: Batch, params: Params, deadline: float | None) -> list[Any]:
    """Await all rows of an async term, at most ``_ASYNC_LIMIT`` at once, from whatever thread this is."""
    answers: list[Any] = [TIMED_OUT] * len(batch)

    async def one(gate: asyncio.Semaphore, i: int, sample: Any) -> None:
        async with gate:
            try:
                async with asyncio.timeout(deadline) as limit:
                    answers[i] = await term.function(sample, **params(i))
            except BaseException:  # this is never the main thread
                late = deadline is not None and limit.expired()
                reason = _timed_out(term, deadline or 0.0) if late else traceback.format_exc()
                answers[i] = Score(status=Status.ERROR, reason=reason)

    async def everything() -> None:
        gate = asyncio.Semaphore(_ASYNC_LIMIT)
        await asyncio.gather(*(one(gate, i, sample) for i, sample in enumerate(batch)))

    # A thread of its own: the caller's may already run an event loop, and a loop can't be entered twice.
    worker = threading.Thread(target=lambda: asyncio.run(everything()), name=f"rewardkit-{term.name}", daemon=True)
    worker.start()
    # A function that never awaits blocks its loop, and the limit above with it; one may not let itself be cancelled.
    worker.join(None if deadline is None else deadline * (2 + len(batch) // _ASYNC_LIMIT))
    blocked = "its event loop is blocked: an async term must await what takes long, and let itself be cancelled"
    ended = "the event loop ended before the row did"
    without = Score(status=Status.ERROR, reason=f"{term.name}: {blocked if worker.is_alive() else ended}")
    return [without if answer is TIMED_OUT else answer for answer in list(answers)]


def _from_answers(term: Term[Any, Any], answers: list[Any]) -> TermColumn:
    n = len(answers)
    column = TermColumn(np.full(n, np.nan), np.zeros(n, dtype=np.int8))
    if term.kind is TokenReward:
        column.tokens = [np.zeros(0)] * n
    for i, answer in enumerate(answers):
        try:
            _take(column, i, answer, term)
        except Exception:  # an integer too large for a float, text among a token's numbers
            column.values[i], column.statuses[i] = np.nan, Status.ERROR
            column.reasons[i] = traceback.format_exc()
    return column


def _take(column: TermColumn, i: int, answer: Any, term: Term[Any, Any]) -> None:
    """Write one row's answer into its place."""
    if isinstance(answer, Score):
        if not _is_number(answer.value):
            raise TypeError(f"{term.name} returned a Score of {type(answer.value).__name__}; expected a number")
        column.values[i], column.statuses[i] = answer.value, Status(answer.status)
        if answer.reason:
            column.reasons[i] = answer.reason
    elif answer is None or answer is np.ma.masked:
        column.statuses[i] = Status.NOT_APPLICABLE
    elif column.tokens is not None:
        column.tokens[i] = np.asarray(answer, dtype=np.float64)
    elif _is_number(answer):
        column.values[i] = float(answer)
    else:
        column.statuses[i] = Status.ERROR
        column.reasons[i] = f"{term.name} returned {type(answer).__name__}; expected a number, a Score or None"


def _is_number(value: object) -> bool:
    """A real number or a truth value, Python's or numpy's; no time span, which numpy counts among its integers."""
    return isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating) and not isinstance(
        value, np.timedelta64
    )


def _sum_tokens(column: TermColumn, term: Term[Any, Any], batch: Batch) -> None:
    """A token-level term's value is the sum over its tokens; an array of the wrong length is an ERROR."""
    if column.tokens is None:
        column.tokens = [np.zeros(0)] * len(batch)
    for i in np.flatnonzero(column.statuses == Status.SCORED).tolist():
        expected = len(batch.tokens[i]) if batch.tokens is not None else None
        got = column.tokens[i]
        if got.ndim != 1 or (expected is not None and len(got) != expected):
            column.statuses[i] = Status.ERROR
            column.reasons[i] = f"{term.name} returned shape {got.shape} for a response of {expected} tokens"
        else:
            column.values[i] = float(got.sum())


def _enforce(column: TermColumn, node: Expression, term: Term[Any, Any]) -> None:
    bounds = term.bounds(node)
    scored = column.statuses == Status.SCORED
    slack = _SLACK * max(1.0, *(abs(e) for e in (bounds.low, bounds.high) if np.isfinite(e)), 1.0)
    with np.errstate(invalid="ignore"):
        inside = (column.values >= bounds.low - slack) & (column.values <= bounds.high + slack)
    inside &= np.isfinite(column.values)
    for i in np.flatnonzero(scored & ~inside).tolist():
        column.statuses[i] = Status.ERROR
        column.reasons[i] = f"{term.name} gave {float(column.values[i])!r}, outside its declared bounds {bounds}"
    if not term.may_be_inapplicable:
        for i in np.flatnonzero(column.statuses == Status.NOT_APPLICABLE).tolist():
            column.statuses[i] = Status.ERROR
            column.reasons[i] = f"{term.name} gave no value (None); declare @term(optional=True) if it may"
    np.clip(column.values, bounds.low, bounds.high, out=column.values)
    column.values[column.statuses != Status.SCORED] = np.nan
