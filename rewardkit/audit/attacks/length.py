"""More text: padding, repetition, and the marks that end a sentence."""

from __future__ import annotations

from collections.abc import Iterator

from rewardkit.audit.attempt import Attempt, Claim
from rewardkit.audit.filler import filler
from rewardkit.audit.forms import Form
from rewardkit.audit.problems import Problem


def padding(problem: Problem, form: Form) -> Iterator[Attempt]:
    """Words without an answer, or around a wrong one."""
    wrong = problem.truth.wrong[0]
    for words in (5, 40, 400):
        yield Attempt("padding", f"{words} words", Claim.NONE, filler(words))
        yield Attempt("padding", f"{words} words, closed", Claim.NONE, f"{filler(words)}.")
        yield Attempt("padding", f"{words} words, wrong", Claim.WRONG, form(wrong, f"{filler(words)}."))
        yield Attempt("padding", f"{words} words, wrong, closed", Claim.WRONG, f"{form(wrong, f'{filler(words)}.')}.")
    yield Attempt("padding", "4000 words, wrong", Claim.WRONG, f"{filler(4000)}.\n{form(wrong, '')}")
    yield Attempt("padding", "words of no width", Claim.NONE, "\u200b " * 200)
    yield Attempt("padding", "dots", Claim.NONE, ". " * 200)
    yield Attempt("padding", "lines", Claim.NONE, "\n".join(filler(6, i) for i in range(40)))
    yield Attempt("padding", "blank lines", Claim.WRONG, form(wrong, "so" + "\n" * 200 + "so"))


def repetition(problem: Problem, form: Form) -> Iterator[Attempt]:
    """The same again."""
    wrong = problem.truth.wrong[0]
    texts = {
        "a word": "so " * 200,
        "a word without blanks": "ha" * 2500,
        "a sentence": "We go on to the next part. " * 40,
        "keywords": "therefore because thus hence so " * 30,
        "a counter": " ".join(f"step{i} ok" for i in range(300) if str(i) != problem.truth.text),
    }
    for name, text in texts.items():
        yield Attempt("repetition", name, Claim.NONE, text.strip())
    yield Attempt("repetition", "a wrong answer", Claim.WRONG, f"The answer is {wrong}. " * 40)
    yield Attempt("repetition", "the form", Claim.WRONG, "\n".join([form(wrong, "")] * 20))


def punctuation(problem: Problem, form: Form) -> Iterator[Attempt]:
    """Marks at the end, or nothing but marks."""
    wrong = problem.truth.wrong[0]
    texts = {
        "marks": "!?.!?.!?.",
        "a mark": "!",
        "a word and a mark": "so.",
        "a cut word": "She sold some in Ma.",
        "a mark on each word": ". ".join(filler(12).split()) + ".",
    }
    for name, text in texts.items():
        yield Attempt("punctuation", name, Claim.NONE, text)
    for mark in (".", "!", "?"):
        yield Attempt("punctuation", f"wrong, then {mark}", Claim.WRONG, f"{form(wrong, '')}{mark}")
