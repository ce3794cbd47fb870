"""Calls: methods of texts, `re`, functions that find or grade answers, and the file's own."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import Any, Final

from rewardkit.terms import gsm8k
from rewardkit.translate import answers, patterns
from rewardkit.translate.builtin_calls import Builtins
from rewardkit.translate.notes import Function, Scope
from rewardkit.translate.operators import why_not
from rewardkit.translate.values import (
    Answer,
    Column,
    Constant,
    Counted,
    Field,
    Found,
    Gold,
    Info,
    Level,
    Message,
    Pattern,
    Record,
    Text,
    Truth,
    Unknown,
    Value,
    Words,
)

GOLD_NAMES: Final = frozenset(
    {
        "ground_truth", "ground_truths", "answer", "answers", "solution", "solutions", "target", "targets", "gold",
        "golds", "label", "labels", "reference", "references", "gt", "correct_answer", "expected",
    }
)  # fmt: skip
_TO_TEXT: Final = frozenset(
    {"strip", "lstrip", "rstrip", "replace", "lower", "upper", "casefold", "title", "split", "rsplit", "splitlines",
     "partition", "rpartition", "removeprefix", "removesuffix", "translate", "get"}
)  # fmt: skip
"""Methods of a text that give texts."""
_INSTEAD: Final = {
    "cos": "cosine_length(...) is half a cosine of the length", "exp": "brevity(...) and overlong(...) shape lengths",
    "tanh": "clip(...) and cap=... bound a length", "log": "length(..., cap=...) bounds a length",
    "SequenceMatcher": "fuzzy_match() compares texts, token_f1() their words", "loads": "json_valid() checks JSON",
    "post": "judge(...) asks a model", "create": "judge(...) asks a model", "ratio": "fuzzy_match() compares texts",
}  # fmt: skip


class Calls(Builtins):
    """Calls by name and by method."""

    def _on_call(self, tree: ast.Call, scope: Scope) -> Value:
        if isinstance(tree.func, ast.Attribute):
            if isinstance(tree.func.value, ast.Name) and tree.func.value.id in ("re", "regex"):
                return self._re(tree, tree.func.attr, scope)
            base = self.value(tree.func.value, scope)
            if not isinstance(base, Unknown):
                return self._method(tree, tree.func.attr, base, scope)
            name, dotted = tree.func.attr, ast.unparse(tree.func)
        elif isinstance(tree.func, ast.Name):
            name = dotted = tree.func.id
        else:
            return self.lost(tree, "a call of what is worked out")
        args = [self.value(a, scope) for a in tree.args if not isinstance(a, ast.Starred)]
        named = {k.arg: self.value(k.value, scope) for k in tree.keywords if k.arg is not None}
        known = scope.get(name)
        everything = [*args, *named.values()]
        graded = self._graded(tree, name, everything)
        if graded is not None:
            return graded
        extracts = answers.EXTRACTORS.fullmatch(name)
        if isinstance(known, Function) and not (extracts and "boxed" in name):
            called = self.call(tree, known, args, named)
            if not (extracts and isinstance(called, Unknown)):
                return called
        builtin = getattr(self, f"_call_{name}", None)
        if builtin is not None and known is None:
            result: Value | None = builtin(tree, args)
            if result is not None:
                return result
        if dotted.endswith(("gsm8k.compute_score", "compute_score_gsm8k")) and args and isinstance(args[0], Text):
            return self.told(tree, Truth(gsm8k(mode="verl-strict")), "verl's own rule")
        if dotted.endswith("compute_score") and any(isinstance(a, Gold) for a in everything):
            if re.search("math|geo3k", dotted):
                found, says = answers.graded(dotted, Text())
                return self.told(tree, found, says)
            return self.lost(tree, f"no term does what {dotted} does")
        if extracts and everything:
            if isinstance(everything[0], Text):
                return Answer(name, everything[0].tail, last=True, level=Level.SIMILAR)
            if isinstance(everything[0], Answer):
                return replace(everything[0], changes=(*everything[0].changes, name))
            if isinstance(everything[0], Gold):
                return replace(everything[0], changed=True)
        instead = _INSTEAD.get(name)
        lost = next((a for a in everything if isinstance(a, Unknown) and a.line), None)
        if lost is not None and instead is None:
            return lost
        return self.lost(tree, f"{dotted}(...) is not known here" + (f": {instead}" if instead else ""))

    def call(self, tree: ast.Call, function: Function, args: list[Value], named: dict[str, Value]) -> Value:
        """A call of a function of the file."""
        raise NotImplementedError

    def _graded(self, tree: ast.Call, name: str, args: list[Value]) -> Value | None:
        gold = next((a for a in args if isinstance(a, Gold)), None)
        answer = next((a for a in args if isinstance(a, Answer | Text)), None)
        if gold is None or answer is None:
            return None
        if answers.GRADERS.fullmatch(name):
            return self.asks(tree, answer, *answers.graded(name, answer))
        if name == "isclose":
            return self.asks(tree, answer, *answers.near(1e-9, relative=True))
        return None

    def _re(self, tree: ast.Call, how: str, scope: Scope) -> Value:
        args = [self.value(a, scope) for a in tree.args]
        flags = [k.value for k in tree.keywords if k.arg == "flags"]
        at = {"compile": 1, "escape": 9, "sub": 4, "split": 3}.get(how, 2)
        flags += tree.args[at : at + 1]
        letters = "".join(
            patterns.FLAGS.get(n.attr, "?") for f in flags for n in ast.walk(f) if isinstance(n, ast.Attribute)
        )
        first = args[0] if args else Unknown("nothing")
        if how == "escape" and isinstance(first, Constant):
            return Constant(re.escape(str(first.value)))
        if isinstance(first, Constant) and isinstance(first.value, str) and "?" not in letters:
            first = Pattern(first.value, letters)
        if how == "compile":
            return first
        if not isinstance(first, Pattern):
            return self.lost(tree, "a pattern that the file doesn't spell out")
        if how in ("sub", "split"):
            whole = args[2] if how == "sub" and len(args) > 2 else args[1] if len(args) > 1 else Unknown("nothing")
            if isinstance(whole, Answer):
                return replace(whole, changes=(*whole.changes, how))
            if isinstance(whole, Gold):
                return replace(whole, changed=True)
            return self.lost(tree, f"re.{how}(...) of the response: terms read all of it")
        return self._searched(tree, first, how, args[1] if len(args) > 1 else Unknown("nothing"))

    def _searched(self, tree: ast.Call, pattern: Pattern, how: str, text: Value) -> Value:
        if isinstance(text, Gold):
            return replace(text, changed=True)
        if isinstance(text, Answer):
            return replace(text, changes=(*text.changes, how), found=None)
        text = Text() if isinstance(text, Message) else text
        if not isinstance(text, Text) or how not in ("search", "match", "fullmatch", "findall", "finditer"):
            return self.lost(tree, f"re.{how}(...) of {why_not(text)}")
        found, says = patterns.found_by(pattern, how, text)
        if isinstance(found, Unknown):
            return self.lost(tree, found.why)
        assert isinstance(found, Found)
        if "<think>" in pattern.raw and "<answer>" in pattern.raw:
            advice = "think_answer() asks for the same form, and takes no second tag"
            says = f"{says}; {advice}" if says else advice
        self.note(tree, found.level, says, patterns.holds(found).node)
        return found

    def _method(self, tree: ast.Call, name: str, base: Value, scope: Scope) -> Value:
        args = [self.value(a, scope) for a in tree.args]
        first = args[0] if args else None
        base = Text() if isinstance(base, Message) else base
        plain = first.value if isinstance(first, Constant) else None
        if isinstance(base, Pattern):
            if name in ("sub", "split"):
                return self.lost(tree, "a part of the response: terms read all of it")
            return self._searched(tree, base, name, first or Unknown("nothing"))
        if isinstance(base, Found) and name in ("group", "groups", "start", "end", "span"):
            if name != "group":
                return self.lost(tree, "where a match stands")
            return Answer(
                base.raw,
                base.tail,
                found=base,
                changes=() if plain in (1, None) else (f"group {plain}",),
                level=base.level,
            )
        if isinstance(base, Info | Record) and name == "get" and isinstance(plain, str):
            if isinstance(base, Record):
                return base.get(plain) or (args[1] if len(args) > 1 else Constant(None))
            return self._entry(plain, base)
        if isinstance(base, Gold | Answer) and name not in _TO_TEXT:
            return self.lost(tree, f".{name}(...) of {why_not(base)}")
        if isinstance(base, Gold):
            return replace(base, changed=True)
        if isinstance(base, Answer):
            return replace(base, changes=(*base.changes, name if plain is None else f"{name} {plain!r}"))
        if isinstance(base, Text):
            return self._text_method(tree, name, base, first, plain)
        if isinstance(base, Constant) and isinstance(base.value, str) and name in ("lower", "upper", "strip"):
            return Constant(getattr(base.value, name)())
        if isinstance(base, Field) and name in ("lower", "strip"):
            return replace(base, level=Level.SIMILAR)
        if isinstance(base, Field) and name in ("startswith", "endswith"):
            return self.lost(tree, f"routes go by texts that {base.name} equals")
        return self.lost(tree, f".{name}(...) of this value")

    def _text_method(self, tree: ast.Call, name: str, text: Text, first: Value | None, plain: Any) -> Value:
        if name in ("strip", "lstrip", "rstrip") and first is None:
            sides = {"strip": "lr", "lstrip": "l", "rstrip": "r"}[name]
            return replace(text, stripped="".join(s for s in "lr" if s in text.stripped + sides))
        if name in ("lower", "casefold"):
            return replace(text, lower=True)
        if name == "split" and first is None:
            return Words() if text.tail is None else self.lost(tree, "the words of a part of the response")
        if name == "count" and isinstance(plain, str) and plain and not text.lower and text.tail is None:
            found = patterns.literal(plain)
            if text.stripped and plain != plain.strip():
                found = replace(found, level=Level.SIMILAR)
            return Counted(patterns.count(found).parts, level=patterns.count(found).level, counted=found)
        if name in ("startswith", "endswith"):
            texts = (plain,) if isinstance(plain, str) else plain
            if isinstance(texts, tuple) and texts and all(isinstance(t, str) and t for t in texts):
                found_, says = (patterns.begins if name == "startswith" else patterns.ends)(texts, text)
                return self.told(tree, found_, says)
        if name in ("split", "partition", "rpartition", "rsplit", "find", "index", "rfind") and isinstance(plain, str):
            if name in ("find", "index", "rfind"):
                return self.lost(tree, "where a text stands in the response")
            return Answer(plain, text.tail, last=True, changes=(name,), level=Level.SIMILAR)
        return self.lost(tree, f"the response's .{name}(...)")

    def _entry(self, name: str, info: Info) -> Value:
        if name in GOLD_NAMES:
            return Column(Gold()) if info.batched else Gold(changed=True)
        return Column(Field(name)) if info.batched else Field(name)
