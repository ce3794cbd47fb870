"""Numbers that are not the gold and that a careless comparison takes for it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from rewardkit.answers.compare import gold_number
from rewardkit.audit.attempt import Attempt, Claim
from rewardkit.audit.forms import Form
from rewardkit.audit.golds import Kind
from rewardkit.audit.problems import Problem

_SUPERSCRIPT: Final = dict(zip("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹", strict=True))
_SPELLED: Final = frozenset({"a list of its digits", "its digits apart", "hardly more"})
"""What a grader takes for the number that leaves commas and blanks out of it, or reads a float."""
_EXACT_AS_FLOAT: Final = 10**15


def near_numbers(problem: Problem, form: Form) -> Iterator[Attempt]:
    """Near the gold, its negative, more digits, more digits than a float holds."""
    if problem.gold.kind is Kind.CHOICE:
        return
    gold = problem.gold.text
    found: dict[str, str] = {}
    number = gold_number(gold)
    if number is not None and gold.lstrip("-").isdecimal() and len(gold) <= 40:
        value = int(gold)
        found["one more"] = str(value + 1)
        found["a little more"] = f"{value}.0001"
        found["hardly more"] = f"{value}.0000000001"
        found["other sign"] = str(-value) if value else ""
        found["a digit more"] = f"{value}0" if value else ""
        found["a digit before"] = f"-1{gold[1:]}" if value < 0 else f"1{gold}"
        if value >= 10 and len(gold) <= 3:
            found["a list of its digits"] = f"{gold[0]},{gold[1:]}"
            found["its digits apart"] = f"{gold[0]} {gold[1:]}"
        if value >= 10:
            found["a digit less"] = gold[:-1]
            found["its digits around a word"] = f"{gold[0]} by {gold[1:]}"
        found["half more"] = f"{value}.5"
        found["a hundred times"] = f"{value}00" if value else ""
        found["a hundredth"] = f"{value / 100:g}" if value and abs(value) < _EXACT_AS_FLOAT else ""
        found["a few hundredths more"] = f"{value + value * 4 / 100:.6g}" if 0 < abs(value) < _EXACT_AS_FLOAT else ""
        found["near a tenth more"] = f"{value + value * 9 / 100:.6g}" if 0 < abs(value) < _EXACT_AS_FLOAT else ""
        found["near, relatively"] = str(value + max(1, abs(value) // 11_000)) if abs(value) >= 1000 else ""
        found["beyond floats"] = str(value + 1) if abs(value) > _EXACT_AS_FLOAT else ""
    if _overflows(gold):
        found["overflow"] = "1e999"
        found["infinity"] = "inf"
    found["not a number"] = "nan"
    for name, text in found.items():
        if text and text != gold:
            spelled = name in _SPELLED
            yield Attempt("number", name, Claim.WRONG, form(text), fixed=True, spelled=spelled)
            boxed = f"\\boxed{{{text}}}"
            yield Attempt("number", f"{name}, boxed", Claim.WRONG, boxed, fixed=True, spelled=spelled)


def _overflows(gold: str) -> bool:
    try:
        return math.isinf(float(gold))
    except ValueError:
        return False


def lookalikes(problem: Problem, form: Form) -> Iterator[Attempt]:
    """Characters that look or fold like the gold's and say something else."""
    gold = problem.gold.text
    if not gold.isdecimal() or len(gold) < 2:
        return
    raised = gold[:-1] + _SUPERSCRIPT[gold[-1]]
    yield Attempt("look-alike", "raised digit", Claim.WRONG, form(raised), fixed=True)
    if gold != gold[::-1]:
        yield Attempt("look-alike", "right to left", Claim.WRONG, form(f"\u202e{gold[::-1]}"), fixed=True)
    letters = gold.translate(str.maketrans("0125", "OlZS"))
    if letters != gold:
        yield Attempt("look-alike", "letters for digits", Claim.WRONG, form(letters), fixed=True)
