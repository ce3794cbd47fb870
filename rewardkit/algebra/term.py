"""What a term is: a named, versioned function from responses to numbers, with declarations that are used.

A term declares its bounds (for the checker and the laws, and enforced on every value), what it needs of a row (for the
preflight), and what it costs (for the compiler). Calling a term builds a node; it never scores anything. Parameters
are checked when the node is built.

    @term(bounds=(0, 1))
    def mentions(sample: Sample, word: str) -> float:
        return float(word in sample.response)

    reward = gsm8k() + 0.1 * mentions("therefore")
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import textwrap
import types
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Generic,
    Literal,
    NoReturn,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    get_args,
    get_type_hints,
)

from rewardkit.algebra.interval import Interval
from rewardkit.errors import MAX_INTEGER, KindError, ParameterError, did_you_mean, shown

P = ParamSpec("P")
K = TypeVar("K")
V = TypeVar("V")

PER_ROW: Final = "per row"
PerRow: TypeAlias = Annotated[V | str, PER_ROW]
"""A parameter's type: a value, or the name under which each row's `extra_info` has one.

`PerRow[Annotated[int, Field(ge=1)]]` takes 150, and it takes `'target'`. The function is called with values alone: with
its row's, or with ``batched=True`` an array of shape (n,). They are checked as a value in the formula is, and a row
without a good one is BAD_GOLD. Bounds can't hang on such a parameter.
"""
Need = Literal[
    "response", "ground_truth", "prompt", "data_source", "extra_info", "truncated", "tokens", "group", "turns", "chat"
]
NEEDS: Final[tuple[Need, ...]] = (
    "response", "ground_truth", "prompt", "data_source", "extra_info", "truncated", "tokens", "group", "turns", "chat",
)  # fmt: skip
Bounds = tuple[float | None, float | None]
Params = Mapping[str, Any]


class Given(Protocol):
    """What a term was given: a node of it, or the call that the node holds."""

    @property
    def params(self) -> tuple[tuple[str, Hashable], ...]:
        """The parameters by name."""


class Cost(StrEnum):
    """What one row of a term costs, in order: the compiler runs the dear ones last."""

    CHEAP = "cheap"
    """Microseconds; text scans."""
    CPU = "cpu"
    """Fractions of a millisecond up to a few; parsers, n-grams."""
    WORKER = "worker"
    """Runs in a killable worker process, under a deadline."""
    REMOTE = "remote"
    """Waits for another machine."""


class Term(Generic[P, K]):
    """A term of the vocabulary. Call it with its parameters to get a node.

    Attributes:
        name: its name in formulas and logs.
        kind: the class of the nodes it builds, at its default parameters where that hangs on them.
        cost: what a row of it costs.
        version: changes whenever its values change for any input; part of every fingerprint.
        reads: what it makes use of where a row has it.
        optional: whether it may answer None (NOT_APPLICABLE) for a row.
        builtin: whether it comes with rewardkit: other processes know it by its name.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        kind: type[K],
        build: Callable[[Term[Any, K], tuple[tuple[str, Hashable], ...]], K],
        kind_of: Callable[[Params], type[K]] | None = None,
        bounds: Bounds | Callable[[Params], Bounds],
        floor: Bounds = (None, None),
        needs: Iterable[Need] | Callable[[Params], Iterable[Need]] = ("response",),
        reads: Iterable[Need] = (),
        cost: Cost | str = Cost.CHEAP,
        batched: bool = False,
        optional: bool = False,
        version: str = "1",
        check: Callable[[Params], None] | None = None,
    ) -> None:
        self.function = function
        self.name = function.__name__
        self.kind: type[K] = kind
        self._build = build
        self._kind_of = kind_of
        self.cost = Cost(cost)
        self.batched = batched
        self.optional = optional
        self.version = version
        self.builtin = (function.__module__ or "").startswith("rewardkit.terms.")
        self._bounds = bounds
        self._floor = floor
        self._check = check
        self._needs = needs
        self.reads: frozenset[Need] = frozenset(reads)
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__
        parameters = list(inspect.signature(function).parameters.values())
        if not parameters:
            raise ParameterError(f"the term {self.name!r} takes nothing; expected a sample or a batch, then parameters")
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise ParameterError(f"the term {self.name!r} yields its values", hint="return them: one number, or a list")
        if batched and inspect.iscoroutinefunction(function):
            raise ParameterError(
                f"the term {self.name!r} is async and batched",
                hint="leave batched=True out: the samples of an async term are awaited together",
            )
        self._parameters = parameters[1:]
        for p in self._parameters:
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY):
                raise ParameterError(f"the term {self.name!r}: parameter {p.name!r} must have a name of its own")
            if p.annotation is p.empty:
                raise ParameterError(
                    f"the term {self.name!r}: parameter {p.name!r} has no type",
                    hint=f"annotate it, so that it can be checked: {p.name}: float",
                )
        self.__signature__ = inspect.Signature(self._parameters, return_annotation=kind)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> K:
        """A node with these parameters.

        Raises:
            ParameterError: a parameter is missing, unknown, of the wrong type or out of range.
        """
        return self.node(self._bind(args, kwargs))

    def node(self, given: Mapping[str, object]) -> K:
        """A node from parameters by name. Defaults are filled in.

        Raises:
            ParameterError: a parameter is missing, unknown, of the wrong type or out of range.
        """
        known = [p.name for p in self._parameters]
        for name in given:
            if name not in known:
                hint = did_you_mean(name, known) or f"it has {', '.join(known) or 'no parameters'}"
                raise ParameterError(f"{self.name} has no parameter {name!r}", hint=hint)
        missing = [p.name for p in self._parameters if p.default is p.empty and p.name not in given]
        if missing:
            raise ParameterError(f"{self.name} lacks its parameter {missing[0]!r}", hint=f"{self.name}{self.signature}")
        values = self._validated(given)
        params = tuple((name, _frozen(self.name, name, values[name])) for name in known)
        if self._check is not None:
            self._check(dict(params))
        self._check_floor(params)
        return self._build(self, params)

    def _check_floor(self, params: tuple[tuple[str, Hashable], ...]) -> None:
        """What a failure is paid lies within the bounds, or they would not be the formula's."""
        declared = self._declared_bounds(params)
        low, high = self._failure_bounds(declared)
        if not declared.low <= low <= high <= declared.high:
            raise ParameterError(
                f"the floor {self._floor} of {self.name} is not within its bounds {declared}",
                hint="floor=(low, high) is for ends without a bound: what a failure of the policy's is worth there",
            )

    def __repr__(self) -> str:
        return f"<term {self.name}{self.signature} -> {self.kind.__name__}>"

    def __eq__(self, other: object) -> bool:
        """Equal terms run once: the same source isn't enough where a function was made with other values around it."""
        if self is other:
            return True
        return (
            isinstance(other, Term)
            and self.identity == other.identity
            and (self.builtin or _same_around(self.function, other.function))
        )

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> str:
        return self.__qualname__  # a module-level name of its module, as for any function

    if not TYPE_CHECKING:

        def _not_called(self, other: object = None) -> NoReturn:
            raise KindError(
                f"the term {self.name!r} itself in a formula; expected a node", hint=f"call it: {self.name}(...)"
            )

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _not_called
        __neg__ = __invert__ = __and__ = __rand__ = __or__ = __ror__ = __lt__ = __le__ = __gt__ = __ge__ = _not_called

    @property
    def signature(self) -> str:
        """The parameters with their defaults, as text, types left out."""
        parts, keyword = [], False
        for p in self._parameters:
            if p.kind is p.KEYWORD_ONLY and not keyword:
                parts.append("*")
                keyword = True
            parts.append(p.name if p.default is p.empty else f"{p.name}={p.default!r}")
        return f"({', '.join(parts)})"

    @property
    def parameters(self) -> tuple[inspect.Parameter, ...]:
        """Its parameters, the sample or batch left out."""
        return tuple(self._parameters)

    @cached_property
    def defaults(self) -> tuple[tuple[object, bool], ...]:
        """Each parameter's default as nodes hold it (`Parameter.empty`: none), and whether it is given by name only."""
        return tuple(
            (tuple(p.default) if isinstance(p.default, list) else p.default, p.kind is p.KEYWORD_ONLY)
            for p in self._parameters
        )

    @cached_property
    def identity(self) -> tuple[str, ...]:
        """What makes two terms the same: for a built-in its name and version, for a user's also its source."""
        if self.builtin:
            return ("rewardkit", self.name, self.version)
        return (self.__qualname__, self.name, self.version, _source_hash(self.function))

    def node_kind(self, params: tuple[tuple[str, Hashable], ...]) -> type[K]:
        """The class of a node with these parameters."""
        return self.kind if self._kind_of is None else self._kind_of(dict(params))

    def bounds(self, node: Given) -> Interval:
        """The interval that a node of this term declares. An end that is None is infinite."""
        return self._declared_bounds(node.params)

    def _declared_bounds(self, params: tuple[tuple[str, Hashable], ...]) -> Interval:
        bounds = self._bounds(dict(params)) if callable(self._bounds) else self._bounds
        return _interval(self.name, bounds)

    def failure_bounds(self, node: Given) -> Interval:
        """What a policy-caused failure is worth at worst: the bounds, with ``floor`` where an end is infinite."""
        return Interval(*self._failure_bounds(self.bounds(node)))

    def _failure_bounds(self, declared: Interval) -> tuple[float, float]:
        low, high = self._floor
        return declared.low if low is None else low, declared.high if high is None else high

    def needs(self, node: Given) -> frozenset[Need]:
        """The parts of a row that a node of this term reads."""
        needs = self._needs(dict(node.params)) if callable(self._needs) else self._needs
        return frozenset((*needs, "extra_info")) if self.columns(node) else frozenset(needs)

    def columns(self, node: Given) -> Mapping[str, str]:
        """By parameter that each row gives, the name that it has in `extra_info`."""
        if not self._per_row:
            return {}
        return {name: value for name, value in node.params if name in self._per_row and isinstance(value, str)}

    def row_value(self, parameter: str, value: object) -> int | float:
        """A row's value of a parameter.

        Raises:
            ParameterError: it is missing, of the wrong type or out of range.
        """
        import pydantic

        plain = value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value
        if isinstance(plain, bool) or not isinstance(plain, int | float):
            raise ParameterError(f"{parameter} is {shown(plain)}; expected a number")
        try:
            number: int | float = self._per_row[parameter].validate_python(plain)
        except pydantic.ValidationError as e:
            raise ParameterError(f"{parameter} is {shown(plain)}; {_lower_first(e.errors()[0]['msg'])}") from None
        return number

    @property
    def may_be_inapplicable(self) -> bool:
        """Whether a row of it can be NOT_APPLICABLE."""
        return self.optional

    def _bind(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
        positional = [p.name for p in self._parameters if p.kind is not p.KEYWORD_ONLY]
        if len(args) > len(positional):
            raise ParameterError(
                f"{self.name} takes {len(positional)} parameters by position, {len(args)} came",
                hint=f"{self.name}{self.signature}",
            )
        given: dict[str, object] = dict(zip(positional, args, strict=False))
        for name, value in kwargs.items():
            if name in given:
                raise ParameterError(f"{self.name} got its parameter {name!r} twice")
            given[name] = value
        return given

    @cached_property
    def _hints(self) -> Mapping[str, Any]:
        return get_type_hints(self.function, include_extras=True)

    @cached_property
    def _per_row(self) -> Mapping[str, Any]:
        """By parameter that a row may give, what checks its values."""
        import pydantic

        marked = {p.name: self._hints[p.name] for p in self._parameters if PER_ROW in _metadata(self._hints[p.name])}
        config = pydantic.ConfigDict(allow_inf_nan=False)
        return {
            name: pydantic.TypeAdapter(get_args(get_args(hint)[0])[0], config=config) for name, hint in marked.items()
        }

    @cached_property
    def _model(self) -> Any:
        import pydantic

        hints = self._hints
        fields: dict[str, Any] = {
            # the alias keeps parameters such as `schema` or `copy` from shadowing pydantic's own attributes
            f"p_{p.name}": (
                hints[p.name],
                pydantic.Field(... if p.default is p.empty else p.default, alias=p.name),
            )
            for p in self._parameters
        }
        config = pydantic.ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
        return pydantic.create_model(self.name, __config__=config, **fields)

    def _validated(self, given: Mapping[str, object]) -> dict[str, object]:
        import pydantic

        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in given.items()}
        for candidate in (dict(given), plain):
            try:
                model = self._model.model_validate(candidate)
            except pydantic.ValidationError as e:
                error = e.errors()[0]
                continue
            return {p.name: getattr(model, f"p_{p.name}") for p in self._parameters}
        where = error["loc"][0] if error["loc"] else "?"
        raise ParameterError(
            f"{self.name}: parameter {str(where)!r} is {shown(given.get(str(where)))}; {_lower_first(error['msg'])}",
            hint=f"{self.name}{self.signature}"
            + ("; nested data is given as JSON text" if isinstance(given.get(str(where)), Mapping) else ""),
        )


