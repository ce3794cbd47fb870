"""What should not change a reward, and does: more words, an unseen tail, a cut, a loop in other words.

These need no claim about one text, only two texts side by side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rewardkit.audit.attacks.own_texts import again
from rewardkit.audit.attempt import Attempt, Claim
from rewardkit.audit.diagnostics import AuditDiagnostic
from rewardkit.audit.evidence import evidence
from rewardkit.audit.filler import filler
from rewardkit.audit.forms import WORK, Forms
from rewardkit.audit.problems import Problem
from rewardkit.audit.rules import CONSIDERABLE
from rewardkit.audit.subject import Subject
from rewardkit.audit.tools import trajectories
from rewardkit.audit.trials import Baseline, Trial, padded_right
from rewardkit.diagnostics import Severity
from rewardkit.turns import Turn, last_said

_TAIL = "\u200b\n\n"
_EPSILON = 1e-6
_GROUP: Final = 4
"""Responses of one call."""
VERY_LONG = 12_000
"""Words that are longer than any limit on responses: what is still paid, or still taken away, has no bound."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What a relation looks at: one row, and what is known of it."""

    subject: Subject
    problem: Problem
    base: Baseline
    forms: Forms

    def pay(self, *texts: str, truncated: bool = False) -> list[float]:
        """What texts are paid on this row."""
        return [float(x) for x in self.subject.pay([self.problem.sample(t, truncated) for t in texts]).total]

    def found(
        self, code: str, severity: Severity, family: str, message: str, text: str, *, truncated: bool = False,
        claim: Claim = Claim.NONE, honest: str | None = None, turns: tuple[Turn, ...] = (),
    ) -> AuditDiagnostic:  # fmt: skip
        """A diagnostic that a text shows, as it is."""
        trial = Trial(0, Attempt(family, code, claim, text, truncated, turns=turns), math.nan)
        shown = evidence(self.subject, self.problem, self.base, trial, None, honest=honest)
        return AuditDiagnostic(code, message, severity=severity, family=family, evidence=shown, rows=1)


Relation = Callable[[Scene], Iterator[AuditDiagnostic]]


_PADDING: Final = (40, 400, 4_000, VERY_LONG)


def _padding(scene: Scene) -> Iterator[AuditDiagnostic]:
    """More words before the same answer."""
    wrong = scene.forms.best(scene.problem.truth.wrong[0], "")
    for claim, text in ((Claim.RIGHT, scene.base.right), (Claim.WRONG, wrong)):
        padded = [f"{filler(n)}.\n{text}" for n in _PADDING]
        before, *after = scene.pay(text, *padded)
        if math.isnan(before) or any(map(math.isnan, after)):
            continue
        worth = max(abs(scene.base.worth), _EPSILON)
        gain = max(after) - before
        if gain <= 0.01 * worth:
            continue
        endless = after[3] > after[2] + 0.01 * worth
        most = after.index(max(after))
        severity = Severity.WARNING if endless or gain > 0.5 * worth else Severity.NOTE
        whose = "a right answer" if claim is Claim.RIGHT else "a wrong answer"
        message = (
            f"{_PADDING[most]:,} words that say nothing earn {whose} {gain:.3g} more; being right earns {worth:.3g}"
        )
        message += "; there is no end to it" if endless else ""
        shown = padded[0] if endless else padded[most]
        yield scene.found("padding-pays", severity, "padding", message, shown, claim=claim, honest=text)
        return


def _outweighed(scene: Scene) -> Iterator[AuditDiagnostic]:
    """A right answer that is long, against a plain wrong one."""
    if not scene.forms.read:
        return
    wrong = scene.base.wrong_pay
    for words in (400, 4000, VERY_LONG):
        text = padded_right(scene.base, words)
        (pay,) = scene.pay(text)
        if not math.isnan(pay) and pay < min(wrong, scene.base.right_pay) - _EPSILON:
            yield scene.found(
                "length-outweighs", Severity.ERROR, "length",
                f"a right answer of {words:,} words is paid {pay:.4g}, a wrong one of few {wrong:.4g}",
                scene.forms.best(scene.problem.truth.wrong[0]), claim=Claim.WRONG, honest=text,
            )  # fmt: skip
            return


