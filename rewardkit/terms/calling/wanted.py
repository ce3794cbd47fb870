"""The calls that a row wants: exact ones, or BFCL's lists of accepted values for each argument."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rewardkit.terms.calling.call import MAX_CALLS, Call, Malformed, same
from rewardkit.terms.calling.reading import call_of, calls_in, entries_of
from rewardkit.terms.strict_json import OverLimit, read_json


@dataclass(frozen=True, slots=True)
class Wanted:
    """One call that a row wants."""

    name: str
    accepted: Mapping[str, tuple[Any, ...]]
    """For each argument the values of which any is right."""
    optional: frozenset[str] = frozenset()
    """Arguments that may be left out."""
    alternatives: bool = False
    """Whether the values of an accepted object are lists of accepted values too, as in BFCL."""

    @property
    def size(self) -> int:
        """How many things must be right: the name, and each argument that may not be left out."""
        return 1 + len(self.accepted) - len(self.optional)

    def compared(self, call: Call) -> tuple[int, int]:
        """How many things of a call are right, of ``size``, and how many arguments of it are wrong.

        One that may be left out is neither where it is right.
        """
        right, wrong = 1, 0
        for name, value in call.arguments.items():
            if not any(self._accepts(value, accepted) for accepted in self.accepted.get(name, ())):
                wrong += 1
            elif name not in self.optional:
                right += 1
        return right, wrong

    def _accepts(self, value: Any, accepted: Any) -> bool:
        return _among(value, accepted) if self.alternatives else same(value, accepted)


def _among(value: Any, accepted: Any) -> bool:
    """Whether a value is one of those that BFCL's shape accepts."""
    if isinstance(accepted, list):
        return isinstance(value, list) and len(value) == len(accepted) and all(map(_among, value, accepted))
    if not _is_table(accepted):
        return same(value, accepted)
    return (
        isinstance(value, dict)
        and value.keys() <= accepted.keys()
        and all(any(_among(value[key], one) for one in options) for key, options in accepted.items() if key in value)
        and all(_may_be_left_out(options) for key, options in accepted.items() if key not in value)
    )


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value) and all(isinstance(options, list) for options in value.values())


def _may_be_left_out(options: list[Any]) -> bool:
    return any(isinstance(option, str) and not option for option in options)


def wanted_calls(ground_truth: Any) -> list[Wanted]:
    """The calls of a ground truth; an empty list where it says that none is wanted.

    Args:
        ground_truth: a list of calls or a single one, as data or as text; see :func:`tool_call_match`.

    Raises:
        ValueError: it has no shape that is known; the text says what is wrong.
    """
    try:
        entries = _entries(ground_truth)
        if len(entries) > MAX_CALLS:
            raise Malformed(f"more than {MAX_CALLS} calls")
        return [_wanted(entry) for entry in entries]
    except OverLimit as limit:
        raise ValueError(str(limit)) from None


def _entries(ground_truth: Any) -> list[Any]:
    value = _plain(ground_truth)
    if not isinstance(value, str):
        return entries_of(value)
    try:
        return entries_of(read_json(value))
    except ValueError:
        calls = calls_in(value)
        if not calls:
            raise Malformed("a text without calls; no call at all is []") from None
        return list(calls)


def _plain(value: Any) -> Any:
    """Lists where tables hold arrays."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list | tuple) else value


def _wanted(entry: Any) -> Wanted:
    if isinstance(entry, str):
        calls = calls_in(entry)
        if calls is None or len(calls) != 1:
            raise Malformed(f"{entry!r:.80} is not one call")
        entry = calls[0]
    if isinstance(entry, Mapping):
        filled = {name: arguments for name, arguments in entry.items() if arguments is not None}  # parquet's columns
        if (
            len(filled) == 1
            and isinstance(arguments := next(iter(filled.values())), Mapping)
            and "function" not in filled
        ):
            return _of_table(next(iter(filled)), arguments)
    call = entry if isinstance(entry, Call) else call_of(entry)
    return Wanted(call.name, {name: (value,) for name, value in call.arguments.items()})


def _of_table(name: str, arguments: Mapping[str, Any]) -> Wanted:
    """BFCL's ``{name: {argument: [accepted values]}}``; an empty text says that the argument may be left out."""
    table = {argument: options for argument, options in arguments.items() if options is not None}
    for argument, options in table.items():
        if not isinstance(options, list) or not options:  # an empty list, which BFCL has, accepts nothing
            raise Malformed(f"expected a list of accepted values for the argument {argument!r} of {name!r}")
    optional = frozenset(argument for argument, options in table.items() if _may_be_left_out(options))
    return Wanted(name, {argument: tuple(options) for argument, options in table.items()}, optional, alternatives=True)
