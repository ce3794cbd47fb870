"""The named presets give other libraries' verdicts, bug for bug."""

from __future__ import annotations

import random
import re

import pytest

from rewardkit.answers import grade_gsm8k
from rewardkit.answers.presets import PRESETS

_ALPHABET = "0123456789.,-$# \n%=ab"
_SOLUTIONS = [
    ("She sells 16 - 3 - 4 = <<16-3-4=9>>9 eggs.\nShe makes 9 * 2 = $<<9*2=18>>18.\n#### 18", "18"),
    ("It takes 2/2=<<2/2=1>>1 bolt, so 2+1=<<2+1=3>>3 bolts.\n#### 3", "3"),
    ("The profit is 200,000-130,000 = 70,000.\n#### 70,000", "70000"),
    ("He is 1,234.5 short, -1234.5 in all.\n#### -1,234.5", "-1234.5"),
    ("No marker here, only 42 and then 43.", "43"),
    ("#### 38\n#### 39 Question: next one #### 40", "38"),
    ("....,,,, $$ - -", "0"),
]


def _texts(n: int) -> list[tuple[str, str]]:
    """Solutions with a few characters put in, taken out or changed, most of them near the end."""
    rng = random.Random(7)
    made = list(_SOLUTIONS)
    while len(made) < n:
        text, truth = rng.choice(_SOLUTIONS)
        chars = list(text * rng.randint(1, 4) if rng.random() < 0.2 else text)
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(max(0, len(chars) - 25), len(chars) + 1)
            if rng.random() < 0.4 or at == len(chars):
                chars.insert(at, rng.choice(_ALPHABET))
            elif rng.random() < 0.5:
                del chars[at]
            else:
                chars[at] = rng.choice(_ALPHABET)
        made.append(("".join(chars), truth))
        made.append(("".join(rng.choice(_ALPHABET) for _ in range(rng.randint(0, 30))), truth))
    return made


@pytest.mark.verl
@pytest.mark.parametrize("method", ["strict", "flexible"])
def test_verl_presets_equal_verl(method: str) -> None:
    verl = pytest.importorskip("verl.utils.reward_score.gsm8k")
    for text, truth in _texts(5_000):
        grade = grade_gsm8k(text, truth, mode=f"verl-{method}")
        assert grade.value == float(verl.compute_score(text, truth, method=method)), (text, truth)
        assert (grade.answer is None) == (verl.extract_solution(text, method) is None), text


def _lm_eval(text: str, truth: str, pattern: str, select: int) -> float:
    """lm-eval 0.4.13's filter and metric for gsm8k.yaml version 3, written out once more."""
    for stop in ("Question:", "</s>", "<|im_end|>"):
        text = text.partition(stop)[0]
    matches = re.findall(pattern, text)
    match = matches[select] if matches else "[invalid]"
    if isinstance(match, tuple):
        match = next(m for m in match if m)

    def ignoring(value: str) -> str:
        for ignored in (",", r"\$", "(?s).*#### ", r"\.$"):
            value = re.sub(ignored, "", value)
        return value.lower()

    return float(ignoring(match.strip()) == ignoring(truth))


@pytest.mark.parametrize(
    ("mode", "pattern", "select"),
    [
        ("lm-eval-strict", r"#### (\-?[0-9\.\,]+)", 0),
        ("lm-eval-flexible", r"(-?[$0-9.,]{2,})|(-?[0-9]+)", -1),
    ],
)
def test_lm_eval_presets_equal_its_filters(mode: str, pattern: str, select: int) -> None:
    for text, truth in _texts(5_000):
        solution = f"so it is\n#### {truth}"
        assert grade_gsm8k(text, solution, mode=mode).value == _lm_eval(text, solution, pattern, select), text


def test_presets_keep_the_bugs_that_the_documentation_names() -> None:
    assert grade_gsm8k("#### $18", "18", mode="verl-strict").status.name == "NO_ANSWER"
    assert grade_gsm8k("#### 1 000", "1", mode="verl-strict").value == 1
    assert grade_gsm8k("It is not 72.", "72", mode="lm-eval-flexible").value == 1
    assert grade_gsm8k("#### 18 " + "x" * 300, "18", mode="verl-strict").value == 0


def test_every_preset_says_what_it_reproduces() -> None:
    assert all(preset.source for preset in PRESETS.values())


@pytest.mark.parametrize(
    ("response", "truth"),
    [
        (r"My answer is \boxed{\frac{1}{3}}", r"\frac{1}{3}"),
        (r"My answer is \boxed{\frac{1}{2}}", r"\frac{1}{3}"),
        (r"so $x = 3$", "$3$"),
        ("The answer is 3", "3"),
        ("#### 18", "18"),
        (r"\boxed{10\%}", "10"),
        (r"\boxed{1}, \boxed{2}", "$1,2$"),
        (r"\boxed{0.5}", r"$\frac12$"),
        ("", "$1$"),
        (r"\boxed{1}", "see the diagram"),
    ],
)
def test_trl_preset_is_math_verify_as_trl_calls_it(response: str, truth: str) -> None:
    math_verify = pytest.importorskip("math_verify")
    normalization = pytest.importorskip("latex2sympy2_extended").NormalizationConfig(units=True)
    wanted = math_verify.parse(truth)
    grade = grade_gsm8k(response, truth, mode="trl")
    if not wanted:
        assert grade.status.name == "BAD_GOLD"
        return
    parsed = math_verify.parse(
        response,
        extraction_config=[
            math_verify.LatexExtractionConfig(
                normalization_config=normalization, boxed_match_priority=0, try_extract_without_anchor=False
            )
        ],
        extraction_mode="first_match",
    )
    assert grade.value == float(math_verify.verify(wanted, parsed))
