"""Pairs of answers whose verdict is known because both were written from one meaning, or from two that differ.

Each kind is a function of a random source that gives a ground truth, an answer, and whether they are equal. Half of the
pairs are neighbours: another end, sign, connector, letter, order or entry. What a neighbour means is worked out here,
from the numbers it was made of, and never by the code under test.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import NamedTuple


class Pair(NamedTuple):
    """A ground truth, an answer, and whether the answer is right."""

    ground_truth: str
    answer: str
    equal: bool


# Sets of reals

ENDS: dict[str, float] = {
    "-5": -5, "-\\sqrt{3}": -(3**0.5), "-\\frac{1}{2}": -0.5, "0": 0, "\\frac{2}{3}": 2 / 3, "1": 1,
    "\\sqrt{2}": 2**0.5, "2.5": 2.5, "\\pi": math.pi, "4": 4, "12": 12,
}  # fmt: skip
Span = tuple[str | None, str | None, bool, bool]
"""Low and high end, None for infinite, and whether each belongs to it; a single point is closed at both."""


def _value(end: str | None, otherwise: float) -> float:
    return otherwise if end is None else ENDS[end]


def _covered(spans: list[Span]) -> tuple[bool, ...]:
    """Whether each end and each gap between two ends lies in one of the spans."""
    values = sorted(ENDS.values())
    gaps = [values[0] - 1, *((a + b) / 2 for a, b in itertools.pairwise(values)), values[-1] + 1]

    def inside(x: float) -> bool:
        for low, high, low_closed, high_closed in spans:
            a, b = _value(low, -math.inf), _value(high, math.inf)
            if a < x < b or (x == a and low_closed) or (x == b and high_closed):
                return True
        return False

    return tuple(inside(x) for x in (*values, *gaps))


def _spans(rng: Random) -> list[Span]:
    """One to three disjoint spans, at times rays, points, or the line without a few points."""
    ends = sorted(rng.sample(sorted(ENDS), rng.choice([1, 2, 2, 3, 4, 6])), key=ENDS.__getitem__)
    if rng.random() < 0.25:
        edges: list[str | None] = [None, *ends[:3], None]
        return [(a, b, False, False) for a, b in itertools.pairwise(edges)]
    bounds: list[str | None] = list(ends)
    if len(bounds) % 2:
        bounds.insert(rng.choice([0, len(bounds)]), None)
    elif rng.random() < 0.3:
        bounds = [None, *bounds, None]
    pairs = zip(bounds[::2], bounds[1::2], strict=True)
    return [(a, b, a is not None and rng.random() < 0.5, b is not None and rng.random() < 0.5) for a, b in pairs]


def _complement(spans: list[Span]) -> list[Span]:
    gaps: list[Span] = []
    low: str | None = None
    low_closed = False
    open_start = True
    for a, b, a_closed, b_closed in spans:
        if not (open_start and a is None) and (low is None or low != a or (low_closed and not a_closed)):
            gaps.append((low, a, low_closed, not a_closed))
        open_start, low, low_closed = False, b, not b_closed
        if b is None:
            return gaps
    gaps.append((low, None, low_closed, False))
    return gaps


def _interval(rng: Random, span: Span) -> str:
    low, high, low_closed, high_closed = span
    if low is not None and low == high:
        return f"\\{{{low}\\}}"
    french = rng.random() < 0.3
    opening = "[" if low_closed else "]" if french else "("
    closing = "]" if high_closed else "[" if french else ")"
    text = opening + (low or "-\\infty") + ", " + (high or "\\infty") + closing
    return text if french or rng.random() < 0.6 else text.replace("(", "\\left(").replace(")", "\\right)")


_LESS = {False: ("<", "\\lt "), True: ("\\le ", "\\leq ", "\\leqslant ", "<=")}
_MORE = {False: (">", "\\gt "), True: ("\\ge ", "\\geq ", "\\geqslant ", ">=")}
OR = (" \\text{ or } ", " \\lor ", " \\vee ", " or ", ",\\text{ or }", " \\text{ or }\\; ", "∨")
AND = (" \\text{ and } ", " \\land ", " \\wedge ", " and ", ",\\text{ and }", "∧")


def _condition(rng: Random, span: Span, x: str) -> str:
    low, high, low_closed, high_closed = span
    if low is not None and low == high:
        return f"{x} = {low}"
    if low is None and high is None:
        return f"{x} \\in \\mathbb{{R}}"
    above = (
        f"{x} {rng.choice(_MORE[low_closed])} {low}"
        if rng.random() < 0.6
        else f"{low} {rng.choice(_LESS[low_closed])} {x}"
    )
    below = f"{x} {rng.choice(_LESS[high_closed])} {high}"
    if low is None or high is None:
        return below if low is None else above
    if rng.random() < 0.5:
        return f"{low} {rng.choice(_LESS[low_closed])} {x} {rng.choice(_LESS[high_closed])} {high}"
    return above + rng.choice(AND) + below


def _written_set(rng: Random, spans: list[Span]) -> str:
    """One of the ways in which people write such a set."""
    holes = [b for _, b, _, _ in spans[:-1]]
    cofinite = (
        spans[0][0] is None
        and spans[-1][1] is None
        and all(
            b == a and not closed and not start_closed
            for (_, b, _, closed), (a, _, start_closed, _) in itertools.pairwise(spans)
        )
    )
    way = rng.random()
    if cofinite and holes and way < 0.7:
        return rng.choice(
            [
                rng.choice(AND).join(f"x \\neq {hole}" for hole in holes),
                "x \\ne " + ", ".join(map(str, holes)),
                "\\mathbb{R} \\setminus \\{" + ", ".join(map(str, holes)) + "\\}",
                "x \\notin \\{" + ", ".join(map(str, holes)) + "\\}",
                "\\{x \\in \\mathbb{R} \\mid " + ", ".join(f"x \\ne {hole}" for hole in holes) + "\\}",
            ]
        )
    conditions = rng.choice([*OR, " \\cup "]).join(_condition(rng, span, "x") for span in spans)
    if way < 0.35:
        return conditions
    if way < 0.5 and " \\cup " not in conditions:
        return "\\{x " + rng.choice([":", "\\mid", "|"]) + " " + conditions + "\\}"
    rest = _complement(spans)
    if way < 0.65 and rest and spans != [(None, None, False, False)]:
        return "\\mathbb{R} \\setminus \\left(" + " \\cup ".join(_interval(rng, s) for s in rest) + "\\right)"
    text = " \\cup ".join(_interval(rng, span) for span in spans)
    return rng.choice(["x \\in ", "D = ", "D=", "", "", ""]) + text


def _changed_spans(rng: Random, spans: list[Span]) -> list[Span]:
    i = rng.randrange(len(spans))
    low, high, low_closed, high_closed = spans[i]
    if low is not None and low == high:
        return [*spans[:i], *spans[i + 1 :]] or [("0", "1", True, True)]
    if low is not None and rng.random() < 0.5:
        changed: Span = (low, high, not low_closed, high_closed)
    elif high is not None:
        changed = (low, high, low_closed, not high_closed)
    else:
        changed = (low, None, not low_closed, False) if low is not None else ("0", None, True, False)
    return [*spans[:i], changed, *spans[i + 1 :]]


def regions(rng: Random) -> Pair:
    """Intervals, inequalities, set-builders and complements of one set, or of two."""
    spans = _spans(rng)
    others = spans if rng.random() < 0.5 else _changed_spans(rng, spans)
    return Pair(_written_set(rng, spans), _written_set(rng, others), _covered(spans) == _covered(others))


def connectors(rng: Random) -> Pair:
    """Two inequalities joined by "and" or "or", against the set that they are."""
    first, second = sorted(rng.sample(sorted(ENDS), 2), key=ENDS.__getitem__)
    closed = rng.random() < 0.5, rng.random() < 0.5
    inner = rng.random() < 0.5  # x > first, x < second; else x < first, x > second
    one = f"x {rng.choice((_MORE if inner else _LESS)[closed[0]])} {first}"
    two = f"x {rng.choice((_LESS if inner else _MORE)[closed[1]])} {second}"
    word = rng.choice(["and", "or"])
    text = one + rng.choice(AND if word == "and" else OR) + two
    if rng.random() < 0.3:
        text = f"({one})" + rng.choice(["\\land", "\\wedge"] if word == "and" else ["\\lor", "\\vee"]) + f"({two})"
    between: Span = (first, second, *closed)
    outside: list[Span] = [(None, first, False, closed[0]), (second, None, closed[1], False)]
    both: list[Span] = (
        ([between] if inner else []) if word == "and" else ([(None, None, False, False)] if inner else outside)
    )
    shown = rng.choice([[between], outside, [], [(None, None, False, False)], both, both])
    empty = rng.choice(["\\emptyset", "\\varnothing", "\\text{no solution}", "\\{\\}"])
    answer = " \\cup ".join(_interval(rng, span) for span in shown) if shown else empty
    return (
        Pair(text, answer, _covered(both) == _covered(shown))
        if rng.random() < 0.5
        else Pair(answer, text, _covered(both) == _covered(shown))
    )


# Roots, factorials


def odd_roots(rng: Random) -> Pair:
    """Odd roots of negative numbers and unknowns, alone and in sums, against their values."""
    n, k, add, times = rng.choice([3, 3, 5, 7]), rng.randint(1, 6), rng.randint(-9, 9), rng.randint(1, 5)
    size = k**n
    root = rng.choice(
        [
            f"\\sqrt[{n}]{{-{size}}}", f"\\sqrt[{n}]{{ -{size} }}", f"-\\sqrt[{n}]{{{size}}}", f"(-{size})^{{1/{n}}}",
            f"(-{size})^{{\\frac{{1}}{{{n}}}}}", f"\\root {n} \\of {{-{size}}}",
            f"\\sqrt[{n}]{{{size - 1}-{2 * size - 1}}}",
        ]
    )  # fmt: skip
    if n == 3 and rng.random() < 0.2:
        root = rng.choice([f"∛{{-{size}}}", f"\\sqrt[3]{{-\\frac{{{size * 8}}}{{8}}}}"])
    if rng.random() < 0.25:  # of an unknown
        inner, turned = rng.choice([("-x", "x"), ("-2x^2", "2x^2"), ("1-x", "x-1"), ("a-b", "b-a"), ("-x-1", "x+1")])
        right = rng.random() < 0.5
        return Pair(f"\\sqrt[{n}]{{{inner}}}", f"{'-' if right else ''}\\sqrt[{n}]{{{turned}}}", right)
    value = Fraction(-k)
    text = root
    if rng.random() < 0.6:
        root = root if not root.startswith("-") else f"\\left({root}\\right)"
        text, value = f"{add} + {times}\\cdot {root}", add + times * value
    elif rng.random() < 0.3:
        text, value = f"\\frac{{{root}}}{{{times}}}", value / times
    wrong = rng.choice([value + 1, -value, value - k, value + 2 * k])
    shown = value if rng.random() < 0.5 else wrong
    written = f"\\frac{{{shown.numerator}}}{{{shown.denominator}}}" if shown.denominator > 1 else str(shown)
    pair = Pair(text, written, shown == value)
    return pair if rng.random() < 0.5 else Pair(pair.answer, pair.ground_truth, pair.equal)


def _factor(rng: Random) -> tuple[str, int]:
    if rng.random() < 0.5:
        n = rng.randint(2, 9)
        return f"{n}!", math.factorial(n)
    n = rng.randint(3, 12)
    k = rng.randint(1, n)
    way = rng.choice(
        ["\\binom{%d}{%d}", "\\dbinom{%d}{%d}", "\\tbinom{%d}{%d}", "{%d \\choose %d}", "{{%d} \\choose {%d}}"]
    )
    if n >= 3 and rng.random() < 0.2:
        way = rng.choice(["C_{%d}^{%d}", "{}_{%d}C_{%d}", "C(%d, %d)", "\\mathrm{C}_{%d}^{%d}"])
    return way % (n, k), math.comb(n, k)


def counts(rng: Random) -> Pair:
    r"""Products and quotients of factorials, binomials and numbers without a sign between them."""
    factors = [_factor(rng) for _ in range(rng.randint(1, 3))]
    text, value = "".join(t for t, _ in factors), Fraction(math.prod(v for _, v in factors))
    if rng.random() < 0.3:
        number = rng.randint(2, 9)
        text, value = (f"{text}{number}", value * number) if rng.random() < 0.5 else (f"{number}{text}", value * number)
        if text[0].isdigit() and text[1:2].isdigit():
            text = f"{number}\\cdot {text[1:]}"
    if rng.random() < 0.5:
        under, divisor = _factor(rng)
        more, times = _factor(rng)
        value /= divisor * times
        text = rng.choice(
            [f"\\frac{{{text}}}{{{under}{more}}}", f"{{{text} \\over {under}{more}}}", f"({text})/({under}{more})"]
        )
    if rng.random() < 0.2:
        add = rng.randint(1, 9)
        text, value = f"{text} + {add}", value + add
    shown = value if rng.random() < 0.5 else rng.choice([value + 1, value * 2, value * 10, -value])
    written = (
        str(shown)
        if shown.denominator == 1
        else rng.choice(["\\frac{%d}{%d}", "{%d \\over %d}", "%d/%d"]) % (shown.numerator, shown.denominator)
    )
    pair = Pair(text, written, shown == value)
    return pair if rng.random() < 0.5 else Pair(pair.answer, pair.ground_truth, pair.equal)


# Styles, letters

_AROUND = [
    "\\mathbf{%s}", "\\textbf{%s}", "\\bm{%s}", "\\boldsymbol{%s}", "{\\bf %s}", "\\texttt{%s}", "\\mathrm{%s}",
    "\\text{%s}",
    "\\mathsf{%s}", "\\mathtt{%s}", "\\textit{%s}", "{\\rm %s}", "{\\it %s}", "\\pmb{%s}", "\\textsf{%s}", "\\mbox{%s}",
    "\\emph{%s}", "{\\bfseries %s}", "\\underline{%s}", "\\textcolor{red}{%s}", "{\\color{blue} %s}", "\\mathit{%s}",
]  # fmt: skip
_CONTEXTS: list[Callable[[str, str], tuple[str, str]]] = [
    lambda s, v: (s, v),
    lambda s, v: (f"N={s}", v),
    lambda s, v: (f"x = {s}", f"x={v}"),
    lambda s, v: (f"2\\cdot {s}", f"2 \\cdot {v}"),
    lambda s, v: (f"{s}\\text{{ cm}}", v),
    lambda s, v: (f"\\frac{{{s}}}{{7}}", f"\\frac{{{v}}}{{7}}"),
    lambda s, v: (f"\\sqrt{{{s}}}", f"\\sqrt{{{v}}}"),
    lambda s, v: (f"{s}+1", f"{v}+1"),
    lambda s, v: (f"({s}, 5)", f"({v}, 5)"),
    lambda s, v: (f"\\{{{s}, 5\\}}", f"\\{{{v}, 5\\}}"),
    lambda s, v: (f"{s}\\%", f"{v}\\%"),
    lambda s, v: (f"3 < x < {s}", f"(3, {v})"),
    lambda s, v: (f"${s}$", v),
]


def styles(rng: Random) -> Pair:
    """A value in bold, italic, roman or old-style commands, inside a formula, against the same without."""
    n = rng.randint(6, 99)
    value, other = str(n), str(rng.choice([n + 1, n - 1, 10 * n, n + 10]))
    if rng.random() < 0.25:  # the style holds more than the number
        inner, plain = rng.choice(
            [
                (f"{value} cm", "%s"), (f"x = {value}", "%s"), (f"{value} percent", "%s\\%%"), (f"${value}$", "%s"),
                (f"{value} square meters", "%s"), (f"\\frac{{{value}}}{{7}}", "\\frac{%s}{7}"), (f"{value}.5", "%s.5"),
                (f"{value},000", "%s000"), (f"-{value}", "-%s"), (f"{value} and 5", "%s, 5"),
                (f"{value} cm or 5 cm", "%s, 5"),
            ]
        )  # fmt: skip
        text = rng.choice(["\\text{%s}", "\\textbf{%s}", "\\texttt{%s}", "\\mbox{%s}"]) % inner
        right = rng.random() < 0.5
        return Pair(plain % (value if right else other), text, right)
    styled = value
    for _ in range(rng.choice([1, 1, 1, 2])):
        styled = rng.choice(_AROUND) % styled
    right = rng.random() < 0.5
    text, plain = rng.choice(_CONTEXTS)(styled, value if right else other)
    return Pair(plain, text, right) if rng.random() < 0.5 else Pair(text, plain, right)


def _written_letters(rng: Random, letters: list[str]) -> str:
    letters = rng.sample(letters, len(letters))
    wrap = rng.choice(["%s", "(%s)", "\\text{%s}", "\\text{(%s)}", "\\textbf{(%s)}", "\\mathrm{%s}", "\\mathbf{%s}"])
    if len(letters) > 1 and rng.random() < 0.3:
        last = rng.choice([" and ", ", ", ", and ", " \\& "])
        return "\\text{" + ", ".join(letters[:-1]) + last.replace("\\&", "and") + letters[-1] + "}"
    made = [wrap % letter for letter in letters]
    if len(made) == 1:
        return made[0]
    join = rng.choice([", ", ",", "; ", ",\\ "])
    last = rng.choice([join, " \\text{ and } ", ", \\text{ and } ", " and ", " \\& "])
    return join.join(made[:-1]) + last + made[-1]


def letters(rng: Random) -> Pair:
    """One or several options, in any order and dress."""
    right = rng.sample("ABCDF", rng.choice([1, 2, 2, 3, 4]))
    other = (
        right if rng.random() < 0.5 else rng.choice([right[:1], [*right[:-1], "G"], [*right, "H"], right[1:] or ["J"]])
    )
    return Pair(_written_letters(rng, right), _written_letters(rng, other), set(right) == set(other))


# Names, matrices, numerals


def names(rng: Random) -> Pair:
    """Values with the names of what they are, against the values alone."""
    a, b, c = rng.sample(range(2, 60), 3)
    kind = rng.randrange(5)
    right = rng.random() < 0.5
    if kind == 0:  # the names order the values
        one, two = rng.choice(
            [
                ("AB", "CD"),
                ("p", "q"),
                ("a", "b"),
                ("x", "y"),
                ("\\angle A", "\\angle B"),
                ("S_1", "V_2"),
                ("\\sin A", "\\cos A"),
                ("|AB|", "|CD|"),
            ]
        )
        sign = rng.choice([" = ", "="])
        named = f"{one}{sign}{a}" + rng.choice([", ", ",", "; ", " \\text{ and } "]) + f"{two}{sign}{b}"
        first, second = (a, b) if right else rng.choice([(b, a), (a, c), (c, b)])
        plain = rng.choice(["%d, %d", "%d,%d", "(%d, %d)", "%d \\text{ and } %d"]) % (first, second)
        if rng.random() < 0.3:
            plain = f"{two}={second}, {one}={first}"
        elif rng.random() < 0.2:
            plain = f"\\begin{{cases}} {one} = {first} \\\\ {two} = {second} \\end{{cases}}"
    elif kind == 1:  # one name
        name = rng.choice(
            [
                "AB",
                "V_1",
                "N",
                "S_{\\triangle ABC}",
                "\\angle ABC",
                "P(A)",
                "f(2)",
                "\\frac{AB}{CD}",
                "x",
                "ABC",
                "\\tan B",
            ]
        )
        named, plain = f"{name} = {a}", str(a if right else b)
    elif kind == 2:  # a ratio of names
        parts = rng.choice([["V_1", "V_2"], ["a", "b"], ["AB", "BC"], ["a", "b", "c"], ["S_1", "S_2", "S_3"]])
        values = rng.sample(range(2, 60), len(parts))
        shown = values if right else rng.choice([values[::-1], [values[0] + 1, *values[1:]]])
        named = f"{':'.join(parts)}={':'.join(map(str, values))}"
        plain = rng.choice([":", " : "]).join(map(str, shown))
    elif kind == 3:  # several rows
        one, two = rng.choice([("p", "q"), ("x", "y"), ("m", "n"), ("AB", "CD")])
        rows = [(a, b), (c, b)]
        shown = rows if right else rng.choice([[(b, a), (b, c)], [*rows[:1], (c + 1, b)], [(a, c), (b, b)]])
        if right and rng.random() < 0.5:
            shown = shown[::-1]
        named = rng.choice(["; ", ";", " \\text{ or } "]).join(f"{one}={p},{two}={q}" for p, q in rows)
        plain = ", ".join(f"({p},{q})" for p, q in shown)
        plain = rng.choice(
            [plain, plain, f"({one},{two}) = {plain}", f"\\{{{plain}\\}}", f"({one},{two}) \\in \\{{{plain}\\}}"]
        )
    else:  # the roots of one equation have no order
        named = rng.choice([f"x_1={a}, x_2={b}", f"x_{{1}} = {a} \\text{{ or }} x_{{2}} = {b}", f"x={a}, x={b}"])
        shown_roots = rng.sample([a, b if right else c], 2)
        plain = rng.choice(
            ["%d, %d", "x=%d \\text{ or } x=%d", "\\{%d, %d\\}", "x \\in \\{%d, %d\\}", "%d \\text{ and } %d"]
        ) % tuple(shown_roots)
    return Pair(named, plain, right) if rng.random() < 0.5 else Pair(plain, named, right)


def _written_matrix(rng: Random, rows: list[list[int]]) -> str:
    turned = rng.random() < 0.25
    shown = [list(row) for row in zip(*rows, strict=True)] if turned else rows
    way = rng.randrange(4)
    if way == 0:
        text = "[" + rng.choice([", ", ","]).join("[" + ",".join(map(str, row)) + "]" for row in shown) + "]"
    elif way == 1:
        text = "\\left(\\begin{array}{" + "c" * len(shown[0]) + "}" + _matrix_body(rng, shown) + "\\end{array}\\right)"
    else:
        name = rng.choice(["pmatrix", "bmatrix", "matrix", "smallmatrix"])
        text = f"\\begin{{{name}}}{_matrix_body(rng, shown)}\\end{{{name}}}"
    return (
        text + rng.choice(["^T", "^{T}", "^{\\top}", "^\\top", "^{\\mathrm{T}}", "^{\\mathsf T}"]) if turned else text
    )


def _matrix_body(rng: Random, rows: list[list[int]]) -> str:
    end = rng.choice(["\\\\", "\\\\ ", "\\\\[4pt]", "\\\\[0.5em] ", "\\\\*", "\\cr ", "\\\\ [2mm]"])
    return end.join(rng.choice(["&", " & "]).join(map(str, row)) for row in rows) + rng.choice(["", "\\\\"])


def matrices(rng: Random) -> Pair:
    """Matrices as LaTeX environments, rows in brackets and transposes; numerals with a base."""
    if rng.random() < 0.25:
        base = rng.randint(3, 9)
        digits = str(rng.randint(1, base - 1)) + "".join(
            str(rng.randint(0, base - 1)) for _ in range(rng.randint(1, 4))
        )
        other_base = base if rng.random() < 0.5 else base + 1
        way = ["%s_%d", "%s_{%d}", "%s_{(%d)}", "(%s)_{%d}", "(%s)_%d", "%s_{\\text{%d}}"]
        return Pair(rng.choice(way) % (digits, base), rng.choice(way) % (digits, other_base), base == other_base)
    height, width = rng.randint(2, 3), rng.randint(2, 3)
    rows = [[rng.randint(-9, 9) for _ in range(width)] for _ in range(height)]
    other = [row[:] for row in rows]
    if rng.random() < 0.5:
        i, j = rng.randrange(height), rng.randrange(width)
        other = [list(row) for row in zip(*rows, strict=True)] if rng.random() < 0.4 else other
        if other == rows:
            other[i][j] += 1
    return Pair(_written_matrix(rng, rows), _written_matrix(rng, other), rows == other)


KINDS: dict[str, Callable[[Random], Pair]] = {
    "regions": regions, "connectors": connectors, "odd-roots": odd_roots, "counts": counts, "styles": styles,
    "letters": letters, "names": names, "matrices": matrices,
}  # fmt: skip
