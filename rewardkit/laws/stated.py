"""Laws that a user states about one reward, because they are what it is for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rewardkit.algebra.expression import Verdict
from rewardkit.batch import Batch, Status
from rewardkit.engine.program import Program, compile
from rewardkit.errors import KindError, ParameterError
from rewardkit.laws.law import Law, broken
from rewardkit.turns import Turn, with_last_said

Transformation = Callable[[str], str]


def dominates(verdict: Verdict) -> Law:
    """No response that the verdict calls wrong is paid more than one it calls right, to the same prompt.

    Raises:
        KindError: not a Verdict.
    """
    if not isinstance(verdict, Verdict):
        raise KindError(f"dominates({verdict!r}) got a {type(verdict).__name__}; expected a Verdict such as gsm8k()")
    judge = compile(verdict)

    def check(program: Program, batch: Batch) -> None:
        verdicts, scores = judge(batch), program(batch)
        usable = ~scores.unscored & ~verdicts.unscored
        right = np.flatnonzero(usable & (verdicts.total == 1) & (verdicts.status == Status.SCORED))
        wrong = np.flatnonzero(usable & (verdicts.total == 0))
        if not len(right) or not len(wrong):
            return
        worst, best = int(right[scores.total[right].argmin()]), int(wrong[scores.total[wrong].argmax()])
        if scores.total[best] > scores.total[worst] + 1e-9:
            why = f"a wrong answer is paid {scores.total[best]:g}, a right one {scores.total[worst]:g}"
            broken(f"dominates({verdict!r})", program, batch, [best, worst], why)

    return Law(
        f"dominates-{verdict!r}", f"No answer that {verdict!r} calls wrong outscores one that it calls right.", check
    )


def ignores(transformation: Transformation, *, name: str | None = None) -> Law:
    """The transformation of the response's text changes nothing: ``ignores(str.strip)``."""
    label = _label("ignores", transformation, name)
    return _transformed(
        label, "is paid the same after", transformation, lambda before, after: abs(after - before) <= 1e-9
    )


def monotone(transformation: Transformation, *, name: str | None = None) -> Law:
    """The transformation of the response's text never lowers its pay: ``monotone(lambda text: text + ".")``."""
    label = _label("monotone", transformation, name)
    return _transformed(label, "is paid no less after", transformation, lambda before, after: after >= before - 1e-9)


def bounded_by_length(gain: float, *, padding: str = " and so on" * 50) -> Law:
    """Padding a response earns at most ``gain``: what is paid does not grow with what is merely written.

    Raises:
        ParameterError: a negative gain, or padding without a word.
    """
    if not gain >= 0 or not padding.strip():
        raise ParameterError(
            f"bounded_by_length({gain!r}, padding={padding[:20]!r}); expected gain >= 0 and some words"
        )

    def pad(text: str) -> str:
        return text + padding

    return _transformed(
        f"bounded_by_length({gain:g})",
        f"earns at most {gain:g} by",
        pad,
        lambda before, after: after <= before + gain + 1e-9,
    )


def _label(law: str, transformation: Transformation, name: str | None) -> str:
    if not callable(transformation):
        raise ParameterError(f"{law}({transformation!r}); expected a function from text to text, such as str.strip")
    return f"{law}({name or getattr(transformation, '__qualname__', repr(transformation))})"


def _turns(batch: Batch, changed: Sequence[str]) -> list[Sequence[Turn] | None] | None:
    """The turns of the batch, and those of its twin: the turn that is the response is transformed in it, too."""
    if batch.turns is None:
        return None
    twins = [line and with_last_said(line, text) for line, text in zip(batch.turns, changed, strict=True)]
    return [*batch.turns, *twins]


def _transformed(
    label: str, relation: str, transformation: Transformation, holds: Callable[[float, float], bool]
) -> Law:
    """A law about each response and its transformed twin, side by side in one batch."""

    def check(program: Program, batch: Batch) -> None:
        n = len(batch)
        changed = [transformation(text) for text in batch.responses]
        both = batch.take([*range(n), *range(n)])
        twin = Batch(
            [*batch.responses, *changed],
            ground_truths=both.ground_truths,
            prompts=both.prompts,
            data_sources=both.data_sources,
            extra_infos=both.extra_infos,
            groups=both.groups,
            truncated=both.truncated,
            tokens=None if batch.tokens is None else [range((len(t) + 1) // 2) for t in (*batch.responses, *changed)],
            turns=_turns(batch, changed),
            step=batch.step,
        )
        scores = program(twin)
        for row in range(n):
            before, after = float(scores.total[row]), float(scores.total[row + n])
            if not np.isnan(before) and not np.isnan(after) and not holds(before, after):
                broken(label, program, twin, [row, row + n], f"{before:g} before the transformation, {after:g} after")

    return Law(label, f"A response {relation} the transformation.", check)
