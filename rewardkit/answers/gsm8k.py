"""Grading one response to a word problem whose answer is one number."""

from __future__ import annotations

from typing import Final, Literal

from rewardkit.answers.compare import truth_number, truth_numbers
from rewardkit.answers.extract import Answer, extract
from rewardkit.answers.grade import FAILED, Grade, bad_gold
from rewardkit.answers.number import Number
from rewardkit.answers.presets import PRESETS
from rewardkit.answers.senses import is_opposite
from rewardkit.answers.trl import grade_trl
from rewardkit.batch import Status
from rewardkit.errors import ParameterError, did_you_mean

GSM8KMode = Literal["flexible", "strict", "verl-strict", "verl-flexible", "lm-eval-strict", "lm-eval-flexible", "trl"]

MODES: Final = ("flexible", "strict", *PRESETS, "trl")
"""``trl`` runs math-verify in a worker; the others are pure and take microseconds."""


def grade_gsm8k(response: str, ground_truth: object, *, mode: str = "flexible", prompt: str | None = None) -> Grade:
    r"""Grade a response whose ground truth is one number, exactly.

    Args:
        response: what the model wrote.
        ground_truth: a number, its text, a GSM8K solution (``... #### 72``), or a list of these of which any is right.
        mode: ``flexible`` (default): the last marked answer (``####``, ``\boxed{}``, ``<answer>``, "the answer is"),
            else the last number that the response asserts; ``strict``: only the number after the last ``####``; or
            another library's convention by name, bug for bug: ``verl-strict``, ``verl-flexible``, ``lm-eval-strict``,
            ``lm-eval-flexible``, ``trl``.
        prompt: the question, where it is at hand; what is copied from it is not an answer.

    Raises:
        ParameterError: an unknown mode. Nothing about a response or ground truth raises.
        MissingDependencyError: mode ``trl`` without math-verify.

    >>> grade_gsm8k("So she makes $18 every day.", "18").value
    1.0
    >>> grade_gsm8k("#### 71 or 72", "72").status.name
    'AMBIGUOUS'
    """
    if mode in PRESETS:
        return _by_preset(response, ground_truth, mode)
    if mode == "trl":
        return grade_trl(response, ground_truth)
    if mode not in ("flexible", "strict"):
        raise ParameterError(
            f"gsm8k got mode {mode!r}; expected one of {', '.join(MODES)}", hint=did_you_mean(str(mode), MODES)
        )
    if type(ground_truth) is str:
        value = truth_number(ground_truth)
        if value is None:
            return bad_gold(ground_truth)
        ground_truths: tuple[Number, ...] = (value,)
    else:
        ground_truths = truth_numbers(ground_truth)
        if not ground_truths:
            return bad_gold(ground_truth)
    answer = extract(response, mode=mode, prompt=prompt)  # type: ignore[arg-type]
    if not isinstance(answer, Answer):
        return FAILED[answer]
    if answer.value is None:
        return Grade(0.0, Status.SCORED, "no-number", answer)
    right = answer.value in ground_truths and not is_opposite(ground_truth, response, answer.span)
    return Grade(1.0 if right else 0.0, Status.SCORED, "number", answer)


def _by_preset(response: str, truth: object, mode: str) -> Grade:
    truths = [truth] if isinstance(truth, str | int) and not isinstance(truth, bool) else truth
    try:
        texts = [str(g) for g in truths] if isinstance(truths, list | tuple) else []
    except ValueError:  # an integer of over 4300 digits
        texts = []
    if not texts:
        return bad_gold(truth)
    preset = PRESETS[mode]
    answer = preset.extract(response)
    if answer is None:
        return FAILED[Status.NO_ANSWER]
    right = any(preset.equal(answer.text, text) for text in texts)
    return Grade(1.0 if right else 0.0, Status.SCORED, "text", answer)
