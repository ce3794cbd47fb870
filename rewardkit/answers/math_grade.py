"""Grading formula answers: one response at a time, or many at once over the worker pool.

The cascade: equal text, exact number, form, lists and sets, identity at points, sympy in a worker. All but the last
stage run in the calling process; what they leave open is asked of the workers in one go for a whole batch.
"""

from __future__ import annotations

import functools
import re
import threading
import traceback
from collections.abc import Mapping, Sequence, Set
from typing import Final

from rewardkit.answers.compare import Comparison
from rewardkit.answers.extract import Answer, Mode
from rewardkit.answers.grade import FAILED, Grade, bad_gold, beyond_reading, broken
from rewardkit.answers.latex.exact import exact
from rewardkit.answers.latex.form import formula_text, text_key
from rewardkit.answers.latex.matrices import reduce_matrices
from rewardkit.answers.latex.parser import parse
from rewardkit.answers.latex.same import Cascade, MathRules, Question
from rewardkit.answers.latex.tree import OverLimit, Tree, Unreadable, encoded, subtrees
from rewardkit.answers.limits import MAX_BITS, MAX_FORMULA
from rewardkit.answers.math_extract import extract_math, has_words
from rewardkit.answers.senses import opposed
from rewardkit.answers.spelling import usual_spelling
from rewardkit.batch import Status
from rewardkit.processes.worker_pool import Outcome, Pool, Result

CPU_SECONDS: Final = 1.0
"""CPU time of a worker for one question to sympy. Over 99 % of real questions take under 0.2 s."""

_SYMBOLIC: Final = "rewardkit.answers.latex.symbolic:answer"
_WARM: Final = "rewardkit.answers.latex.symbolic:warm"
_DEFAULT_RULES: Final = MathRules()
_Asked = tuple[Question, Tree, Tree]


class _Open(Exception):
    """A comparison has come to a question for sympy."""

    def __init__(self, asked: _Asked) -> None:
        self.asked = asked


class _BadGold(Exception):
    """The ground truth can't be used."""


_shared: dict[int, Pool] = {}
_shared_lock = threading.Lock()


def shared_pool() -> Pool:
    """The pool that this process's graders share. Made at first use, closed at exit."""
    import os

    with _shared_lock:
        pool = _shared.get(os.getpid())
        if pool is None:
            pool = _shared[os.getpid()] = Pool(preload=_WARM)
        return pool


def grade_math(
    response: str,
    ground_truth: object,
    *,
    mode: Mode = "flexible",
    rules: MathRules = _DEFAULT_RULES,
    cpu_seconds: float = CPU_SECONDS,
    pool: Pool | None = None,
) -> Grade:
    r"""Grade a response whose ground truth is a formula, number or words, in LaTeX or plain.

    Args:
        response: what the model wrote.
        ground_truth: the answer (``\frac{1}{2}``), a solution that marks it (``\boxed{}``, ``####``), or a list of
            these of which any is right.
        mode: ``flexible`` or ``strict``, see :func:`~rewardkit.answers.math_extract.extract_math`.
        rules: the contested rules.
        cpu_seconds: a worker's CPU time for one question to sympy; an answer that uses it up is TIMEOUT (scored 0), a
            ground truth that does is BAD_GOLD.
        pool: the workers; None: this process's shared pool.

    >>> grade_math(r"\boxed{\frac{36}{2}}", "18").value
    1.0
    >>> grade_math(r"so it is $(x+1)^2$.", "x^2 + 2x + 1").stage
    'identity'
    """
    return grade_math_many([response], [ground_truth], mode=mode, rules=rules, cpu_seconds=cpu_seconds, pool=pool)[0]


