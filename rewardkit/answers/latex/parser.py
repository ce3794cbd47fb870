"""Recursive descent from tokens to a tree. No model text goes any other way into mathematics.

The grammar is that of final answers: lists, equations and inequalities, intervals and unions, sums and products with
implicit multiplication, LaTeX functions, matrices. What it does not know is Unreadable, and then only texts are
compared: a wrong reading pays wrong answers, no reading costs a right one at worst.
"""

from __future__ import annotations

from fractions import Fraction

from rewardkit.answers.latex.atom_parser import AtomParser, degrees
from rewardkit.answers.latex.atoms import FRACTIONS, FUNCTIONS, OPERATORS, RELATIONS, SET_OPERATORS
from rewardkit.answers.latex.cursor import CLOSERS, END, joining
from rewardkit.answers.latex.leaves import mixed, product
from rewardkit.answers.latex.logic import apart, joined
from rewardkit.answers.latex.tokens import tokenize
from rewardkit.answers.latex.tree import RATIO, OverLimit, Tree, Unreadable, negative, quotient
from rewardkit.answers.limits import MAX_DEPTH


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
    if parser.peek() is not END:
        raise Unreadable(parser.peek().text)
    return degrees(tree, in_radians=False) if "\\degree" in {t.text for t in parser.tokens} else tree


def _is_proper(tree: Tree) -> bool:
    """True for a fraction between 0 and 1."""
    return tree[0] == "num" and isinstance(tree[1], Fraction) and 0 < tree[1] < 1


class _Parser(AtomParser):
    """The upper half: lists, relations, sums and products."""

    # Lists and relations

    def statement(self) -> Tree:
        members, joins = [self.clause()], []
        while join := self.separator():
            if self.peek() is END or (self.peek().text in CLOSERS and (self.bars or self.peek().text != "|")):
                break
            joins.append(join)
            members.append(self.clause())
        return joined(members, joins)

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
        return apart(operators, members)

    # Sums and products

    def expression(self) -> Tree:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise OverLimit("nesting")
        tree = self.sum()
        while self.peek().text in ("\\over", "\\choose"):
            infix = self.take().text
            tree = quotient(tree, self.sum()) if infix == "\\over" else ("fn", "binom", tree, self.sum())
        while (tag := SET_OPERATORS.get(self.peek().text)) is not None:
            self.at += 1
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
        tree = self.factor()
        while True:
            if self.accept("*", "\\cdot", "\\times", "\\ast"):
                tree = product(tree, self.signed())
            elif self.accept("/", "\\div"):
                tree = quotient(tree, self.signed())
            elif (tree[0] == "num" or not self.braces) and self.accept(":"):  # a ratio or a time of day
                parts = tree[2:] if tree[:2] == ("tuple", RATIO) else (tree,)
                tree = ("tuple", RATIO, *parts, self.factor())
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
        return self.factor()

    def factor(self) -> Tree:
        opened = self.peek().text
        tree = self.power()
        self.opened = opened
        return tree

    def implicit(self, left: Tree) -> Tree:
        r"""A factor that follows without a sign: ``2x``, and the mixed numbers ``3\frac{1}{2}`` and ``3 1/2``."""
        token = self.peek()
        is_whole = left[0] == "num" and left[2] == -1 and isinstance(left[1], int)
        if token.kind == "num":
            if self.ends_factor(left):
                return product(left, self.factor())
            if is_whole and token.text.isdigit() and self.peek(1).text == "/" and self.peek(2).text.isdigit():
                top, bottom = int(token.text), int(self.peek(2).text)
                if 0 < top < bottom:
                    self.at += 3
                    return mixed(left, Fraction(top, bottom))
            raise Unreadable("two numbers side by side")
        right = self.factor()
        if token.text == "{" and left[0] == right[0] == "num" and not (is_whole and _is_proper(right)):
            raise Unreadable("two numbers side by side")
        starts_fraction = token.text == "{" or token.text in FRACTIONS
        if is_whole and starts_fraction and _is_proper(right):
            return mixed(left, right[1])
        if is_whole and starts_fraction and right[0] == "percent" and _is_proper(right[1]):
            return ("percent", mixed(left, right[1][1]))
        return product(left, right)

    def ends_factor(self, left: Tree) -> bool:
        r"""Whether a number after this place multiplies what is before it: ``3!7!``, ``\binom{5}{2}3``, ``(2)3``."""
        before = self.tokens[self.at - 1].text
        last = left[-1] if left[0] == "mul" else left
        is_integer = last[0] == "num" and isinstance(last[1], int)
        return before in ("!", ")") or (before == "}" and not (self.opened == "{" and is_integer))

    def unit(self) -> bool:
        r"""Skip ``\text{ cm}`` and the like after a number: units don't count."""
        token = self.peek()
        if token.kind != "text" or joining(token):
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
            return not joining(token)
        if token.kind == "name":
            return not joining(token) and token.text not in RELATIONS
        if token.kind == "begin":
            return True
        if token.kind == "op":
            if token.text == "[" and self.closes():
                return False
            return token.text in "({[" or (token.text == "|" and not self.bars and self.braces != 1)
        if token.kind == "cmd":
            return token.text not in RELATIONS and token.text not in CLOSERS and token.text not in OPERATORS
        return False
