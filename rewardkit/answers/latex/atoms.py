"""The words of the formula language: relations, separators, constants, functions."""

from __future__ import annotations

from typing import Final

from rewardkit.answers.latex.tree import Tree

RELATIONS: Final = {
    "=": "=", "==": "=", "<": "<", ">": ">", "<=": "<=", ">=": ">=", "!=": "!=", "\\lt": "<", "\\gt": ">",
    "\\le": "<=", "\\leq": "<=", "\\leqslant": "<=", "\\ge": ">=", "\\geq": ">=", "\\geqslant": ">=",
    "\\ne": "!=", "\\neq": "!=", "\\in": "in", "\\approx": "~", "\\sim": "~", "\\simeq": "~", "\\cong": "~",
    "\\equiv": "==", "\\notin": "notin",
}  # fmt: skip

SEPARATORS: Final = {
    "and": "and", "land": "and", "wedge": "and", "&": "and", "but": "and", "or": "or", "lor": "or",
    "vee": "or", "quad": ",", "qquad": ",", "respectively": ",",
}  # fmt: skip
"""What stands between the members of a list, and whether it says and, or, or neither."""

CONSTANTS: Final[dict[str, Tree]] = {
    "\\pi": ("const", "pi"), "pi": ("const", "pi"), "Pi": ("const", "pi"),
    "e": ("const", "e"), "i": ("const", "i"), "\\imath": ("const", "i"),
    "\\infty": ("const", "oo"), "\\infinity": ("const", "oo"), "infinity": ("const", "oo"), "infty": ("const", "oo"),
    "oo": ("const", "oo"), "\\emptyset": ("set",), "\\varnothing": ("set",),
    "\\mathbbR": ("sym", "RR"), "\\mathbbZ": ("sym", "ZZ"), "\\mathbbN": ("sym", "NN"), "\\mathbbQ": ("sym", "QQ"),
    "\\mathbbC": ("sym", "CC"),
}  # fmt: skip

_FUNCTIONS = [
    "sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "log", "ln", "exp", "gcd", "lcm", "max", "min",
    "det",
]  # fmt: skip
FUNCTIONS: Final[dict[str, str]] = {
    **{f"\\{name}": name for name in _FUNCTIONS},
    **{name: name for name in _FUNCTIONS},
    "\\lg": "lg", "\\arcsin": "asin", "\\arccos": "acos", "\\arctan": "atan",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "asin": "asin", "acos": "acos", "atan": "atan",
    "sqrt": "sqrt", "cbrt": "cbrt", "abs": "abs", "floor": "floor", "ceil": "ceil", "factorial": "factorial",
    "binomial": "binom",
}  # fmt: skip

SET_OPERATORS: Final = {
    "\\cup": "union", "\\cap": "intersect", "\\setminus": "minus", "\\smallsetminus": "minus", "\\backslash": "minus",
}  # fmt: skip
FRACTIONS: Final = frozenset(["\\frac", "\\dfrac", "\\tfrac", "\\cfrac"])
OPERATORS: Final = frozenset(
    [
        "\\cdot", "\\times", "\\ast", "\\div", "\\pm", "\\mp", "\\cup", "\\cap", "\\setminus", "\\backslash", "\\bmod",
        "\\mod", "\\%", "\\prime", "\\}", "\\degree", "\\mid", "\\smallsetminus", "\\over", "\\choose",
        *(f"\\{word}" for word in SEPARATORS),
    ]
)  # fmt: skip
BIG: Final = frozenset(["\\sum", "\\prod", "\\int", "\\lim", "\\iint", "\\oint"])
NAMES: Final = frozenset(
    "\\" + name
    for name in [
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
        "varepsilon",
        "zeta",
        "eta",
        "theta",
        "vartheta",
        "iota",
        "kappa",
        "lambda",
        "mu",
        "nu",
        "xi",
        "rho",
        "varrho",
        "sigma",
        "tau",
        "upsilon",
        "phi",
        "varphi",
        "chi",
        "psi",
        "omega",
        "Gamma",
        "Delta",
        "Theta",
        "Lambda",
        "Xi",
        "Sigma",
        "Upsilon",
        "Phi",
        "Psi",
        "Omega",
        "ell",
        "hbar",
        "triangle",
        "circ",
        "ldots",
        "dots",
        "cdots",
        "dotsc",
        "dotsb",
        "star",
        "aleph",
        "top",
        "intercal",
    ]
)


def word(text: str) -> Tree:
    r"""What ``\text{...}`` or ``\mathrm{...}`` says where a value could stand."""
    body = text.strip(" .,;:()*_")
    if body in CONSTANTS:
        return CONSTANTS[body]
    if len(body) == 1 and body.isalpha():
        return ("sym", body)
    words = " ".join(body.casefold().split())
    return _SETS.get(words) or ("text", words)


_SETS: Final[dict[str, Tree]] = {
    **dict.fromkeys(("no solution", "no solutions", "no real solution", "no real solutions"), ("set",)),
    **dict.fromkeys(("empty set", "the empty set"), ("set",)),
    **dict.fromkeys(("all real numbers", "all reals", "any real number", "the real numbers"), ("sym", "RR")),
}
"""Words for sets."""