def grade_math_many(
    responses: Sequence[str],
    ground_truths: Sequence[object],
    *,
    mode: Mode = "flexible",
    rules: MathRules = _DEFAULT_RULES,
    cpu_seconds: float = CPU_SECONDS,
    budget_seconds: float | None = None,
    pool: Pool | None = None,
) -> list[Grade]:
    """Grade many responses. What needs sympy is spread over the workers.

    Args:
        responses: what the model wrote.
        ground_truths: one ground truth for each, as in :func:`grade_math`.
        mode: as in :func:`grade_math`.
        rules: as in :func:`grade_math`.
        cpu_seconds: as in :func:`grade_math`.
        budget_seconds: wall time for the batch; rows that no worker has begun by then are unscored (ERROR), not wrong.
        pool: as in :func:`grade_math`.
    """
    grades: list[Grade | None] = [None] * len(responses)
    known: dict[_Asked, bool | Result] = {}
    waiting = list(range(len(responses)))
    while waiting:
        asked: dict[_Asked, None] = {}
        still: list[int] = []
        for i in waiting:
            try:
                grades[i] = _grade(responses[i], ground_truths[i], mode, rules, known)
            except _Open as question:
                asked[question.asked] = None
                still.append(i)
            except Exception:  # neither text was being read: a fault of ours
                grades[i] = broken(traceback.format_exc())
        if asked:
            _ask(list(asked), known, rules, cpu_seconds, budget_seconds, pool or shared_pool())
        waiting = still
    return [g for g in grades if g is not None]


def compare_math(
    ground_truth: str,
    answer: str,
    *,
    rules: MathRules = _DEFAULT_RULES,
    cpu_seconds: float = CPU_SECONDS,
    pool: Pool | None = None,
) -> Comparison:
    r"""Compare two short answers as mathematics, without extraction.

    A pair over a static limit, or one that no worker could decide, is unequal; the stage says ``limit`` or
    ``undecided``.

    >>> compare_math(r"\frac{\sqrt{3}}{3}", r"1/\sqrt{3}")
    Comparison(equal=True, stage='identity')
    """
    known: dict[_Asked, bool | Result] = {}
    while True:
        try:
            return Comparison(*_compare(ground_truth, answer, rules, known))
        except _Open as question:
            _ask([question.asked], known, rules, cpu_seconds, None, pool or shared_pool())
        except (OverLimit, _BadGold):
            return Comparison(False, "limit")
        except Exception:  # no text raises
            return Comparison(False, "undecided")


def _ask(
    asked: list[_Asked],
    known: dict[_Asked, bool | Result],
    rules: MathRules,
    cpu_seconds: float,
    budget_seconds: float | None,
    pool: Pool,
) -> None:
    calls = [(question, encoded(truth), encoded(answer), rules.assume_positive) for question, truth, answer in asked]
    results = pool.run_many(_SYMBOLIC, calls, cpu_seconds=cpu_seconds, budget_seconds=budget_seconds)
    for key, result in zip(asked, results, strict=True):
        known[key] = bool(result.value) if result.outcome is Outcome.DONE else result


def _grade(response: str, truth: object, mode: Mode, rules: MathRules, known: dict[_Asked, bool | Result]) -> Grade:
    try:
        truths = truth_texts(truth)
    except Exception:
        return bad_gold(truth)
    if not truths:
        return bad_gold(truth)
    try:
        answer = extract_math(response, mode=mode)
    except Exception as error:
        return beyond_reading(error)
    if not isinstance(answer, Answer):
        if mode == "flexible" and any(_is_whole(response, g) for g in truths):
            return Grade(1.0, Status.SCORED, "text")
        return FAILED[answer]
    bad = 0
    stage = ""
    for text in truths:
        try:
            equal, stage = _compare(text, answer.text, rules, known)
        except OverLimit as limit:
            return Grade(0.0, Status.LIMIT, "", answer, f"the answer is over the limit on {limit}")
        except _BadGold:
            bad += 1
            continue
        except _Failed as failure:
            return failure.grade(answer)
        except _Open:
            raise
        except Exception as error:
            return beyond_reading(error, answer)
        if equal or (mode == "flexible" and _is_whole(response, text)):
            return Grade(1.0, Status.SCORED, stage, answer)
    if bad == len(truths):
        return bad_gold(truth)
    if answer.marker == "boxed" and answer.text.count(",") and response[answer.span[0]] == "\\" and stage == "list":
        return Grade(0.0, Status.AMBIGUOUS, stage, answer, "several boxes")
    return Grade(0.0, Status.SCORED, stage, answer)


