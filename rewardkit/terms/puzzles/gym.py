"""reasoning-gym's own scoring. Runs in worker processes only, where time and memory are limited.

Some of its data sets give the answer to ``eval`` or to sympy's parser, which evaluates it. Here the first takes
literals and arithmetic, and the second formulas, so that no text of a model is executed.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import io
import operator
import sys
from collections.abc import Callable
from typing import Any, Final

import regex

_OPERATIONS: Final[dict[type[ast.AST], Callable[..., Any]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.USub: operator.neg, ast.UAdd: operator.pos,
    ast.Invert: operator.invert, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip
_NAME: Final = regex.compile(r"[^\W\d]\w*+")
_FORMULA: Final = regex.compile(r"(?:[\w\s+\-*/^(),]|\.(?=\d)|(?<=\d)\.)*+")
_FUNCTIONS: Final = frozenset(
    [
        "sin", "cos", "tan", "sec", "csc", "cot", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "ln",
        "sqrt", "Abs", "abs", "pi", "Integral", "erf", "Ei", "Si", "Ci",
    ]
)  # fmt: skip


def warm() -> None:
    """Import reasoning-gym, which takes seconds, and put the guards in its modules and in sympy."""
    with contextlib.redirect_stdout(io.StringIO()):
        importlib.import_module("reasoning_gym.factory")
    sympy: Any = importlib.import_module("sympy")
    original = sympy.parse_expr

    def parse_formula(text: str, *args: Any, **kwargs: Any) -> Any:
        names = set(_NAME.findall(text))
        if _FORMULA.fullmatch(text) is None or any(len(name) > 1 for name in names - _FUNCTIONS):
            raise ValueError("no formula of numbers, variables and functions")
        return original(text, *args, **kwargs)

    sympy.parse_expr = parse_formula  # its own modules, which parse texts of theirs, have the original
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "reasoning_gym":
            loaded: Any = module
            if getattr(loaded, "parse_expr", None) is original:
                loaded.parse_expr = parse_formula
            loaded.eval = literal


def literal(text: str, *_: Any) -> Any:
    """The value of literals and arithmetic on them, for modules that say ``eval``.

    Raises:
        ValueError, SyntaxError: anything else is in it.
    """
    return _value(ast.parse(text.strip(), mode="eval").body)


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        values = [_value(entry) for entry in node.elts]
        return values if isinstance(node, ast.List) else tuple(values) if isinstance(node, ast.Tuple) else set(values)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_value(node.left), _value(node.right))
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_value(node.operand))
    raise ValueError("neither a literal nor arithmetic")


def score(dataset: str, answer: str, entry: dict[str, Any]) -> float:
    """What the data set pays for an answer.

    Args:
        dataset: its name.
        answer: the answer alone.
        entry: ``question``, ``answer`` and ``metadata``, as JSON carries them.
    """
    if dataset in ("arc_agi", "rearc"):  # they compare tuples, which JSON has not
        entry["metadata"]["output"] = tuple(map(tuple, entry["metadata"]["output"]))
    return float(_made(dataset).score_answer(answer, entry))


@functools.cache
def _made(dataset: str) -> Any:
    gym: Any = importlib.import_module("reasoning_gym")
    return gym.create_dataset(dataset, seed=0, size=1)