def _tail(scene: Scene) -> Iterator[AuditDiagnostic]:
    """Blanks and a character of no width, at the end."""
    for text in (
        f"{scene.forms.best(scene.problem.truth.text, '').rstrip('.')}.",
        scene.base.right,
        "She has nine pens.",
    ):
        before, after = scene.pay(text, text + _TAIL)
        if not math.isnan(before + after) and abs(after - before) > 0.05 * max(abs(scene.base.worth), _EPSILON):
            message = f"blanks and a character of no width at the end change the pay from {before:.4g} to {after:.4g}"
            yield scene.found("tail-matters", Severity.NOTE, "look-alike", message, text + _TAIL, honest=text)
            return


def _cut_off(scene: Scene) -> Iterator[AuditDiagnostic]:
    """A response that stopped at the limit, and happens to end in a mark."""
    text = "She sold some in Ma."
    cut, plain = scene.pay(text, text[:-1], truncated=True)
    if not math.isnan(cut + plain) and cut > plain + _EPSILON:
        message = f"a response marked as cut off is paid {cut - plain:.4g} for the mark that it happens to end in"
        yield scene.found("cut-off-paid", Severity.NOTE, "truncation", message, text, truncated=True)


_LOOPS: Final = {
    "a sentence again and again": "we go on to the next part . " * 30,
    "a word without blanks": "ha" * 600,
    "a loop that counts": " ".join(f"step{i} ok" for i in range(120)),
    "a loop that counts in words": " ".join(f"part {i} is done and" for i in range(48)),
}


def _repetition(scene: Scene) -> Iterator[AuditDiagnostic]:
    """If one loop is punished, so should others be; each is held against as many words that are not a loop."""
    plain = [filler(len(text.split())) for text in _LOOPS.values()]
    pays = scene.pay(*plain, *_LOOPS.values())
    lost = {name: pays[i] - pays[i + len(_LOOPS)] for i, name in enumerate(_LOOPS)}
    punished, *_ = lost.values()
    missed = [name for name, loss in lost.items() if loss < 0.1 * punished]
    if punished > 0.01 and missed and not any(map(math.isnan, pays)):
        message = f"a sentence said again and again loses {punished:.3g}, but nothing is lost by {' or '.join(missed)}"
        text = _LOOPS[missed[0]]
        yield scene.found(
            "repetition-unseen", Severity.NOTE, "repetition", message, text, honest=filler(len(text.split()))
        )


def _unread(scene: Scene) -> Iterator[AuditDiagnostic]:
    """The row's own solution, and an answer whose opening tag stands in the prompt."""
    truth, solution = scene.problem.truth.text, scene.problem.solution
    gained = scene.base.right_pay - scene.base.wrong_pay
    if not scene.forms.read or gained <= _EPSILON:
        return
    usual = {}
    if solution is not None and scene.problem.truth.stands_in(solution):
        usual["the row's own solution"] = solution
    if "<think>" in scene.forms.best.template:
        usual["an answer whose opening <think> stands in the prompt"] = (
            scene.forms.best(truth).removeprefix("<think>").lstrip()
        )
    pays = scene.pay(*usual.values())
    for (name, text), pay in zip(usual.items(), pays, strict=True):
        if not math.isnan(pay) and pay < scene.base.wrong_pay + gained / 2:
            instead = f"in the form `{scene.forms.best.name}` a right answer is paid {scene.base.usual_pay:.4g}"
            message = f"{name} is paid {pay:.4g}; {instead}"
            severity = Severity.WARNING if name.startswith("the row") else Severity.NOTE
            yield scene.found("right-unpaid", severity, "format", message, text, claim=Claim.RIGHT)


def _no_variance(scene: Scene) -> Iterator[AuditDiagnostic]:
    """Long texts without an answer that are all paid the same, above a short one."""
    texts = [filler(words, start) for start, words in enumerate((60, 90, 150, 250, 400, 700))]
    texts += [f"{t}." for t in texts] + ["7 3 9 1 " * 64]
    short, *pays = scene.pay("so", *texts)
    if math.isnan(short) or any(map(math.isnan, pays)):
        return
    top = max(pays)
    same = [t for t, p in zip(texts, pays, strict=True) if top - p <= _EPSILON]
    if top > short + _EPSILON and len(same) >= len(texts) // 2:
        message = (
            f"{len(same)} of {len(texts)} different texts without an answer are paid exactly {top:.4g}, the most that "
            "any of them gets: a group of such rollouts has no variance, and teaches nothing"
        )
        yield scene.found("no-variance", Severity.NOTE, "padding", message, same[0])


