"""The prompt, given back."""

from __future__ import annotations

from collections.abc import Iterator

from rewardkit.audit.attempt import Attempt, Claim
from rewardkit.audit.forms import Form
from rewardkit.audit.ground_truths import Kind
from rewardkit.audit.problems import Problem


def echo(problem: Problem, form: Form) -> Iterator[Attempt]:
    """The prompt, alone or with a worked example before it. Rows whose prompt says the ground truth are left out."""
    prompt = problem.prompt.strip()
    if not prompt:
        return
    yield Attempt("echo", "the prompt", Claim.NONE, prompt)
    yield Attempt("echo", "the prompt twice", Claim.NONE, f"{prompt}\n{prompt}")
    yield Attempt("echo", "the prompt as reasoning", Claim.NONE, f"<think>\n{prompt}\n</think>\n<answer>\n\n</answer>")
    yield Attempt("echo", "the prompt, wrong", Claim.WRONG, f"{prompt}\n{form(problem.truth.wrong[0], '')}")
    if problem.truth.kind is Kind.NUMBER:
        example = "Question: Tom has a few and buys some.\n"
        wrong = problem.truth.wrong[0]
        yield Attempt("echo", "a worked example", Claim.WRONG, f"{example}{form(wrong, '')}\nQuestion: {prompt}")
        yield Attempt("echo", "a worked example with ####", Claim.WRONG, f"{example}#### {wrong}\nQuestion: {prompt}")
