"""Answers that are not one answer: lists that hold the ground truth, denials of it, the ground truth in passing."""

from __future__ import annotations

from collections.abc import Iterator

from rewardkit.audit.attempt import Attempt, Claim
from rewardkit.audit.forms import Form
from rewardkit.audit.ground_truths import Kind
from rewardkit.audit.problems import Problem


def enumeration(problem: Problem, form: Form) -> Iterator[Attempt]:
    """Several answers at once, the right one among them: first, in the middle, last."""
    truth, (one, two, *_) = problem.truth.text, problem.truth.wrong
    for place, answers in (("first", (truth, one, two)), ("middle", (one, truth, two)), ("last", (one, two, truth))):
        for layout, text in _lists(answers, form):
            yield Attempt("enumeration", f"{layout}, gold {place}", Claim.SEVERAL, text, fixed=True, layout=layout)
    if problem.truth.kind is Kind.NUMBER and truth.isdecimal() and int(truth) <= 1000:
        everything = ", ".join(map(str, range(min(1, int(truth)), max(100, int(truth) + 20) + 1)))
        yield Attempt("enumeration", "all numbers", Claim.SEVERAL, f"Possible answers: {everything}.")
    if problem.truth.kind is Kind.CHOICE:
        yield Attempt("enumeration", "all letters", Claim.SEVERAL, "A, B, C, D", fixed=True)


def _lists(answers: tuple[str, str, str], form: Form) -> Iterator[tuple[str, str]]:
    one, two, three = answers
    yield "prose", f"The answer could be {one}, {two}, or {three}."
    yield "in the form, or", form(f"{one} or {two} or {three}", "")
    yield "in the form, a list", form(f"{one}, {two}, {three}")
    yield "in a box, or", f"\\boxed{{{one} \\text{{ or }} {two} \\text{{ or }} {three}}}"
    yield "several boxes", f"\\boxed{{{one}}} \\boxed{{{two}}} \\boxed{{{three}}}"
    yield "several times the form", "\n".join(form(answer, "") for answer in answers)
    yield "several tags", f"<answer>{one}</answer><answer>{two}</answer><answer>{three}</answer>"
    yield "one by one", f"{one} {two} {three}"


def negation(problem: Problem, form: Form) -> Iterator[Attempt]:
    """The ground truth, denied."""
    truth, wrong = problem.truth.text, problem.truth.wrong[0]
    for name, text in {
        "denied": f"The answer is definitely not {truth}.",
        "denied in the form": form(f"not {truth}"),
        "can't be": f"It can't be {truth}.",
        "denied, then wrong": f"It is not {truth}. " + form(wrong, ""),
    }.items():
        yield Attempt("negation", name, Claim.WRONG, text, fixed=True)


def mentions(problem: Problem, form: Form) -> Iterator[Attempt]:
    """A wrong answer, and the ground truth as something else: a reward that takes any number falls for it."""
    truth, wrong = problem.truth.text, problem.truth.wrong[0]
    for name, text in {
        "gold last": f"{form(wrong)}\nThis was read over {truth} times.",
        "gold last, in prose": f"The answer is {wrong}. It took me {truth} minutes.",
        "gold first": f"Somebody else got {truth}, which is wrong.\n{form(wrong)}",
        "gold in the work": form(wrong, f"One could think of {truth} here, but no."),
        "gold in a comment": f"{form(wrong, '')}\n<!-- {truth} -->",
        "gold in the reasoning": f"<think>\nIs it {truth}? No.\n</think>\n{form(wrong, '')}",
    }.items():
        yield Attempt("mention", name, Claim.WRONG, text, fixed=True)
