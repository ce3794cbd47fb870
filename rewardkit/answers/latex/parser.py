"""Recursive descent from tokens to a tree. No model text goes any other way into mathematics.

The grammar is that of final answers: lists, equations and inequalities, intervals and unions, sums and products with
implicit multiplication, LaTeX functions, matrices. What it does not know is Unreadable, and then only texts are
compared: a wrong reading pays wrong answers, no reading costs a right one at worst.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from rewardkit.answers.latex.atoms import CONSTANTS, FUNCTIONS, NAMED, RELATIONS, SEPARATORS, word
from rewardkit.answers.latex.tokens import Token, tokenize
from rewardkit.answers.latex.tree import MINUS_ONE, OverLimit, Tree, Unreadable, negative, quotient
from rewardkit.answers.limits import MAX_DEPTH, MAX_EXPONENT

_END: Final = Token("end", "", False)
_CLOSERS: Final = frozenset([")", "]", "}", "\\}", "|", "\\rfloor", "\\rceil", "\\rangle", "\\rvert", "&", "\\\\"])
_MATRICES: Final = frozenset(["pmatrix", "bmatrix", "Bmatrix", "matrix", "smallmatrix", "array", "vmatrix", "Vmatrix"])


def parse(text: str, *, grouped: bool = True) -> Tree:
    r"""The tree of a formula.

    Raises:
        Unreadable: it isn't one.
        OverLimit: it is over a static limit.

    >>> parse(r"\frac{36}{2}")
    ('num', 18, -1)
    >>> parse("x = 2, 3")
    ('list', ('rel', ('=',), (('sym', 'x'), ('num', 2, -1))), ('num', 3, -1))
    """
    parser = _Parser(tokenize(text, grouped=grouped))
    tree = parser.statement()
    if parser.peek() is not _END:
        raise Unreadable(parser.peek().text)
    return tree


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0
        self.bars = 0

    def peek(self, ahead: int = 0) -> Token:
        i = self.at + ahead
        return self.tokens[i] if i < len(self.tokens) else _END

    def take(self) -> Token:
        token = self.peek()
        self.at += 1
        return token

    def accept(self, *texts: str) -> bool:
        if self.peek().kind in ("op", "cmd") and self.peek().text in texts:
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise Unreadable(f"{self.peek().text!r} where {text!r} was expected")

    def separator(self) -> bool:
        """Skip ``,`` ``;`` and ``and`` / ``or`` between the members of a list; True when there was one."""
        found = False
        while (token := self.peek()) is not _END:
            if (token.kind == "op" and token.text in ",;") or (
                token.kind in ("name", "text", "cmd") and token.text.strip(" ,.\\").lower() in SEPARATORS
            ):
                pass
            else:
                break
            self.at += 1
            found = True
        return found

    # Lists and relations

    def statement(self) -> Tree:
        members = [self.clause()]
        while self.separator():
            if self.peek() is _END or self.peek().text in _CLOSERS:
                break
            members.append(self.clause())
        return members[0] if len(members) == 1 else ("list", *members)

    def clause(self) -> Tree:
        members: list[Tree] = []
        operators: list[str] = []
        if self.accept("\\approx", "\\sim", "="):  # "= 18", "\approx 3.14"
            return self.expression()
        members.append(self.expression())
        while (token := self.peek()).kind in ("op", "cmd", "name") and token.text in RELATIONS:
            self.at += 1
            operators.append(RELATIONS[token.text])
            members.append(self.expression())
        if not operators:
            return members[0]
        return ("rel", tuple(operators), tuple(members))

    # Sums and products

    def expression(self) -> Tree:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise OverLimit("nesting")
        tree = self.sum()
        while (token := self.peek()).kind == "cmd" and token.text in ("\\cup", "\\cap", "\\setminus", "\\backslash"):
            self.at += 1
            tag = {"\\cup": "union", "\\cap": "intersect"}.get(token.text, "minus")
            right = self.sum()
            tree = (tag, *tree[1:], right) if tree[0] == tag == "union" else (tag, tree, right)
        self.depth -= 1
        return tree

    def sum(self) -> Tree:
        tree = self.term()
        terms = [tree]
        while True:
            if self.accept("+"):
                terms.append(self.term())
            elif self.accept("-"):
                terms.append(negative(self.term()))
            elif self.accept("\\pm", "\\mp"):
                left = terms[0] if len(terms) == 1 else ("add", *terms)
                terms = [("pm", left, self.term())]
            else:
                return terms[0] if len(terms) == 1 else ("add", *terms)

    def term(self) -> Tree:
        if self.accept("-"):
            return negative(self.term())
        if self.accept("+"):
            return self.term()
        if self.accept("\\pm", "\\mp"):
            return ("pm", ("num", 0, -1), self.term())
        tree = self.power()
        while True:
            if self.accept("*", "\\cdot", "\\times", "\\ast"):
                tree = _product(tree, self.signed())
            elif self.accept("/", "\\div"):
                tree = quotient(tree, self.signed())
            elif self.accept(":") and tree[0] == "num":  # a ratio or a time of day
                tree = ("tuple", ("sym", ":"), tree, self.power())
            elif self.accept("\\bmod", "\\mod") or (self.peek().text == "mod" and self.accept_name("mod")):
                tree = ("fn", "mod", tree, self.signed())
            elif self.starts_factor():
                if self.unit():
                    continue
                tree = self.implicit(tree)
            else:
                return tree

    def accept_name(self, name: str) -> bool:
        if self.peek().kind == "name" and self.peek().text == name:
            self.at += 1
            return True
        return False

    def signed(self) -> Tree:
        if self.accept("-"):
            return negative(self.signed())
        self.accept("+")
        return self.power()

    def implicit(self, left: Tree) -> Tree:
        r"""A factor that follows without a sign: ``2x``, and the mixed numbers ``3\frac{1}{2}`` and ``3 1/2``."""
        token = self.peek()
        is_whole = left[0] == "num" and left[2] == -1 and isinstance(left[1], int)
        if token.kind == "num":
            if is_whole and token.text.isdigit() and self.peek(1).text == "/" and self.peek(2).text.isdigit():
                top, bottom = int(token.text), int(self.peek(2).text)
                if 0 < top < bottom:
                    self.at += 3
                    return _mixed(left, Fraction(top, bottom))
            raise Unreadable("two numbers side by side")
        right = self.power()
        if is_whole and token.text in ("\\frac", "\\dfrac", "\\tfrac", "\\cfrac") and right[0] == "num":
            if isinstance(right[1], Fraction) and 0 < right[1] < 1:
                return _mixed(left, right[1])
        return _product(left, right)

    def unit(self) -> bool:
        r"""Skip ``\text{ cm}`` and the like after a number: units don't count."""
        token = self.peek()
        if token.kind != "text" or token.text.strip(" ,.").lower() in SEPARATORS:
            return False
        self.at += 1
        while self.peek().text == "^" and self.peek(1).text in "23{":  # cm^2
            self.at += 1
            if self.accept("{"):
                self.take()
                self.expect("}")
            else:
                self.take()
        after = self.peek()
        if after.text == "/" and self.peek(1).kind == "text":
            self.at += 2
            after = self.peek()
        if after.kind in ("num", "name") or (after.kind == "cmd" and after.text in FUNCTIONS):
            raise Unreadable("words inside a formula")
        return True

    def starts_factor(self) -> bool:
        token = self.peek()
        if token.kind in ("num", "scientific", "repeating"):
            return True
        if token.kind == "text":
            return token.text.strip(" ,.").lower() not in SEPARATORS
        if token.kind == "name":
            return token.text.lower() not in SEPARATORS and token.text not in RELATIONS
        if token.kind == "begin":
            return True
        if token.kind == "op":
            return token.text in "({[" or (token.text == "|" and not self.bars)
        if token.kind == "cmd":
            return token.text not in RELATIONS and token.text not in _CLOSERS and token.text not in NAMED["operators"]
        return False

    # Powers and what binds tighter

    def power(self) -> Tree:
        tree = self.postfix(self.atom())
        if self.accept("^", "**"):
            exponent = self.argument(signed=True)
            tree = self.postfix(("pow", tree, exponent))
        return tree

    def postfix(self, tree: Tree) -> Tree:
        while True:
            if self.accept("!"):
                tree = ("fn", "factorial", tree)
            elif self.accept("%", "\\%"):
                tree = ("percent", tree)
            elif self.accept("_"):
                tree = _subscripted(tree, self.raw_argument())
            elif self.accept("'", "\\prime"):
                tree = ("sym", tree[1] + "'") if tree[0] == "sym" else ("app", "'", tree)
            else:
                return tree

    def argument(self, *, signed: bool = False) -> Tree:
        r"""``{...}``, or one token as LaTeX takes it: ``\frac12`` is one half."""
        if self.accept("{"):
            if self.accept("}"):
                raise Unreadable("an empty group")
            tree = self.statement()
            self.expect("}")
            return tree
        if signed and self.accept("-"):
            return negative(self.argument())
        token = self.peek()
        if token.kind == "num" and len(token.text) > 1 and not signed:
            self.tokens[self.at] = Token("num", token.text[1:], False)
            return ("num", int(token.text[0]), -1) if token.text[0].isdigit() else self.atom()
        if token.kind == "name" and len(token.text) > 1 and not signed:
            self.tokens[self.at] = Token("name", token.text[1:], False)
            return _letter(token.text[0])
        return self.atom()

    def raw_argument(self) -> str:
        """A subscript, as text: it is part of a name."""
        if not self.accept("{"):
            token = self.take()
            return token.text
        parts: list[str] = []
        depth = 1
        while depth:
            token = self.take()
            if token is _END:
                raise Unreadable("an open brace")
            depth += {"{": 1, "}": -1}.get(token.text, 0)
            if depth:
                parts.append(token.text)
        return "".join(parts)

    # Atoms

    def atom(self) -> Tree:
        token = self.take()
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise OverLimit("nesting")
        tree = self._atom(token)
        self.depth -= 1
        return tree

    def _atom(self, token: Token) -> Tree:
        if token.kind == "num":
            return _number(token.text)
        if token.kind == "scientific":
            return _scientific(token.text)
        if token.kind == "repeating":
            return _repeating(token.text)
        if token.kind == "text":
            return word(token.text)
        if token.kind == "name":
            return self.name(token.text)
        if token.kind == "begin":
            return self.environment(token.text)
        if token.text in ("(", "[", "\\{", "\\lbrack"):
            return self.bracket(token.text)
        if token.text == "{":
            return self.group()
        if token.text in ("|", "\\lvert", "\\vert", "\\|"):
            return self.absolute(token.text)
        if token.kind == "cmd":
            return self.command(token.text)
        raise Unreadable(token.text)

    def group(self) -> Tree:
        if self.accept("}"):
            raise Unreadable("an empty group")
        tree = self.statement()
        self.expect("}")
        return tree

    def absolute(self, opening: str) -> Tree:
        self.bars += 1
        tree = self.statement()
        self.bars -= 1
        if not self.accept("|", "\\rvert", "\\vert", "\\|"):
            raise Unreadable("an open bar")
        return ("fn", "det", tree) if tree[0] == "matrix" else ("fn", "abs", tree)

    def bracket(self, opening: str) -> Tree:
        bars, self.bars = self.bars, 0
        members: list[Tree] = []
        while self.peek().text not in (")", "]", "\\}"):
            members.append(self.clause())
            if not self.separator():
                break
        self.bars = bars
        closing = self.take().text
        if opening == "\\{":
            if closing != "\\}":
                raise Unreadable("an open set")
            return ("set", *members)
        if closing not in (")", "]"):
            raise Unreadable("an open bracket")
        if len(members) == 1 and opening == "(" and closing == ")" and self.tokens[self.at - 2].text not in (",", ";"):
            return members[0]
        if len(members) == 1 and opening == "[" and closing == "]":
            return members[0]
        if len(members) == 2 and (opening, closing) == ("(", ")"):
            return ("pair", *members)
        if len(members) == 2:
            return ("interval", members[0], members[1], opening == "[", closing == "]")
        if (opening, closing) in (("(", ")"), ("[", "]")):
            return ("tuple", *members)
        raise Unreadable("a half-open list")

    def environment(self, name: str) -> Tree:
        if name not in _MATRICES:
            raise Unreadable(name)
        rows: list[tuple[Tree, ...]] = []
        row: list[Tree] = []
        while self.peek().kind != "end" or self.peek() is _END:
            if self.peek() is _END:
                raise Unreadable("an open matrix")
            if self.accept("\\hline"):
                continue
            if self.accept("&"):
                continue
            if self.accept("\\\\"):
                rows.append(tuple(row))
                row = []
                continue
            row.append(self.expression())
        self.take()
        if row:
            rows.append(tuple(row))
        rows = [r for r in rows if r]
        if not rows or len({len(r) for r in rows}) != 1:
            raise Unreadable("a ragged matrix")
        matrix: Tree = ("matrix", *rows)
        return ("fn", "det", matrix) if name == "vmatrix" else matrix

    def name(self, text: str) -> Tree:
        if text in FUNCTIONS:
            return self.function(FUNCTIONS[text])
        if text in CONSTANTS:
            return CONSTANTS[text]
        if len(text) > 1 and len(set(text)) > 1 and (len(text) > 3 or (text[0].isupper() and text[1:].islower())):
            return ("sym", text)
        if len(text) > 1:  # xy is x times y
            self.at -= 1
            self.tokens[self.at] = Token("name", text[1:], False)
            return _product(_letter(text[0]), self.power()) if text[1:] else _letter(text[0])
        if text in "fghFGPQ" and self.peek().text == "(" and not self.peek().space:
            self.take()
            inner = self.bracket("(")
            return ("app", text, *(inner[1:] if inner[0] in ("pair", "tuple") else (inner,)))
        return _letter(text)

    def command(self, text: str) -> Tree:
        if text in ("\\frac", "\\dfrac", "\\tfrac", "\\cfrac"):
            top = self.argument()
            return quotient(top, self.argument())
        if text in ("\\binom", "\\dbinom", "\\tbinom"):
            top = self.argument()
            return ("fn", "binom", top, self.argument())
        if text == "\\sqrt":
            return self.root()
        if text in ("\\boxed", "\\fbox", "\\overrightarrow", "\\vec", "\\hat", "\\bar", "\\mathbf", "\\mathrm"):
            return self.argument()
        if text == "\\overline":
            return ("app", "overline", self.argument())
        if text in ("\\lfloor", "\\lceil"):
            tree = self.statement()
            self.expect("\\rfloor" if text == "\\lfloor" else "\\rceil")
            return ("fn", "floor" if text == "\\lfloor" else "ceil", tree)
        if text == "\\langle":
            tree = self.statement()
            self.expect("\\rangle")
            return ("tuple", *tree[1:]) if tree[0] == "list" else tree
        if text in NAMED["big"]:
            return self.big(text[1:])
        if text == "\\angle":
            following = self.take()
            return ("sym", "angle" + following.text)
        if text in CONSTANTS:
            return CONSTANTS[text]
        if text in FUNCTIONS:
            return self.function(FUNCTIONS[text])
        if text in NAMED["symbols"]:
            return ("sym", text[1:])
        raise Unreadable(text)

    def root(self) -> Tree:
        degree: Tree = ("num", 2, -1)
        if self.accept("["):
            degree = self.sum()
            self.expect("]")
        if self.accept("("):
            inner = self.bracket("(")
        else:
            inner = self.argument()
        if degree == ("num", 2, -1):
            return ("fn", "sqrt", inner)
        return ("pow", inner, quotient(("num", 1, -1), degree))

    def function(self, name: str) -> Tree:
        base: Tree | None = None
        exponent: Tree | None = None
        while True:
            if self.accept("_") and name == "log":
                base = self.argument(signed=True)
            elif self.accept("^"):
                exponent = self.argument(signed=True)
            else:
                break
        if self.accept("("):
            inner = self.bracket("(")
        elif self.accept("{"):
            inner = self.group()
        else:
            inner = self.function_body()
        arguments = inner[1:] if inner[0] in ("pair", "tuple", "list") else (inner,)
        if exponent == MINUS_ONE and name in ("sin", "cos", "tan"):
            return ("fn", "a" + name, *arguments)
        tree: Tree = ("fn", name, *arguments) if base is None else ("fn", "log", *arguments, base)
        return tree if exponent is None else ("pow", tree, exponent)

    def function_body(self) -> Tree:
        r"""``\sin 2x``: the factors up to the next sign or function."""
        tree = self.power()
        while self.starts_factor() and self.peek().text not in FUNCTIONS and self.peek().text not in ("(", "|"):
            if self.peek().kind == "text":
                break
            tree = _product(tree, self.power())
        return tree

    def big(self, name: str) -> Tree:
        """Sums, products, integrals, limits: kept by form."""
        below = above = ""
        while True:
            if self.accept("_"):
                below = self.raw_argument()
            elif self.accept("^"):
                above = self.raw_argument()
            else:
                break
        return ("big", name, below, above, self.term())


