"""The lower half of the parser: numbers, names, brackets, matrices, LaTeX commands, powers."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from rewardkit.answers.latex.atoms import BIG, CONSTANTS, FRACTIONS, FUNCTIONS, NAMES, word
from rewardkit.answers.latex.cursor import END, Cursor
from rewardkit.answers.latex.leaves import letter, number, product, repeating, scientific, subscripted
from rewardkit.answers.latex.logic import joined
from rewardkit.answers.latex.roots import raised
from rewardkit.answers.latex.tokens import Token
from rewardkit.answers.latex.tree import MINUS_ONE, OverLimit, Tree, Unreadable, negative, quotient, subtrees
from rewardkit.answers.limits import MAX_DEPTH

_MATRICES: Final = frozenset(["pmatrix", "bmatrix", "Bmatrix", "matrix", "smallmatrix", "array", "vmatrix", "Vmatrix"])


_ARITY: Final = {
    **dict.fromkeys(("gcd", "lcm", "max", "min"), (1, 1000)),
    "log": (1, 2),
    "binom": (2, 2),
}
"""Least and most arguments of a named function; the others take one."""
_TRIGONOMETRIC: Final = frozenset(["sin", "cos", "tan", "cot", "sec", "csc"])


def degrees(tree: Tree, *, in_radians: bool) -> Tree:
    """The tree without degree signs: radians inside a sine and its kin, dropped as a unit elsewhere."""
    if tree[0] == "degree":
        inner = degrees(tree[1], in_radians=in_radians)
        return ("mul", inner, ("num", Fraction(1, 180), -1), ("const", "pi")) if in_radians else inner
    return tuple(
        degrees(part, in_radians=in_radians)
        if isinstance(part, tuple) and part and isinstance(part[0], str)
        else tuple(degrees(p, in_radians=in_radians) if isinstance(p, tuple) else p for p in part)
        if isinstance(part, tuple)
        else part
        for part in tree
    )


class AtomParser(Cursor):
    """What binds at least as tight as a power. The upper half gives it lists, sums and factors."""

    # Powers and what binds tighter

    def power(self) -> Tree:
        """An atom with what follows it, and its exponent."""
        tree = self.postfix(self.atom())
        if self.accept("^", "**"):
            exponent = self.argument(signed=True)
            tree = self.postfix(raised(tree, exponent))
        return tree

    def postfix(self, tree: Tree) -> Tree:
        """``!``, ``%``, subscripts and primes after an atom."""
        while True:
            if self.accept("!"):
                double = not self.peek().space and self.accept("!")
                tree = ("fn", "factorial2" if double else "factorial", tree)
            elif self.accept("%", "\\%"):
                tree = ("percent", tree)
            elif self.accept("\\degree"):
                tree = ("degree", tree)
            elif self.accept("_"):
                tree = subscripted(tree, self.raw_argument())
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
            return letter(token.text[0])
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
            if token is END:
                raise Unreadable("an open brace")
            depth += {"{": 1, "}": -1}.get(token.text, 0)
            if depth:
                parts.append(token.text)
        return "".join(parts)

    # Atoms

    def atom(self) -> Tree:
        """The smallest whole: a number, name, bracket, command or matrix."""
        token = self.take()
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise OverLimit("nesting")
        tree = self._atom(token)
        self.depth -= 1
        return tree

    def _atom(self, token: Token) -> Tree:
        if token.kind == "num":
            return number(token.text)
        if token.kind == "scientific":
            return scientific(token.text)
        if token.kind == "repeating":
            return repeating(token.text)
        if token.kind == "text":
            return word(token.text)
        if token.kind == "name":
            return self.name(token.text)
        if token.kind == "begin":
            return self.environment(token.text)
        if token.text in ("(", "[", "]", "\\{", "\\lbrack"):
            return self.bracket("[" if token.text == "\\lbrack" else token.text)
        if token.text == "{":
            return self.group()
        if token.text in ("|", "\\lvert", "\\vert", "\\|"):
            return self.absolute(token.text)
        if token.kind == "cmd":
            return self.command(token.text)
        raise Unreadable(token.text)

    def group(self) -> Tree:
        """Between braces."""
        if self.accept("}"):
            raise Unreadable("an empty group")
        tree = self.statement()
        self.expect("}")
        return tree

    def absolute(self, opening: str) -> Tree:
        """Between bars: an absolute value, or the determinant of a matrix."""
        self.bars += 1
        tree = self.statement()
        self.bars -= 1
        if not self.accept("|", "\\rvert", "\\vert", "\\|"):
            raise Unreadable("an open bar")
        return ("fn", "det", tree) if tree[0] == "matrix" else ("fn", "abs", tree)

    def bracket(self, opening: str) -> Tree:
        """A bracket, a point, a set, an interval."""
        if opening == "[" and self.has_rows():
            return self.rows()
        outer = self.bars, self.braces, self.square
        self.bars, self.braces, self.square = 0, int(opening == "\\{"), int(opening in "[]")
        members: list[Tree] = []
        joins: list[str] = []
        closers = (")", "]", "\\}") if opening in "[]" else (")", "\\}")  # elsewhere "]" opens "]0, 1["
        while self.peek().text not in closers:
            members.append(self.clause())
            self.braces = 2 * self.braces
            if opening == "\\{" and len(members) == 1 and self.accept(":", "\\mid", "|"):
                tree = self.condition(members[0])
                self.bars, self.braces, self.square = outer
                return tree
            join = self.separator()
            if not join:
                break
            joins.append(join)
        self.bars, self.braces, self.square = outer
        closing = self.take().text
        if opening == "\\{":
            if closing != "\\}":
                raise Unreadable("an open set")
            return ("set", *members)
        if closing not in (")", "]") and not (closing == "[" and opening in "[]" and len(members) == 2):
            raise Unreadable("an open bracket")
        if len(members) == 1 and opening == "(" and closing == ")" and self.tokens[self.at - 2].text not in (",", ";"):
            return members[0]
        if len(members) == 1 and opening == "[" and closing == "]":
            return members[0]
        if opening == "(" and len(joins) == len(members) - 1 and set(joins) - {","}:
            clauses = joined(members, joins)
            if clauses[0] != "list":
                return clauses
        if len(members) == 2 and (opening, closing) == ("(", ")"):
            return ("pair", *members)
        if len(members) == 2:
            return ("interval", members[0], members[1], opening == "[", closing == "]")
        if (opening, closing) in (("(", ")"), ("[", "]")):
            return ("tuple", *members)
        raise Unreadable("a half-open list")

    def condition(self, head: Tree) -> Tree:
        r"""``\{x : 0 \le x < 1\}`` and ``\{x \in \mathbb{R} \mid x > 2\}`` are what they ask of x."""
        condition = self.statement()
        self.expect("\\}")
        within = head[0] == "rel" and head[1] == ("in",)
        name = head[2][0] if within else head
        if name[0] != "sym" or condition[0] not in ("rel", "all", "any", "list") or name not in subtrees(condition):
            raise Unreadable("a set by a condition")
        if condition[0] == "list":  # what commas separate holds together here
            condition = ("all", *condition[1:])
        return condition if not within or head[2][1] == ("sym", "RR") else ("all", head, condition)

    def has_rows(self) -> bool:
        """Whether what follows an opening bracket is rows in brackets, up to its end."""
        i = 0
        while self.peek(i).text == "[":
            i += 1
            while self.peek(i).text not in ("[", "]", ""):
                i += 1
            if self.peek(i).text != "]" or self.peek(i + 1).text == "]":
                return self.peek(i).text == "]"
            i += 2 if self.peek(i + 1).text in (",", ";") else 1
        return False

    def rows(self) -> Tree:
        """A matrix as rows in brackets: ``[[1, 2], [3, 4]]``."""
        rows: list[tuple[Tree, ...]] = []
        while self.accept("["):
            cells = [self.expression()]
            while self.accept(",", "&"):
                cells.append(self.expression())
            self.expect("]")
            rows.append(tuple(cells))
            self.accept(",", ";")
        self.expect("]")
        if len({len(row) for row in rows}) != 1:
            raise Unreadable("a ragged matrix")
        return ("matrix", *rows)

    def environment(self, name: str) -> Tree:
        """A matrix, or its determinant between bars."""
        if name in ("cases", "aligned", "gathered"):
            return self.system()
        if name not in _MATRICES:
            raise Unreadable(name)
        rows: list[tuple[Tree, ...]] = []
        row: list[Tree] = []
        while self.peek().kind != "end" or self.peek() is END:
            if self.peek() is END:
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

    def system(self) -> Tree:
        """Equations or inequalities that hold together; cases with their conditions beside them are none."""
        clauses: list[Tree] = []
        while self.peek().kind != "end" or self.peek() is END:
            clauses.append(self.clause())
            self.accept(",", ";")
            if not self.accept("\\\\"):
                break
        if self.take().kind != "end" or any(clause[0] != "rel" for clause in clauses):
            raise Unreadable("cases")
        return joined(clauses, ["and"] * (len(clauses) - 1))

    def name(self, text: str) -> Tree:
        """Letters: a function, a constant, a word, a variable, or several variables side by side."""
        if text in FUNCTIONS:
            return self.function(FUNCTIONS[text])
        if text in CONSTANTS:
            return CONSTANTS[text]
        if len(text) > 1 and len(set(text)) > 1 and (len(text) > 3 or (text[0].isupper() and text[1:].islower())):
            return ("sym", text)
        if len(text) > 1:  # xy is x times y
            self.at -= 1
            self.tokens[self.at] = Token("name", text[1:], False)
            return product(letter(text[0]), self.power()) if text[1:] else letter(text[0])
        if text in "fghFGPQ" and self.peek().text == "(" and not self.peek().space:
            self.take()
            inner = self.bracket("(")
            return ("app", text, *(inner[1:] if inner[0] in ("pair", "tuple") else (inner,)))
        return letter(text)

    def command(self, text: str) -> Tree:
        """A LaTeX command."""
        if text in FRACTIONS:
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
        if text in BIG:
            return self.big(text[1:])
        if text == "\\angle":
            following = self.take()
            return ("sym", "angle" + following.text)
        if text in CONSTANTS:
            return CONSTANTS[text]
        if text in FUNCTIONS:
            return self.function(FUNCTIONS[text])
        if text in NAMES:
            return ("sym", text[1:])
        raise Unreadable(text)

    def root(self) -> Tree:
        """A square root, or another with its degree in brackets."""
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
        return raised(inner, quotient(("num", 1, -1), degree))

    def function(self, name: str) -> Tree:
        """A named function with its base, exponent and arguments."""
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
        least, most = _ARITY.get(name, (1, 1)) if base is None else (1, 1)
        if not least <= len(arguments) <= most:
            raise Unreadable(f"{name} of {len(arguments)}")
        if name in _TRIGONOMETRIC:
            arguments = tuple(degrees(a, in_radians=True) for a in arguments)
        if name == "cbrt":
            tree = raised(arguments[0], ("num", Fraction(1, 3), -1))
            return tree if exponent is None else ("pow", tree, exponent)
        if exponent == MINUS_ONE and name in ("sin", "cos", "tan"):
            return ("fn", "a" + name, *arguments)
        tree = ("fn", name, *arguments) if base is None else ("fn", "log", *arguments, base)
        return tree if exponent is None else ("pow", tree, exponent)

    def function_body(self) -> Tree:
        r"""``\sin 2x``: the factors up to the next sign or function."""
        tree = self.power()
        while self.starts_factor() and self.peek().text not in FUNCTIONS and self.peek().text not in ("(", "|"):
            if self.peek().kind == "text":
                break
            tree = product(tree, self.power())
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