def _metadata(hint: Any) -> tuple[Any, ...]:
    return getattr(hint, "__metadata__", ())


def _lower_first(text: str) -> str:
    text = text.removeprefix("Value error, ")  # what pydantic puts before the words of our own checks
    return text[:1].lower() + text[1:]


def _interval(name: str, bounds: Bounds) -> Interval:
    low = float("-inf") if bounds[0] is None else float(bounds[0])
    high = float("inf") if bounds[1] is None else float(bounds[1])
    if not low <= high:
        raise ParameterError(f"the term {name!r} declares the bounds {bounds!r}; expected (low, high), low first")
    return Interval(low, high)


def _frozen(term_name: str, name: str, value: object) -> Any:
    """Parameters are kept as hashable values: lists become tuples."""
    if isinstance(value, list | tuple):
        return tuple(_frozen(term_name, name, v) for v in value)
    if isinstance(value, set | frozenset):
        return tuple(sorted(_frozen(term_name, name, v) for v in value))
    if isinstance(value, int) and abs(value) >= MAX_INTEGER:
        raise ParameterError(f"{term_name}: parameter {name!r} is {shown(value)}; expected a number that a float holds")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise ParameterError(
        f"{term_name}: parameter {name!r} is a {type(value).__name__}; a formula holds numbers, text, None and lists",
        hint="give nested data as JSON text",
    )


