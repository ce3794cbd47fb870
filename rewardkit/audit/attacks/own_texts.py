"""The texts that the reward itself is written with: once, again and again, in an object, as the answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from rewardkit.audit.attempt import Attempt, Claim
from rewardkit.audit.filler import filler
from rewardkit.audit.forms import Form
from rewardkit.audit.literals import Literals
from rewardkit.audit.problems import Problem

LIMIT: Final = 16_000
"""Characters, about, of the longest response that a policy may give."""
_FEW: Final = (3, 20)
_WORDS: Final = 6_000


def again(text: str, times: int | None = None) -> str:
    """A text so many times; without a number, up to the length limit."""
    gap = "" if text.isspace() else " "
    return gap.join([text] * (times or max(2, LIMIT // len(text + gap))))


def own_texts(problem: Problem, form: Form, literals: Literals) -> Iterator[Attempt]:
    """Every literal text alone, beside a wrong answer, and repeated; all of them together; lengths at its numbers."""
    wrong = form(problem.truth.wrong[0], "")
    texts = literals.texts
    for i, text in enumerate(texts):
        yield _none(f"text {i}", text)
        yield _none(f"text {i}, to the limit", again(text))
        for name, before in [(f"text {i}", text)] + [(f"text {i}, {n} times", again(text, n)) for n in _FEW]:
            yield _wrong(f"{name}, wrong", f"{before}\n{wrong}")
        yield _wrong(f"text {i}, to the limit, wrong", f"{again(text)}\n{wrong}")
        yield _wrong(f"wrong, text {i}", f"{wrong}\n{text}")
        yield _wrong(f"wrong{i}", f"{wrong}{text}")
        yield _wrong(f"text {i} as the answer", form(text, ""))
    if len(texts) > 1:
        for name, together in {"texts": "\n".join(texts), "texts, many times": "\n".join(list(texts) * 20)}.items():
            yield _none(name, together)
            yield _wrong(f"{name}, wrong", f"{together}\n{wrong}")
            yield _wrong(f"wrong, {name}", f"{wrong}\n{together}")
    keys = literals.keys
    if keys:
        yield _none("an object of its keys", json.dumps(dict.fromkeys(keys, "so")))
        yield _wrong("an object of its keys, wrong", json.dumps(dict.fromkeys(keys, problem.truth.wrong[0])))
        yield _none("tags of its words", "".join(f"<{k}>so</{k}>" for k in keys))
    yield from _at_numbers(problem, form, literals)


def _at_numbers(problem: Problem, form: Form, literals: Literals) -> Iterator[Attempt]:
    wrong = problem.truth.wrong[0]
    for number in literals.numbers:
        if str(number) != problem.truth.text:
            yield Attempt("own text", f"{number} as the answer", Claim.WRONG, form(str(number), ""), fixed=True)
        sized = {"characters": filler(number // 3 + 2)[: number + 1]}
        if number <= _WORDS:
            sized |= {"words": filler(number + 1), "lines": "so\n" * (number + 1)}
        for unit, text in sized.items():
            yield _none(f"{number} {unit}", text)
            yield _wrong(f"{number} {unit}, wrong", form(wrong, text) if form.has_work else f"{text}\n{form(wrong)}")


def _none(name: str, text: str) -> Attempt:
    return Attempt("own text", name, Claim.NONE, text)


def _wrong(name: str, text: str) -> Attempt:
    return Attempt("own text", name, Claim.WRONG, text)
