"""Texts that cost time: what makes a pattern backtrack, a parser recurse, a power tower grow."""

from __future__ import annotations

from collections.abc import Iterator

from rewardkit.audit.attempt import Attempt, Claim
from rewardkit.audit.forms import Form
from rewardkit.audit.problems import Problem


def bombs(problem: Problem, form: Form) -> Iterator[Attempt]:
    """Long or deep texts, none of which answers the question."""
    texts = {
        "groups of digits": f"#### {'1,' * 5000}x",
        "a long number": form("9" * 20_000),
        "a power tower": form("9^9^9^9^9^9"),
        "a power tower of Python": form("9**9**9**9"),
        "code": form("__import__('time').sleep(60)"),
        "a factorial": form("999999999!"),
        "open brackets": form("(" * 3000),
        "open boxes": "\\boxed{" * 2000,
        "open tags": "<think>" * 2000,
        "one letter": f"{'a' * 20_000}!",
        "blanks": f"so{' ' * 20_000}x",
        "words": f"{'so ' * 8000}x",
        "an exponent": form("1e999999999"),
        "nested fractions": form("\\frac{1}{" * 400 + "1" + "}" * 400),
        "control characters": "\x00\x1b[2J\u202e\u2028",
    }
    for name, text in texts.items():
        yield Attempt("bomb", name, Claim.NONE, text, fixed=True)