def _number(text: str) -> Tree:
    if "." not in text:
        return ("num", int(text), -1)
    whole, _, places = text.partition(".")
    value = Fraction(int((whole or "0") + places), 10 ** len(places))
    return ("num", value.numerator if value.denominator == 1 else value, len(places))


def _scientific(text: str) -> Tree:
    """``1.5e3`` is 1500, exactly."""
    mantissa, _, exponent = text.lower().partition("e")
    if abs(int(exponent)) > MAX_EXPONENT:
        raise OverLimit("exponent")
    value = _number(mantissa)[1] * Fraction(10) ** int(exponent)
    return ("num", value.numerator if value.denominator == 1 else value, -1)


def _repeating(text: str) -> Tree:
    r"""``0.1\overline{6}`` is one sixth."""
    head, _, tail = text.partition("\\overline")
    whole, _, places = head.partition(".")
    period = tail.strip(" {}")
    value = Fraction(int((whole or "0") + places), 10 ** len(places))
    value += Fraction(int(period), (10 ** len(period) - 1) * 10 ** len(places))
    return ("num", value.numerator if value.denominator == 1 else value, -1)


def _mixed(left: Tree, part: Fraction) -> Tree:
    return ("num", left[1] + (part if left[1] >= 0 else -part), -1)


def _product(left: Tree, right: Tree) -> Tree:
    return ("mul", *left[1:], right) if left[0] == "mul" else ("mul", left, right)


def _letter(text: str) -> Tree:
    return CONSTANTS.get(text, ("sym", text))


_BASE: Final = re.compile(r"(?:[2-9]|1[0-6])\Z")


def _subscripted(tree: Tree, subscript: str) -> Tree:
    if tree[0] == "num" and tree[2] == -1 and isinstance(tree[1], int) and _BASE.match(subscript):
        return ("based", str(tree[1]), int(subscript))
    if tree[0] in ("sym", "const", "app"):
        return ("sym", f"{tree[1]}_{subscript}") if tree[0] != "app" else ("app", f"{tree[1]}_{subscript}", *tree[2:])
    raise Unreadable("a subscript")
