"""Formula <-> JSON, and the fingerprint."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from rewardkit.algebra.expression import MAX_DEPTH, Expression, Reward, TokenReward
from rewardkit.algebra.operation import OPERATIONS
from rewardkit.algebra.operations.calls import Call
from rewardkit.algebra.registry import terms as builtin_terms
from rewardkit.algebra.term import Term
from rewardkit.errors import FormulaError, KindError, ParseError, UnknownNameError, did_you_mean

JSON_VERSION: Final = 1


def to_json(node: Expression) -> str:
    """The formula as one JSON object, with every default filled in and each term's version."""
    return json.dumps({"rewardkit": JSON_VERSION, "formula": _plain(node)}, ensure_ascii=False)


def from_json(text: str, terms: Mapping[str, Term[Any, Any]] | None = None) -> Reward | TokenReward:
    """The formula that :func:`to_json` wrote.

    Raises:
        ParseError: not such an object, or one that a later version wrote.
        FormulaError: its parts don't make a formula.
    """
    if not isinstance(text, str | bytes | bytearray):
        raise ParseError(
            f"a JSON formula is text; got {type(text).__name__}", hint="write json.dumps(...) of an object"
        )
    try:
        data = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as e:
        raise ParseError(f"not JSON: {e}") from None
    if not isinstance(data, dict) or "formula" not in data:
        raise ParseError("a JSON formula is an object with the keys 'rewardkit' and 'formula'")
    if data.get("rewardkit") != JSON_VERSION:
        raise ParseError(f"a JSON formula of version {data.get('rewardkit')!r}; this rewardkit reads {JSON_VERSION}")
    node = _rebuild(data["formula"], {**builtin_terms(), **(terms or {})}, 0)
    if not isinstance(node, Reward | TokenReward):
        raise KindError("the JSON formula is a Condition; expected a reward", hint="pay it with when(condition, 1, 0)")
    return node


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, unless a key stands twice: of two values Python takes the last, and other readers the first."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for i, (key, _) in enumerate(pairs) if key in dict(pairs[:i]))
        raise ParseError(f"the key {twice!r} stands twice in an object of the JSON formula")
    return found


def fingerprint(node: Expression) -> str:
    """A name for what the formula means: equal for equal formulas, over processes, machines and versions of Python.

    64 bits in hex after ``rk1-``, from the canonical form with all defaults filled in, each built-in term's version,
    and for a user's term its qualified name, its ``version=`` and a hash of its syntax tree.
    """
    canonical = json.dumps(_plain(node), sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return "rk1-" + hashlib.sha256(canonical.encode()).hexdigest()[:16]


def _plain(node: Expression) -> dict[str, Any]:
    operation = node.operation
    plain: dict[str, Any] = {"op": operation.json_name}
    if (term := operation.term) is not None:
        plain["term"] = term.name
        plain["identity"] = list(term.identity)
    if operation.__match_args__ and (params := operation.params):
        plain["params"] = {name: _jsonable(value) for name, value in params}
    if node.args:
        plain["args"] = [_plain(a) for a in node.args]
    return plain


def _jsonable(value: Any) -> Any:
    """A parameter as JSON; numbers that are equal look equal (1.0 is 1, -0.0 is 0), since equal nodes hold them."""
    if isinstance(value, tuple):
        return [_jsonable(v) for v in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _rebuild(data: Any, terms: Mapping[str, Term[Any, Any]], depth: int) -> Any:
    """The node of a JSON object, by the constructors that everyone calls."""
    if depth > MAX_DEPTH:
        raise ParseError(f"a JSON formula more than {MAX_DEPTH} operations deep (MAX_DEPTH)")
    if not isinstance(data, dict) or not isinstance(data.get("op"), str):
        raise ParseError(f"a JSON node is an object with the key 'op'; got {str(data)[:80]!r}")
    op, params = data["op"], data.get("params", {})
    try:
        args = [_rebuild(a, terms, depth + 1) for a in data.get("args", [])]
        if OPERATIONS.get(op) is Call:
            return _term(data, params, terms)
        if op not in OPERATIONS:
            raise UnknownNameError(f"unknown operation in JSON: {op!r}", hint=did_you_mean(op, OPERATIONS))
        return OPERATIONS[op](**{name: _tuples(value) for name, value in params.items()}).apply(*args)
    except FormulaError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as e:
        raise ParseError(f"the JSON node {op!r} is malformed: {type(e).__name__}: {e}") from None


def _term(data: dict[str, Any], params: dict[str, Any], terms: Mapping[str, Term[Any, Any]]) -> Any:
    name = data["term"]
    if name not in terms:
        hint = did_you_mean(str(name), terms) or "pass your own terms as terms={name: term}"
        raise UnknownNameError(f"the term {name!r} is not in the vocabulary", hint=hint)
    term = terms[name]
    identity = data.get("identity")
    if identity is not None and list(term.identity) != list(identity):
        raise ParseError(
            f"the term {name!r} here is {term.identity}; the formula was written with {tuple(identity)}",
            hint="its values may differ: review the change, then write the formula anew",
        )
    return term.node(params)


def _tuples(value: Any) -> Any:
    """A parameter as nodes hold it: JSON has no tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
