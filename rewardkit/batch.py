"""What is scored, and what a score is: the nouns that every other package uses.

A :class:`Sample` is one response with what is known about its prompt; a :class:`Batch` is many of them, in columns. A
:class:`Score` is a value *and* a status, because "wrong", "did not answer", "the ground truth is unusable" and "the
grader died" teach a policy different things. Nothing in here knows about formulas, terms or trainers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rewardkit.errors import DataError
from rewardkit.turns import Turn

Floats = npt.NDArray[np.float64]
Statuses = npt.NDArray[np.int8]
Mask = npt.NDArray[np.bool_]


class Status(IntEnum):
    """How a value came about. The order is only for storage. See the three groups below."""

    SCORED = 0
    """The term looked and this is its value."""
    NOT_APPLICABLE = 1
    """The term has nothing to say about this row; it steps out of sums."""
    NO_ANSWER = 2
    """The response asserts no answer. Caused by the policy."""
    AMBIGUOUS = 3
    """The response asserts several different answers. Caused by the policy."""
    BAD_GOLD = 4
    """The ground truth is missing or unusable. Not caused by the policy."""
    LIMIT = 5
    """The response is over a static limit (length, digits, nesting, ...). Caused by the policy."""
    TIMEOUT = 6
    """Grading this response used up its worker's CPU time. Caused by the policy."""
    ERROR = 7
    """A term failed: a bug, a dead judge, a value out of its declared bounds. Not caused by the policy."""

    @property
    def is_policy_caused(self) -> bool:
        """True for the failures that the response itself is to blame for: paid at the term's worst end."""
        return self in POLICY_CAUSED

    @property
    def is_unscored(self) -> bool:
        """True when there is no value: this row must not count as a zero for the policy."""
        return self in UNSCORED


POLICY_CAUSED: Final = frozenset({Status.NO_ANSWER, Status.AMBIGUOUS, Status.LIMIT, Status.TIMEOUT})
UNSCORED: Final = frozenset({Status.NOT_APPLICABLE, Status.BAD_GOLD, Status.ERROR})
FAULTS: Final = frozenset({Status.BAD_GOLD, Status.ERROR})
"""The unscored statuses that poison what is above them; NOT_APPLICABLE steps aside instead."""


