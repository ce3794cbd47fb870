"""A file of reward functions: which of its functions pay, with what weights, and the formula that all of it makes."""

from __future__ import annotations

import ast
import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rewardkit.errors import ConfigError, FormulaError, did_you_mean
from rewardkit.expression import Reward
from rewardkit.terms import match_count, matches
from rewardkit.translate.calls import GOLD_NAMES
from rewardkit.translate.combining import add, as_number, scale
from rewardkit.translate.notes import Function, Note, Scope
from rewardkit.translate.statements import Reader
from rewardkit.translate.values import (
    UNSEEN,
    Column,
    Field,
    Gold,
    Info,
    Level,
    Message,
    Number,
    Record,
    Text,
    Tokens,
    Unknown,
    Value,
)

_RESPONSE: Final = frozenset(
    {"solution_str", "completion", "response", "prediction", "text", "output", "model_output", "predict_str"}
)
_VERL: Final = "compute_score"


@dataclass(frozen=True)
class Translation:
    """What became of a file.

    Attributes:
        formula: the proposed formula; None where nothing of it could be said.
        functions: the functions that it stands for, with their weights.
        level: how far its total is the function's: the worst of all that stands in it.
        notes: what became of each place, by line.
    """

    formula: str | None
    functions: tuple[tuple[str, float], ...]
    level: Level
    notes: tuple[Note, ...]

    @property
    def complete(self) -> bool:
        """Whether nothing was left out."""
        return self.level < Level.LEFT_OUT

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "formula": self.formula,
            "functions": dict(self.functions),
            "level": self.level.name.lower(),
            "notes": [
                {
                    "line": n.line,
                    "code": n.code,
                    "level": n.level.name.lower(),
                    "formula": None if n.formula is None else repr(n.formula),
                    "says": n.says,
                }
                for n in self.notes
            ],
        }


def translate_file(path: Path, functions: tuple[str, ...] = ()) -> Translation:
    """The formula that a file's reward functions come to. The file is read, never imported.

    Args:
        path: a Python file.
        functions: the functions to read; none: `compute_score`, or else every function that looks like a reward.

    Raises:
        ConfigError: the file can't be read, is no Python, or has no such function.
    """
    try:
        source = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigError(f"{path} can't be read: {e}") from None
    return translate(source, functions, name=str(path))


