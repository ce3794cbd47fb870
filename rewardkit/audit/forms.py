"""The ways in which answers are written, and which of them a reward takes for an answer.

A strict reward looks safe as long as every attack is written in a form that it does not read. So the form comes first:
each is tried with the ground truth and with a wrong answer, on a few rows, and a reward that pays the first more than
the second reads it. Forms come from a fixed list, from the literal texts of the formula, and from the rows' responses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from rewardkit.algebra.expression import Expression
from rewardkit.audit.ground_truths import Kind
from rewardkit.audit.literals import Literals
from rewardkit.audit.problems import Problem
from rewardkit.audit.subject import Subject

WORK: Final = "First work out each part of it, then put the parts together."
"""Reasoning that holds no number and no marker."""
ROWS: Final = 4
"""Rows that forms are tried on."""


@dataclass(frozen=True, slots=True)
class Form:
    """A way to write an answer.

    Attributes:
        name: as it is called in reports.
        template: the response, with `{work}` and `{answer}` in it.
    """

    name: str
    template: str

    @property
    def is_bare(self) -> bool:
        """Whether nothing marks the answer: of two numbers in such a text, none is the answer for sure."""
        return self in (LAST_NUMBER, BARE)

    @property
    def has_work(self) -> bool:
        """Whether the work stands in it too."""
        return "{work}" in self.template

    def __call__(self, answer: str, work: str = WORK) -> str:
        """A response in this form."""
        return self.template.replace("{work}", work).replace("{answer}", answer).strip()


LAST_NUMBER: Final = Form("42 (last number)", "{work} That makes {answer}.")
BARE: Final = Form("42 (bare)", "{answer}")
FORMS: Final = (
    Form("#### 42", "{work}\n#### {answer}"),
    Form("\\boxed{42}", "{work}\n\\boxed{{answer}}"),
    Form("The answer is 42.", "{work} The answer is {answer}."),
    Form("Answer: 42", "{work}\nAnswer: {answer}"),
    Form("<answer>42</answer>", "{work}\n<answer>{answer}</answer>"),
    Form("<think>...</think><answer>42</answer>", "<think>\n{work}\n</think>\n<answer>\n{answer}\n</answer>"),
    Form(
        "<think>...</think><answer>\\boxed{42}</answer>",
        "<think>\n{work}\n</think>\n<answer>\n\\boxed{{answer}}\n</answer>",
    ),
    Form("<think>...</think>#### 42", "<think>\n{work}\n</think>\n#### {answer}"),
    Form("...</think>#### 42 (prefilled)", "{work}\n</think>\n#### {answer}"),
    Form('{"answer": 42}', '{"answer": {answer}}'),
    LAST_NUMBER,
    BARE,
)


PROGRAM_FORMS: Final = (
    Form("```python block", "{work}\n```python\n{answer}\n```"),
    Form(
        "<think>...</think><answer>```python block</answer>",
        "<think>\n{work}\n</think>\n<answer>\n```python\n{answer}\n```\n</answer>",
    ),
    Form("``` block", "{work}\n```\n{answer}\n```"),
    Form("code alone", "{answer}"),
)


@dataclass(frozen=True, slots=True)
class Read:
    """What a reward makes of one form: the mean pay of the ground truth and of a wrong answer written in it."""

    form: Form
    right: float
    wrong: float

    @property
    def gain(self) -> float:
        """What being right earns in this form."""
        return self.right - self.wrong


@dataclass(frozen=True, slots=True)
class Forms:
    """What a reward makes of every form that was tried.

    Attributes:
        best: of the forms that mark the answer and show work, the one in which a right answer is paid most.
        read: the forms in which being right earns at least half of what it earns in the best; the best first. Empty
            where no form tells right from wrong: the reward does not look at the ground truth.
        tried: all forms.
    """

    best: Form
    read: tuple[Form, ...]
    tried: tuple[Read, ...]


def detect(subject: Subject, problems: Sequence[Problem]) -> Forms:
    """Which forms the reward reads."""
    rows = problems[:ROWS]
    forms = list(dict.fromkeys(_forms(subject, problems)))
    samples = [p.sample(f(answer)) for f in forms for p in rows for answer in (p.truth.text, p.truth.wrong[0])]
    pay = subject.pay(samples).total.reshape(len(forms), len(rows), 2)
    means = [_mean(pay[i]) for i in range(len(forms))]
    tried = tuple(Read(f, right, wrong) for f, (right, wrong) in zip(forms, means, strict=True))
    known = [t for t in tried if not np.isnan(t.gain)]
    top = max((t.gain for t in known), default=0.0)
    if top <= 1e-9:
        by_pay = max(known, key=lambda t: t.right, default=tried[0])
        return Forms(by_pay.form, (), tried)
    read = sorted(
        (t for t in known if t.gain >= top / 2), key=lambda t: (t.form.is_bare, not t.form.has_work, -t.right)
    )
    return Forms(read[0].form, tuple(t.form for t in read), tried)


def _forms(subject: Subject, problems: Sequence[Problem]) -> list[Form]:
    if problems[0].truth.kind is Kind.PROGRAM:
        return list(PROGRAM_FORMS)
    return [*_of_responses(problems), *FORMS, *_of_formula(subject.formula), *_of_literals(subject.literals)]


def _mean(pay: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> tuple[float, float]:
    scored = pay[~np.isnan(pay).any(axis=1)]
    if not len(scored):
        return float("nan"), float("nan")
    return float(scored[:, 0].mean()), float(scored[:, 1].mean())


def _of_responses(problems: Iterable[Problem]) -> list[Form]:
    """The line in which the rows' own responses give their answer."""
    forms: list[Form] = []
    for problem in problems:
        text = problem.response or problem.solution
        if not text or not problem.truth.stands_in(text):
            continue
        line = next(x for x in reversed(text.split("\n")) if problem.truth.stands_in(x))
        before, _, after = line.rpartition(problem.truth.text)
        if len(before) <= 40 and len(after) <= 20 and "{" not in line:
            form = Form(f"{before[-24:]}42{after} (as in the data)", f"{{work}}\n{before}{{answer}}{after}")
            if all(f.template != form.template for f in (*FORMS, *forms)):
                forms.append(form)
    return forms[:3]