def _is_whole(response: str, truth: str) -> bool:
    return len(response) < MAX_FORMULA and response.strip() == truth.strip()


class _Failed(Exception):
    """A worker gave no verdict."""

    def __init__(self, result: Result) -> None:
        self.result = result

    def grade(self, answer: Answer) -> Grade:
        if self.result.outcome is Outcome.TIMEOUT:
            return Grade(0.0, Status.TIMEOUT, "sympy", answer, "comparing the answer used up its worker's CPU time")
        if self.result.outcome is Outcome.FAILED:
            last = str(self.result.value).strip().rpartition("\n")[2]
            return Grade(0.0, Status.LIMIT, "sympy", answer, f"comparing the answer failed: {last[:300]}")
        return Grade(
            float("nan"),
            Status.ERROR,
            "sympy",
            answer,
            f"worker: {self.result.outcome.value} {self.result.value or ''}".strip(),
        )


_PLAIN: Final = re.compile(r"[\s$]*(-?\d{1,15})[\s$.]*\Z")


_OPTION: Final = re.compile(
    r"[\s$]*\\(?:text|textbf|textrm|mathrm|mathbf|bf|mbox)\s*\{\s*\(?([A-J])(?:\)[.:]?|[.:])\s*\}"
    r"(?:\\[ ,;:]|\\q?quad|[\s~,])*+(?=\S)([^$]+)\Z"
)
r"""An option with its text, as contests print it: ``\textbf{(B)}\ 42`` is the option B, and is 42."""
_LETTER: Final = re.compile(r"[\s$]*(?:\\(?:text|textbf|mathrm|mathbf)\s*\{)?\s*\(?([A-J])\)?\s*\}?[\s$.]*\Z")


_MORE: Final = re.compile(
    r"(?:[\s,;~&]|\\(?:[ ,;&]|q?quad\b)|\b(?:and|or)\b|\\(?:text|mathrm|mbox)\s*+\{\s*+(?:and|or|,|\\?&)\s*+\})*+"
    r"(?:\\[a-z]+\s*+\{\s*+)?\(?[A-J]\)?[.:]?\s*+\}?\s*+(?![\w.+=*/^-])"
)
r"""Another letter: ``\text{(A)}, \text{(C)}`` are two options, and not the option A that says C."""


def _option(text: str) -> re.Match[str] | None:
    option = _OPTION.match(text)
    return None if option is None or _MORE.match(option[2]) or _OPTION.match(option[2]) is not None else option


def _blame(verdict: Result, question: Question, one: Tree, other: Tree, truth: Tree) -> _Asked | None:
    """What to ask of the ground truth alone: where that ends in the same way, the response is not to blame."""
    own = other if other in set(subtrees(truth)) and one not in set(subtrees(truth)) else one
    if verdict.outcome is Outcome.TIMEOUT:
        return question, own, own
    if verdict.outcome is Outcome.FAILED:
        return (question, own, own) if question == "same-region" else ("equal", own, ("num", 0, -1))
    return None