def _source_hash(function: Callable[..., Any]) -> str:
    """A hash of the function's syntax tree: comments and layout don't count. Without source, of its byte code."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        content = ast.dump(tree).encode()
    except (OSError, TypeError, SyntaxError):
        content = _byte_code(function.__code__)
    if around := _around(function):
        content += repr([_stable(value) for value in around]).encode()
    return hashlib.sha256(content).hexdigest()[:16]


def _byte_code(code: types.CodeType) -> bytes:
    """Byte code with the names and constants that it refers to, those of functions inside it too."""
    constants = [_byte_code(c) if isinstance(c, types.CodeType) else c for c in code.co_consts]
    return code.co_code + repr((constants, code.co_names, code.co_varnames, code.co_freevars)).encode()


def _around(function: Callable[..., Any]) -> list[object]:
    """The values that a function took from the function around it."""
    found: list[object] = []
    for cell in getattr(function, "__closure__", None) or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # not assigned yet
            found.append(_UNASSIGNED)
    return found


def _stable(value: object) -> object:
    """What a fingerprint can know of any value: a plain one itself, a function's source, the type of anything else."""
    if value is None or type(value) in (str, bytes, bool, int, float):
        return value
    if type(value) is tuple:
        return [_stable(entry) for entry in value]
    if isinstance(value, types.FunctionType):
        return value.__qualname__, hashlib.sha256(_byte_code(value.__code__)).hexdigest()
    return type(value).__qualname__


def _same_around(one: Callable[..., Any], other: Callable[..., Any]) -> bool:
    """Whether two functions of the same source took the same values from around them; in doubt they did not."""
    return one is other or all(
        a is b or (type(a) is type(b) and type(a) in (str, bytes, bool, int, float) and repr(a) == repr(b))
        for a, b in zip(_around(one), _around(other), strict=False)
    )


_UNASSIGNED: Final = object()