def translate(source: str, functions: tuple[str, ...] = (), *, name: str = "the source") -> Translation:
    """As :func:`translate_file`, for a text."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        raise ConfigError(f"{name} is no Python: {e}") from None
    found = {s.name: s for s in tree.body if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef)}
    weights = _weights(tree, found, functions, name)
    reader = Reader(source)
    scope: Scope = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.FunctionDef | ast.AsyncFunctionDef):
            with contextlib.suppress(FormulaError, RecursionError):  # what it sets is missed where it is read
                reader.block([statement], scope)
    reader.notes.clear()  # of assignments that no function may read
    total = Number()
    for each, weight in weights.items():
        try:
            paid = _paid(reader, Function(found[each], scope), found[each])
        except FormulaError as e:
            paid = reader.lost(found[each], f"{each}: {e.message}")
        except RecursionError:
            paid = reader.lost(found[each], f"{each} is nested too deep to be read")
        if isinstance(paid, Number):
            total = add(total, scale(paid, weight))
        else:
            reader.blame(paid, f"{each} is left out")
            total = Number(total.parts, total.constant, level=Level.LEFT_OUT)
    return _translation(reader, found[next(iter(weights))], total, weights)


def _translation(reader: Reader, tree: ast.AST, total: Number, weights: dict[str, float]) -> Translation:
    formula: Reward | None = None
    level = total.level
    if total.parts:
        try:
            formula = total.node()
        except FormulaError:
            level = Level.LEFT_OUT
    else:
        if level < Level.LEFT_OUT:
            reader.note(tree, Level.LEFT_OUT, f"every response is paid {total.constant:g}")
        level = Level.LEFT_OUT
    if formula is not None and any(n.term is match_count and n.param("cap") == UNSEEN for n in formula.walk()):
        level = max(level, Level.NEARLY)
        reader.note(tree, Level.NEARLY, f"what is counted is counted up to {UNSEEN:,}")
    used = set() if formula is None else {n.term for n in formula.walk() if n.term is not None}
    if match_count in used:
        used.add(matches)  # what is counted is noted as what is found

    def is_told(note: Note) -> bool:
        return note.formula is None or bool(used & {part.term for part in note.formula.walk() if part.term})

    if level > Level.EQUAL and not any(n.level is level and is_told(n) for n in reader.notes.values()):
        reader.note(tree, level, "part of it is asked by another rule, or not at all")
    notes = [reader.notes[key] for key in sorted(reader.notes, key=lambda key: key[:2])]
    told = tuple(n for n in notes if is_told(n))
    return Translation(None if formula is None else repr(formula), tuple(weights.items()), level, told)


def _paid(reader: Reader, function: Function, tree: ast.FunctionDef | ast.AsyncFunctionDef) -> Value:
    """What a function pays one response."""
    parameters = [a.arg for a in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)]
    batched = "completions" in parameters
    given: Scope = {}
    for p in parameters:
        value = _argument(p, batched)
        if value is not None:
            given[p] = value
    if tree.args.kwarg is not None:
        given[tree.args.kwarg.arg] = Info(batched=batched)
    value = reader.returned(function, given)
    if isinstance(value, Column):
        value = value.entry
    if isinstance(value, Record):
        value = value.get("score") or reader.lost(tree, "it returns a dictionary without 'score'")
    return as_number(value) or (value if isinstance(value, Unknown) else reader.lost(tree, "it returns no number"))


def _argument(name: str, batched: bool) -> Value | None:
    value: Value | None = None
    if name in _RESPONSE:
        return Text()
    if name == "completions":
        value = Message()
    elif name == "completion_ids":
        value = Tokens()
    elif name in GOLD_NAMES:
        value = Gold()
    elif name in ("data_source", "data_sources"):
        value = Field("data_source")
    elif name == "extra_info":
        value = Info()
    elif name in ("prompts", "prompt"):
        value = Unknown("the prompt")
    return Column(value) if batched and value is not None else value


def _weights(tree: ast.Module, found: dict[str, Any], wanted: tuple[str, ...], name: str) -> dict[str, float]:
    """The functions to read, with weights: those asked for, verl's, those that a trainer gets, or all that pay."""
    for each in wanted:
        if each not in found:
            raise ConfigError(
                f"{name} has no function {each!r}; it has {', '.join(found) or 'none'}", hint=did_you_mean(each, found)
            )
    listed, weights = _trainer_s(tree)
    by_trainer = [f for f in listed if f in found]
    paying = [f for f, t in found.items() if _pays(t)]
    names = list(wanted) or ([_VERL] if _VERL in found else []) or by_trainer or paying
    if not names:
        raise ConfigError(
            f"{name} has no function that looks like a reward",
            hint="compute_score(data_source, solution_str, ground_truth, extra_info), or f(completions, **kwargs); "
            "name another by --function",
        )
    known = dict(zip(listed, weights, strict=False)) if len(weights) == len(listed) else {}
    return {each: known.get(each, 1.0) for each in names}


def _pays(tree: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    parameters = {a.arg for a in (*tree.args.posonlyargs, *tree.args.args)}
    return not tree.name.startswith("_") and bool(parameters & {"completions", "solution_str"})


def _trainer_s(tree: ast.Module) -> tuple[list[str], list[float]]:
    """The names in `reward_funcs=[...]` and the numbers in `reward_weights=[...]`, as arguments or variables."""
    names: list[str] = []
    weights: list[float] = []
    for node in ast.walk(tree):
        pairs: list[tuple[str | None, ast.expr]] = []
        if isinstance(node, ast.Call):
            pairs = [(k.arg, k.value) for k in node.keywords]
        elif isinstance(node, ast.Assign):
            pairs = [(t.id, node.value) for t in node.targets if isinstance(t, ast.Name)]
        for key, value in pairs:
            entries = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
            if key == "reward_funcs":
                names = [e.id for e in entries if isinstance(e, ast.Name)] or names
            elif key == "reward_weights":
                weights = [
                    float(e.value) for e in entries if isinstance(e, ast.Constant) and isinstance(e.value, int | float)
                ] or weights
    return names, weights
