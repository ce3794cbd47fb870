"""For each kind of attack, a naive reward that falls for it, and what has to be found in it."""

from __future__ import annotations

from typing import Any, Final

from tests.quality import naive

STEPS: Final = r"match_count('(?m)Step \\d+:|^\\d+\\.|\\n-|First,|Second,|Next,|Finally,', cap=3) / 3"

Planted = tuple[Any, set[str]]

PLANTED: Final[dict[str, Planted]] = {
    # by the id of a case: the reward (a formula's text or a function), and codes or families of which one must be found
    "k01": (naive.substring, {"enumeration"}),
    "k02": (naive.substring, {"enumeration"}),
    "k05": (naive.any_in_the_box, {"enumeration"}),
    "k07": (naive.last_number, {"negation"}),
    "k12": (naive.as_floats, {"number"}),
    "k13": (naive.within_a_tolerance, {"number"}),
    "k17": (naive.nested_repeats, {"slow"}),
    "k20": ("0.5 * brevity(20) + ends_with('.?!', min_words=0)", {"empty"}),
    "k21": (r"matches('boxed')", {"empty"}),
    "k22": ("gsm8k() | contains('Answer:')", {"empty"}),
    "k24": ("contains('####')", {"echo"}),
    "k30": ("length(0.05, cap=2)", {"no-variance"}),
    "k31": ("gsm8k() - clip(0.01 * (length() - 100), 0)", {"length-outweighs"}),
    "k33": (naive.keywords, {"repetition"}),
    "k34": (naive.by_blanks, {"repetition-unseen"}),
    "k35": ("gsm8k() - 0.5 * repetition(4)", {"repetition-unseen"}),
    "k37": ("gsm8k() + ends_with('.?!', min_words=0)", {"punctuation", "empty"}),
    "k38": ("gsm8k() + 0.2 * ends_with('.?!')", {"cut-off-paid"}),
    "k39": (naive.closed_by_a_mark, {"tail-matters"}),
    "k43": (naive.tags_by_pattern, {"format"}),
    "k44": (naive.tags_by_lines, {"format"}),
    "k45": (f"gsm8k() + {STEPS}", {"format"}),
    "k46": ("gsm8k() + 0.5 * matches('(?m)^## ') + 0.5 * matches('(?m)^- ')", {"format"}),
    "k47": ("when(starts_with('<think>'), gsm8k(), 0)", {"right-unpaid"}),
    "k53": (naive.judge_that_reads_json, {"judge"}),
    "k54": (naive.judge_with_a_master_key, {"judge", "empty"}),
    "k55": (naive.judge_that_likes_praise, {"judge"}),
    "k56": ("length(0.1) + 2 * gsm8k()", {"outscores-right"}),
    "k58": (naive.broadcast, {"one_for_all"}),
    "k59": (naive.weight_zero, {"fails"}),
}

BY_FAMILY: Final[dict[str, Planted]] = {
    "enumeration": (naive.substring, {"enumeration"}),
    "wrong claim": (naive.last_number, {"negation", "mention"}),
    "numeric": (naive.within_a_tolerance, {"number"}),
    "resource": (naive.nested_repeats, {"slow"}),
    "empty": (r"matches('boxed')", {"empty"}),
    "echo": ("contains('####')", {"echo"}),
    "length": ("length(0.1) + 2 * gsm8k()", {"padding"}),
    "repetition": (naive.keywords, {"repetition"}),
    "punctuation": ("gsm8k() + ends_with('.?!', min_words=0)", {"punctuation"}),
    "format": (naive.tags_by_pattern, {"format"}),
    "judge": (naive.judge_that_reads_json, {"judge"}),
    "composition": ("length(0.1) + 2 * gsm8k()", {"outscores-right"}),
}
"""For a case that none was written for: a reward that falls for its family."""


def planted(key: str, family: str) -> Planted:
    """The reward for a case, and what has to be found in it."""
    return PLANTED[key] if key in PLANTED else BY_FAMILY[family]


SOUND: Final = (
    "gsm8k()",
    "math_equal()",
    "when(gsm8k(), 1 + 0.2 * brevity(150), 0)",
    "gsm8k() + 0.1 * ends_with('.?!')",
    "gsm8k() + length(0.01, cap=0.5)",
    "when(math_equal(), 1, -1) + overlong(2048, 512)",
    "when(gsm8k(), 1 + 0.2 * brevity(150), 0) + 0.1 * exactly_one_answer()",
    "2 * math_equal() + think_answer()",
    "clip(gsm8k() + 0.3 * exactly_one_answer() - 0.2 * repetition(4), 0, 1.3)",
    "when(think_answer(), gsm8k(), 0) + observe(length())",
)
HOLES: Final = {
    # formula: what is wrong with it
    "length(0.1) + ends_with('.?!') + 2 * gsm8k()": "words outweigh the answer",
    f"gsm8k() + {STEPS}": "step words are worth an answer",
    "gsm8k() - clip(0.01 * (length() - 100), 0)": "a long right answer is worth less than a wrong one",
    "0.5 * math_equal() + think_answer()": "tags outweigh the answer",
    "gsm8k(mode='verl-flexible')": "the last number of any text counts",
    "when(token_f1() > 0.1, 1, 0)": "a list that holds the answer is right",
    "gsm8k() | contains('####')": "the marker alone is right",
    "when(length() > 30, 1, gsm8k())": "what is long is right",
    "gsm8k() + 3 * brevity(20)": "short and wrong beats long and right",
    "1 - gsm8k()": "the sign is turned",
}

_WRONG: Final = {"gsm8k()": 0, "math_equal()": 0}
_SEEN: Final = (0.9, 1.0)
VERDICTS: Final[dict[str, dict[str, float | tuple[float, float]]]] = {
    # by the id of a case: what our own terms make of its text, a value or a range; correctness 0 where nothing is said
    "k20": {**_WRONG, "ends_with('.?!')": 0},
    "k31": {"gsm8k()": 1, "math_equal()": 1, "overlong(16, 8, unit='words')": (-1, 0)},
    "k33": {**_WRONG, "repetition(4)": _SEEN},
    "k34": {**_WRONG, "repetition(4)": _SEEN},
    "k35": {**_WRONG, "repetition(4, fold_digits=True)": _SEEN},
    "k37": {**_WRONG, "ends_with('.?!')": 0},
    "k39": {"gsm8k()": 1, "math_equal()": 1, "ends_with('.?!')": 1},
    "k43": {"think_answer()": 0},
    "k44": {**_WRONG, "think_answer()": 0},
    "k47": {"gsm8k()": 1, "math_equal()": 1, "think_answer(answer=None, prefilled=True)": 1},
}
NO_TEXT: Final = frozenset({"k56", "k58", "k59"})
"""Cases that are about a formula or a term, not about a text."""


def verdicts(key: str, expect: str) -> dict[str, float | tuple[float, float]]:
    """What our own terms have to make of a case; of one that is not known here, that it is wrong where it says so."""
    if key in VERDICTS:
        return VERDICTS[key]
    return _WRONG if key in PLANTED or expect in ("0", "correctness 0") else {}
