"""Numbers that are not the ground truth and that a careless comparison takes for it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from rewardkit.answers.compare import truth_number
from rewardkit.audit.attempt import Attempt, Claim
from rewardkit.audit.forms import Form
from rewardkit.audit.ground_truths import Kind
from rewardkit.audit.problems import Problem

_SUPERSCRIPT: Final = dict(zip("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹", strict=True))
_SPELLED: Final = frozenset({"a list of its digits", "its digits apart", "hardly more"})
"""What a grader takes for the number that leaves commas and blanks out of it, or reads a float."""
_EXACT_AS_FLOAT: Final = 10**15


def near_numbers(problem: Problem, form: Form) -> Iterator[Attempt]:
    """Near the ground truth, its negative, more digits, more digits than a float holds."""
    if problem.truth.kind is Kind.CHOICE:
        return
    truth = problem.truth.text
    texts: dict[str, str] = {}
    number = truth_number(truth)
    if number is not None and truth.lstrip("-").isdecimal() and len(truth) <= 40:
        value = int(truth)
        texts["one more"] = str(value + 1)
        texts["a little more"] = f"{value}.0001"
        texts["hardly more"] = f"{value}.0000000001"
        texts["other sign"] = str(-value) if value else ""
        texts["a digit more"] = f"{value}0" if value else ""
        texts["a digit before"] = f"-1{truth[1:]}" if value < 0 else f"1{truth}"
        if value >= 10 and len(truth) <= 3:
            texts["a list of its digits"] = f"{truth[0]},{truth[1:]}"
            texts["its digits apart"] = f"{truth[0]} {truth[1:]}"
        if value >= 10:
            texts["a digit less"] = truth[:-1]
            texts["its digits around a word"] = f"{truth[0]} by {truth[1:]}"
        texts["half more"] = f"{value}.5"
        texts["a hundred times"] = f"{value}00" if value else ""
        texts["a hundredth"] = f"{value / 100:g}" if value and abs(value) < _EXACT_AS_FLOAT else ""
        texts["a few hundredths more"] = f"{value + value * 4 / 100:.6g}" if 0 < abs(value) < _EXACT_AS_FLOAT else ""
        texts["near a tenth more"] = f"{value + value * 9 / 100:.6g}" if 0 < abs(value) < _EXACT_AS_FLOAT else ""
        texts["near, relatively"] = str(value + max(1, abs(value) // 11_000)) if abs(value) >= 1000 else ""
        texts["beyond floats"] = str(value + 1) if abs(value) > _EXACT_AS_FLOAT else ""
    if _overflows(truth):
        texts["overflow"] = "1e999"
        texts["infinity"] = "inf"
    texts["not a number"] = "nan"
    for name, text in texts.items():
        if text and text != truth:
            spelled = name in _SPELLED
            yield Attempt("number", name, Claim.WRONG, form(text), fixed=True, spelled=spelled)
            boxed = f"\\boxed{{{text}}}"
            yield Attempt("number", f"{name}, boxed", Claim.WRONG, boxed, fixed=True, spelled=spelled)


def _overflows(truth: str) -> bool:
    try:
        return math.isinf(float(truth))
    except ValueError:
        return False


def lookalikes(problem: Problem, form: Form) -> Iterator[Attempt]:
    """Characters that look or fold like the ground truth's and say something else."""
    truth = problem.truth.text
    if not truth.isdecimal() or len(truth) < 2:
        return
    raised = truth[:-1] + _SUPERSCRIPT[truth[-1]]
    yield Attempt("look-alike", "raised digit", Claim.WRONG, form(raised), fixed=True)
    if truth != truth[::-1]:
        yield Attempt("look-alike", "right to left", Claim.WRONG, form(f"\u202e{truth[::-1]}"), fixed=True)
    letters = truth.translate(str.maketrans("0125", "OlZS"))
    if letters != truth:
        yield Attempt("look-alike", "letters for digits", Claim.WRONG, form(letters), fixed=True)