def _of_literals(literals: Literals) -> list[Form]:
    """Forms that the reward's own patterns and keys ask for."""
    found = [Form(f"{t.replace('{answer}', '42')} (by its pattern)", f"{{work}}\n{t}") for t in literals.templates]
    found += [Form(f"{f.name} alone", t) for f, t in zip(list(found), literals.templates, strict=True)]
    if literals.keys:
        pairs = ", ".join(f'"{key}": "{{answer}}"' for key in literals.keys)
        found.append(Form("an object of its keys", f"{{{pairs}}}"))
    return [f for f in found if all(f.template != known.template for known in FORMS)]


def _of_formula(root: Expression | None) -> list[Form]:
    """Forms with the literal texts that a formula asks for around them."""
    if root is None:
        return []
    prefix, holds, suffix = "", "", ""
    for node in root.walk():
        name = node.term.name if node.term is not None else ""
        if name == "starts_with":
            prefix = node.param("beginning")
        elif name == "contains":
            holds += " " + node.param("text")
        elif name == "ends_with":
            suffix = node.param("endings")[0]
        elif name == "think_answer" and (node.param("think"), node.param("answer")) != ("think", "answer"):
            think, answer = node.param("think"), node.param("answer")
            tagged = f"<{answer}>\n{{answer}}\n</{answer}>" if answer else "#### {answer}"
            return [Form(f"<{think}>...<{answer}>", f"<{think}>\n{{work}}\n</{think}>\n{tagged}")]
    if not prefix and not holds and not suffix:
        return []
    bare = [f for f in FORMS[:5] if prefix or holds]
    made = [Form(f"{f.name} (with the formula's texts)", f"{prefix}{holds}\n{f.template}{suffix}") for f in bare]
    return [*made, *(Form(f"{f.name}{suffix}", f"{f.template}{suffix}") for f in FORMS[:2] if suffix)]