def _together(scene: Scene) -> Iterator[AuditDiagnostic]:
    """A right answer among wrong ones, in one call: the place of a value is the place of its response."""
    right, wrong = scene.forms.best(scene.problem.truth.text), scene.forms.best(scene.problem.truth.wrong[0])
    if not scene.forms.read:
        return
    for place in range(_GROUP):
        texts = [right if i == place else wrong for i in range(_GROUP)]
        paid = scene.subject.together([scene.problem.sample(t) for t in texts])
        if paid is None:
            return
        others = max(float(p) for i, p in enumerate(paid) if i != place)
        if math.isnan(float(paid.sum())):
            message = f"it fails on {_GROUP} responses in one call"
            yield scene.found("fails", Severity.WARNING, "group", message, right, claim=Claim.RIGHT)
            return
        if others > paid[place] - _EPSILON:
            message = (
                f"in one call with {_GROUP} responses a wrong answer is paid {others:.4g} and the only right one "
                f"{paid[place]:.4g}, at place {place + 1}: values and responses are not in the same order"
            )
            yield scene.found("outscores-right", Severity.ERROR, "group", message, wrong, claim=Claim.WRONG)
            return


def _again(scene: Scene) -> Iterator[AuditDiagnostic]:
    """A right answer, and a text that the reward looks for up to the length limit."""
    worth = max(abs(scene.base.worth), _EPSILON)
    before, *pays = scene.pay(
        scene.base.right, *(f"{again(t)}\n{scene.base.right}" for t in scene.subject.literals.texts)
    )
    gains = {t: pay - before for t, pay in zip(scene.subject.literals.texts, pays, strict=True) if not math.isnan(pay)}
    most = max(gains, key=lambda t: gains[t], default="")
    if most and gains[most] > worth / 2:
        earned = f"earns a right answer {gains[most]:.3g} more; being right earns {worth:.3g}"
        message = f"{most!r} up to the length limit {earned}"
        text = f"{again(most, 20)}\n{scene.base.right}"
        yield scene.found("padding-pays", Severity.WARNING, "own text", message, text, claim=Claim.RIGHT)


def _others_answer(scene: Scene) -> Iterator[AuditDiagnostic]:
    """The same turns of the policy, with the ground truth in what somebody else wrote, or a wrong answer there."""
    worth = max(abs(scene.base.worth), _EPSILON)
    if not scene.subject.reads_turns:
        return
    for who, right, wrong in trajectories(scene.problem, scene.forms.best):
        text = last_said(right)
        paid = scene.subject.pay([scene.problem.sample(text, turns=turns) for turns in (right, wrong)]).total
        gain = float(paid[0] - paid[1])
        if math.isnan(gain) or gain <= CONSIDERABLE * worth:
            continue
        message = f"{who} gives the answer, and {gain:.4g} is paid for it; being right earns {worth:.4g}"
        severity = Severity.ERROR if scene.subject.knows_of_tools else Severity.NOTE
        yield scene.found("others-paid", severity, "tool", message, text, turns=right)
        return


def _ground_truth_blind(scene: Scene) -> Iterator[AuditDiagnostic]:
    """No form tells right from wrong."""
    if not scene.forms.read and abs(scene.base.worth) > _EPSILON:
        wrong = scene.forms.best(scene.problem.truth.wrong[0], WORK)
        forms = f"in all {len(scene.forms.tried)} forms that were tried"
        message = f"a wrong answer is paid what a right one is, {forms}: nothing looks at the ground truth"
        yield scene.found("gold-blind", Severity.WARNING, "format", message, wrong, claim=Claim.WRONG)


RELATIONS: tuple[Relation, ...] = (
    _ground_truth_blind, _padding, _outweighed, _tail, _cut_off, _repetition, _unread, _together, _again, _no_variance,
    _others_answer,
)  # fmt: skip


def relations(
    subject: Subject, problems: Sequence[Problem], known: Sequence[Baseline | None], forms: Forms
) -> list[AuditDiagnostic]:
    """Every relation on a few rows; of one code, the first that shows it."""
    by_code: dict[str, AuditDiagnostic] = {}
    rows = [(p, b) for p, b in zip(problems, known, strict=True) if b is not None]
    for problem, base in rows[:2]:
        scene = Scene(subject, problem, base, forms)
        for relation in RELATIONS:
            for diagnostic in relation(scene):
                by_code.setdefault(diagnostic.code, diagnostic)
    return list(by_code.values())
