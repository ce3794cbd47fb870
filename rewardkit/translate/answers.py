"""An answer held against the ground truth: which term asks for the same, and what it asks differently.

People compare texts and floats; the terms compare what a response asserts. Only verl's own GSM8K rule has a mode that
is equal to it.
"""

from __future__ import annotations

import re
from typing import Final

from rewardkit.answers import GSM8KMode
from rewardkit.expression import Verdict
from rewardkit.terms import contains, exact, exactly_one_answer, gsm8k, matches, math_equal, numeric
from rewardkit.translate.values import Answer, Found, Gold, Level, Text, Truth, Value

GRADERS: Final = re.compile(
    r"verify|is_equiv\w*|grade_answer\w*|math_equal\w*|is_correct\w*|is_equal\w*|are_equal\w*|check_answer\w*|em_check"
)
"""Names of functions that say whether an answer is right."""
EXTRACTORS: Final = re.compile(r"\w*boxed\w*|extract_(\w*_)?(answer|solution|number|result)\w*|parse|parse_answer")
"""Names of functions that find the answer in a response."""
_VERL: Final[dict[str, GSM8KMode]] = {"#### (-?[0-9.,]+)": "verl-strict", "(-?[0-9.,]+)": "verl-flexible"}
_VERL_CHANGES: Final[dict[GSM8KMode, set[str]]] = {
    "verl-strict": {"replace ','", "replace '$'"},
    "verl-flexible": {"search"},
}
_VERL_TAIL: Final = 300


def right(answer: Value, gold: Gold) -> tuple[Truth, str]:
    """`answer == ground_truth`, and what differs."""
    if isinstance(answer, Answer):
        mode = _verl_mode(answer)
        if mode is not None and not gold.changed:
            return Truth(gsm8k(mode=mode)), "verl's own rule"
        node, says = _term_of(answer.marker)
        if "float" in answer.changes:
            node, says = gsm8k(), f"yours compares floats; gsm8k() {_ASSERTS}"
        return Truth(node, level=Level.SIMILAR), says
    if isinstance(answer, Text):
        return Truth(exact(), level=Level.SIMILAR), (
            "yours compares the whole response; exact() compares the last <answer> if there is one, and folds blanks"
        )
    raise AssertionError(answer)


def graded(name: str, answer: Value) -> tuple[Truth, str]:
    """A call of a grader, such as math-verify's `verify`."""
    says = f"{name}(...) has its own rules for what is equal; math_equal() compares values"
    if isinstance(answer, Text):
        says += " and finds the answer by itself"
    if name == "verify":
        says += "; gsm8k(mode='trl') is math-verify as TRL calls it"
    boxed = isinstance(answer, Answer) and "boxed" in answer.marker
    return Truth(math_equal(mode="strict") if boxed else math_equal(), level=Level.SIMILAR), says


def near(tolerance: float, *, relative: bool = False) -> tuple[Truth, str]:
    """`abs(answer - truth) < tolerance`."""
    node = numeric(relative=tolerance) if relative else numeric(tolerance=tolerance)
    return Truth(node, level=Level.SIMILAR), f"yours compares floats; numeric() is exact, and {_ASSERTS}"


def mentioned() -> tuple[Truth, str]:
    """`ground_truth in response`."""
    return Truth(gsm8k(), level=Level.SIMILAR), f"yours pays any mention of the ground truth; gsm8k() {_ASSERTS}"


def missing(answer: Answer | Found) -> Truth:
    """Whether the response has no such answer."""
    found = answer if isinstance(answer, Found) else answer.found
    if found is not None:
        node: Verdict = matches(found.pattern)
        level = Level.EQUAL if found.tail is None and not isinstance(answer, Answer) else Level.SIMILAR
        if isinstance(answer, Answer) and found.tail is None and not answer.changes:
            level = found.level
        return Truth(~node, level=level, missing=answer)
    assert isinstance(answer, Answer)
    if "boxed" in answer.marker:
        return Truth(~contains("\\boxed"), level=Level.SIMILAR, missing=answer)
    if answer.marker.startswith(("#", "<")):
        return Truth(~contains(answer.marker), level=Level.SIMILAR, missing=answer)
    return Truth(~exactly_one_answer(), level=Level.SIMILAR, missing=answer)


_ASSERTS: Final = "asks for one answer that the response asserts, and compares numbers exactly"


def _term_of(marker: str) -> tuple[Verdict, str]:
    """The term nearest to how an answer is found, and how it differs."""
    if "####" in marker:
        return gsm8k(mode="strict"), f"yours compares texts; gsm8k(mode='strict') {_ASSERTS} (70,000 is 70000)"
    if "boxed" in marker:
        return math_equal(mode="strict"), "yours compares texts; math_equal() compares values (1/2 is 0.5)"
    if "answer>" in marker:
        return exact(), "yours compares texts as they stand; exact() folds blanks, and without <answer> takes it all"
    if re.search(r"0-9|\\d|number", marker):
        return gsm8k(), f"yours compares the texts of numbers; gsm8k() {_ASSERTS}"
    return math_equal(), "the answer is found and compared by other rules; math_equal() compares values"


def _verl_mode(answer: Answer) -> GSM8KMode | None:
    plain = re.sub(r"\\([-.,])", r"\1", answer.marker)
    mode = _VERL.get(plain)
    if mode is None or answer.tail != _VERL_TAIL or not answer.last or set(answer.changes) != _VERL_CHANGES[mode]:
        return None
    return mode