@dataclass(frozen=True, slots=True)
class Score:
    """One value with its status.

    ``value`` is ignored unless the status is SCORED: a policy-caused failure is paid at the worst end of the term's
    bounds, whichever end that is where the term stands in its formula.
    """

    value: float = float("nan")
    status: Status = Status.SCORED
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """One response and what is known about it."""

    response: str
    """The response's text, special tokens removed; of several turns the policy's last one that says something."""
    ground_truth: Any = None
    """The ground truth, or None where the row has none."""
    prompt: str | None = None
    data_source: str | None = None
    group: Hashable = None
    """Rows with an equal group are rollouts of one prompt (verl's ``uid``)."""
    extra_info: Mapping[str, Any] = field(default_factory=dict)
    truncated: bool | None = None
    """True when the response was cut at the length limit; None where the trainer does not say."""
    tokens: Sequence[int] | None = None
    """The response's token ids, or None where only text is at hand."""
    turns: Sequence[Turn] | None = None
    """All turns behind the prompt, what tools and users wrote included; None: the response is the only one."""
    chat: Any = None
    """The prompt as the trainer has it, such as a list of messages; None: its text is all there is."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Many samples, column by column. Every column that is given has one entry a row.

    Columns are lists or tuples; arrays, series of pandas and columns of pyarrow are taken in their order and become
    lists.

    Raises:
        DataError: a column is not a sequence, its length differs from the number of responses, or a response is not
            text.
    """

    responses: Sequence[str]
    ground_truths: Sequence[Any] | None = None
    prompts: Sequence[str | None] | None = None
    data_sources: Sequence[str | None] | None = None
    groups: Sequence[Hashable] | None = None
    extra_infos: Sequence[Mapping[str, Any]] | None = None
    truncated: Sequence[bool | None] | None = None
    tokens: Sequence[Sequence[int]] | None = None
    turns: Sequence[Sequence[Turn] | None] | None = None
    chats: Sequence[Any] | None = None
    step: int | None = None
    """The trainer's global step, for schedules; None outside a run."""
    _counts: dict[str, Floats] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What several terms count alike, such as words; see :func:`rewardkit.terms.units.counts`."""

    def __post_init__(self) -> None:
        if isinstance(self.responses, str):
            raise DataError(
                "Batch(responses=...) got one string; expected a sequence of strings",
                hint="write Batch([text]) for a batch of one",
            )
        for name in ("responses", *_COLUMNS):
            column = getattr(self, name)
            if column is not None and not isinstance(column, list | tuple):
                object.__setattr__(self, name, _listed(name, column))
        n = len(self.responses)
        for name in _COLUMNS:
            column = getattr(self, name)
            if column is not None and len(column) != n:
                raise DataError(f"Batch has {n} responses but {len(column)} {name}; expected one for each response")
        for i, text in enumerate(self.responses):
            if not isinstance(text, str):
                raise DataError(
                    f"Batch.responses[{i}] is {type(text).__name__}; expected str",
                    hint="decode token ids first, or write '' for an empty response",
                )
        if self.extra_infos is not None and not all(type(info) is dict for info in self.extra_infos):
            object.__setattr__(self, "extra_infos", [_mapping(i, info) for i, info in enumerate(self.extra_infos)])

    def __len__(self) -> int:
        return len(self.responses)

    def __getitem__(self, i: int) -> Sample:
        return Sample(
            response=self.responses[i],
            ground_truth=None if self.ground_truths is None else self.ground_truths[i],
            prompt=None if self.prompts is None else self.prompts[i],
            data_source=None if self.data_sources is None else self.data_sources[i],
            group=None if self.groups is None else self.groups[i],
            extra_info={} if self.extra_infos is None else self.extra_infos[i],
            truncated=None if self.truncated is None else self.truncated[i],
            tokens=None if self.tokens is None else self.tokens[i],
            turns=None if self.turns is None else self.turns[i],
            chat=None if self.chats is None else self.chats[i],
        )

    def __iter__(self) -> Iterator[Sample]:
        return (self[i] for i in range(len(self)))

    def take(self, rows: Sequence[int] | npt.NDArray[np.intp]) -> Batch:
        """The batch of these rows, in this order."""
        index = [int(i) for i in rows]

        def pick(column: Sequence[Any] | None) -> list[Any] | None:
            return None if column is None else [column[i] for i in index]

        return Batch(
            responses=[self.responses[i] for i in index],
            **{name: pick(getattr(self, name)) for name in _COLUMNS},
            step=self.step,
        )

    @classmethod
    def of(cls, samples: Sequence[Sample], *, step: int | None = None) -> Batch:
        """Columns from rows. A column that no sample fills stays None."""

        def column(values: list[Any]) -> list[Any] | None:
            return None if all(v is None for v in values) else values

        return cls(
            responses=[s.response for s in samples],
            ground_truths=column([s.ground_truth for s in samples]),
            prompts=column([s.prompt for s in samples]),
            data_sources=column([s.data_source for s in samples]),
            groups=column([s.group for s in samples]),
            extra_infos=[s.extra_info for s in samples] if any(s.extra_info for s in samples) else None,
            truncated=column([s.truncated for s in samples]),
            tokens=_token_column([s.tokens for s in samples]),
            turns=column([s.turns for s in samples]),
            chats=column([s.chat for s in samples]),
            step=step,
        )


_COLUMNS: Final = (
    "ground_truths", "prompts", "data_sources", "groups", "extra_infos", "truncated", "tokens", "turns", "chats",
)  # fmt: skip


def _listed(name: str, column: Any) -> list[Any]:
    """A column in its own order: ``series[0]`` of pandas is the row that is called 0, wherever it stands."""
    if isinstance(column, str | bytes | bytearray | Mapping | Set) or not hasattr(column, "__len__"):
        raise DataError(
            f"Batch({name}=...) got a {type(column).__name__}; expected a list with one entry a row",
            hint="write list(...) around what has an order",
        )
    to_pylist = getattr(column, "to_pylist", None)  # pyarrow's entries are not Python values
    return to_pylist() if callable(to_pylist) else list(column)


def _mapping(row: int, info: Any) -> Mapping[str, Any]:
    """A row's extra_info; tables write None where a row has none."""
    if info is not None and not isinstance(info, Mapping):
        raise DataError(f"Batch.extra_infos[{row}] is {type(info).__name__}; expected a mapping or None")
    return {} if info is None else info


def _token_column(tokens: list[Sequence[int] | None]) -> list[Sequence[int]] | None:
    """Token ids are all there or not at all: half a column would silently score the rest as empty."""
    present = [t for t in tokens if t is not None]
    if not present:
        return None
    if len(present) != len(tokens):
        raise DataError(f"{len(present)} of {len(tokens)} samples carry token ids; expected all of them or none")
    return present