def _compare(truth: str, answer: str, rules: MathRules, known: dict[_Asked, bool | Result]) -> tuple[bool, str]:
    """The cascade on two texts."""
    if truth == answer:
        return True, "text"
    left, right = _PLAIN.match(truth), _PLAIN.match(answer)
    if left is not None and right is not None:
        return int(left[1]) == int(right[1]), "number"
    if opposed(truth, answer):
        return False, "words"
    truth, answer = usual_spelling(truth), usual_spelling(answer)
    if len(answer) <= MAX_FORMULA and text_key(truth) == text_key(answer):
        return True, "text"

    own, given = _option(truth), _option(answer)
    if own is not None and given is not None:
        return own[1] == given[1] and _compare(own[2], given[2], rules, known)[0], "text"
    for option, other in ((own, answer), (given, truth)):
        if option is not None and (letter := _LETTER.match(other)) is not None:
            return letter[1] == option[1], "text"
    if own is not None or given is not None:
        texts = truth if own is None else own[2], answer if given is None else given[2]
        return _compare(texts[0], texts[1], rules, known)

    def ask(question: Question, one: Tree, other: Tree) -> bool:
        key = (question, one, other)
        verdict = known.get(key)
        if verdict is None:
            raise _Open(key)
        if isinstance(verdict, Result):
            assert truth_tree is not None  # else nothing is asked
            itself = _blame(verdict, question, one, other, truth_tree)
            if itself is not None:
                own = known.get(itself)
                if own is None:
                    raise _Open(itself)
                if isinstance(own, Result) and own.outcome is verdict.outcome:
                    raise _BadGold
            raise _Failed(verdict)
        return verdict

    try:
        truth_tree = _tree(truth, True)
    except Exception:
        raise _BadGold from None
    answer_tree = _tree(answer, True)
    if truth_tree is None or answer_tree is None:
        return False, "unreadable"
    cascade = Cascade(rules, ask)
    if cascade.same(truth_tree, answer_tree):
        return True, cascade.stage
    if (truth_tree[0] == "list") != (answer_tree[0] == "list") and ("," in truth and "," in answer):
        truth_tree, answer_tree = _tree(truth, False), _tree(answer, False)
        if truth_tree is not None and answer_tree is not None and cascade.same(truth_tree, answer_tree):
            return True, cascade.stage
    return False, cascade.stage


@functools.lru_cache(maxsize=16_384)
def _parsed(text: str, grouped: bool) -> Tree | OverLimit | None:
    try:
        tree = reduce_matrices(parse(formula_text(text), grouped=grouped))
        exact(tree)
    except Unreadable:
        return None
    except OverLimit as limit:
        return limit
    return tree


def _tree(text: str, grouped: bool) -> Tree | None:
    if len(text) > MAX_FORMULA:
        raise OverLimit("characters")
    tree = _parsed(text, grouped)
    if isinstance(tree, OverLimit):
        raise OverLimit(*tree.args)
    return tree


_LABELLED: Final = re.compile(r"\banswers?\b(?:\s+is\b|\s*:)", re.IGNORECASE)


@functools.lru_cache(maxsize=16_384)
def _truth_text(truth: str) -> str | None:
    body = truth.strip()
    if not body:
        return None
    if "\\boxed" in body or "\\fbox" in body:
        answer = extract_math(body, mode="strict")
        return answer.text if isinstance(answer, Answer) else None
    if "####" in body:
        return body.rpartition("####")[2].strip() or None
    if _LABELLED.search(body) or (len(body) > 200 and has_words(body)):
        answer = extract_math(body)
        return answer.text if isinstance(answer, Answer) else body
    return body


def formula_fault(ground_truth: object) -> str | None:
    """Why only the very same text could equal a ground truth, in words that follow it; else None.

    Needs no response and no worker. Of a list of ground truths one good entry is enough.
    """
    fault: str | None = "is missing or empty"
    for text in truth_texts(ground_truth):
        try:
            if _tree(text, True) is not None or has_words(text):
                return None
            fault = "is neither a formula that can be read nor words"
        except OverLimit as limit:
            fault = f"is over the limit on {limit}"
    return fault


def truth_texts(ground_truth: object) -> tuple[str, ...]:
    """The acceptable answers of a ground truth, as texts. Empty when it is unusable."""
    if isinstance(ground_truth, str):
        text = _truth_text(ground_truth)
        return () if text is None else (text,)
    if isinstance(ground_truth, bool) or ground_truth is None:
        return ()
    if isinstance(ground_truth, int):
        return (repr(int(ground_truth)),) if ground_truth.bit_length() <= MAX_BITS else ()
    if isinstance(ground_truth, float):  # numpy's float64 is one, and its repr is not a number
        return (
            (repr(float(ground_truth)),) if ground_truth == ground_truth and abs(ground_truth) != float("inf") else ()
        )
    tolist = getattr(ground_truth, "tolist", None)
    if callable(tolist):
        return truth_texts(tolist())
    if isinstance(ground_truth, list | tuple):
        return tuple(
            text for entry in ground_truth if not isinstance(entry, list | tuple) for text in truth_texts(entry)
        )
    if isinstance(ground_truth, Mapping | Set | bytes | bytearray):
        return ()
    return truth_texts(str(ground_truth))
