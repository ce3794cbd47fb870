"""What a person should look at first, said in a sentence with its numbers. Each rule has its threshold here.

A note is a reason to look, not a verdict: length that pays may be meant to pay.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from rewardkit.batch import POLICY_CAUSED
from rewardkit.report.result import TOTAL, WORDS, Note, RolloutReport
from rewardkit.report.steps import caused_of, dead_of

UNSCORED: Final = 0.01
"""Rows without a total."""
DEAD: Final = 0.5
"""Dead groups: from here on a run wastes more than it uses."""
LENGTH: Final = 0.5
"""Correlation of the total with the length."""
ALIKE: Final = 0.98
"""Correlation at which two terms say the same."""
AGAINST: Final = -0.5
"""Correlation at which two terms pull against each other."""
RULES: Final = 0.95
"""Correlation with the total at which one term is all that counts."""
DRIFT: Final = 0.25
"""Standard deviations of a whole run by which a mean must move to be said to move."""
GROWTH: Final = 1.5
"""Times by which responses grow."""
FAILS: Final = 0.2
"""Rows that fail a term through the policy's own doing."""
SIMILAR: Final = 0.01
"""Sampled texts that are one cluster of near-duplicates."""
ENDING: Final = 0.05
"""Rows that share an ending."""
AGREE: Final = 0.98
"""Correlation of totals and logged advantages, which are made from totals."""


def notes(report: RolloutReport) -> tuple[Note, ...]:
    """All notes on a report, those on the data before those on the policy."""
    of_the_run = (*_sums(report), *_unscored(report), *_similar(report), *_endings(report), *_groups(report))
    return (*of_the_run, *_drifts(report), *_terms(report), *_relations(report))


def _sums(r: RolloutReport) -> Iterator[Note]:
    if r.differ:
        yield Note(
            "other-formula",
            f"the logged total differs from what the formula pays in {r.differ / r.compared:.1%} of "
            f"{r.compared:,} rows: another formula, or another version of it, was at work",
        )
    if r.groups is not None and r.groups.agreement < AGREE:
        yield Note(
            "other-weights",
            f"within a group the totals go with the logged advantages by {r.groups.agreement:.2f} only, and should "
            "by 1: columns are weighed, or are not rewards; say what counts by --weights NAME=WEIGHT,...",
        )


def _unscored(r: RolloutReport) -> Iterator[Note]:
    if (share := r.unscored / r.rows) >= UNSCORED:
        yield Note("unscored", f"{share:.1%} of the rows have no total")
    for name, moments in r.terms.items():
        shares = moments.shares()
        lost = {status: shares[status] for status in ("bad_gold", "error") if shares.get(status, 0.0) >= UNSCORED}
        for status, part in lost.items():
            yield Note("unscored", f"`{name}` is {status} in {part:.1%} of the rows")


def _similar(r: RolloutReport) -> Iterator[Note]:
    for cluster in r.clusters:
        share = len(cluster.members) / r.sampled
        if share >= SIMILAR and cluster.prompts != 1:
            under = f" under {cluster.prompts} prompts" if cluster.prompts else ""
            since = f", first at step {cluster.first}" if cluster.first is not None else ""
            yield Note(
                "near-duplicates",
                f"{share:.1%} of the texts are near-duplicates{under} and paid {_g(cluster.mean)}"
                f" (mean of all {_g(r.total.mean)}){since}: {_quoted(cluster.members[0].text)}",
            )


def _endings(r: RolloutReport) -> Iterator[Note]:
    for ending in r.endings:
        share = ending.count / r.rows
        if share >= ENDING and ending.mean >= r.high - 1e-9 and (ending.across or not ending.prompts):
            yield Note(
                "same-ending",
                f"{share:.1%} of the responses end in {_quoted(ending.text)} and are paid {_g(ending.mean)} "
                f"(mean of all {_g(r.total.mean)})",
            )


def _groups(r: RolloutReport) -> Iterator[Note]:
    if r.groups is None or not r.groups.groups:
        return
    first, last = r.steps.first_and_last_share(dead_of)
    now = r.groups.share if math.isnan(last) else last
    if now >= DEAD:
        course = "" if math.isnan(last) else f" in the last steps ({first:.0%} in the first)"
        g = r.groups
        rest = g.dead - g.lowest - g.highest
        at = f"of {g.dead:,} in all, {g.lowest:,} at the lowest pay, {g.highest:,} at the highest, {rest:,} between"
        if g.lowest == g.dead and r.total.high - r.total.low <= 1e-6 * max(1.0, abs(r.total.high)):
            at = f"every response is paid {_g(r.total.mean)}"
        yield Note(
            "dead-groups", f"{now:.0%} of the groups are paid the same throughout{course}, so teach nothing; {at}"
        )


def _drifts(r: RolloutReport) -> Iterator[Note]:
    total = _drift(r, TOTAL)
    for name in r.terms:
        moved = _drift(r, name)
        if total >= DRIFT and moved <= -DRIFT:
            first, last = r.first_and_last(name)
            was, became = r.first_and_last(TOTAL)
            yield Note(
                "falls",
                f"`{name}` fell from {_g(first)} to {_g(last)} while the total rose from {_g(was)} to {_g(became)}",
            )
    first, last = r.first_and_last(WORDS)
    if first > 0 and (last >= first * GROWTH or last <= first / GROWTH):
        yield Note("length-drift", f"responses went from {_g(first)} to {_g(last)} words")
    for name in r.terms:
        first, last = r.steps.first_and_last_share(caused_of(name))
        if last - first >= FAILS / 2:
            rows = f"{last:.0%} of the rows of the last steps, {first:.0%} of the first"
            yield Note("fails-more", f"`{name}` finds no usable answer in {rows}")


def _terms(r: RolloutReport) -> Iterator[Note]:
    caused = {status.name.lower() for status in POLICY_CAUSED}
    for name, moments in r.terms.items():
        if moments.count == r.rows > 1 and moments.high - moments.low <= 1e-9 * max(1.0, abs(moments.high)):
            yield Note("constant", f"`{name}` is {_g(moments.mean)} in every row: it teaches nothing")
        failed = {status: share for status, share in moments.shares().items() if status in caused}
        if sum(failed.values()) >= FAILS:
            why = ", ".join(f"{status} {share:.0%}" for status, share in failed.items())
            yield Note("fails", f"`{name}` finds no usable answer in {sum(failed.values()):.0%} of the rows: {why}")


def _relations(r: RolloutReport) -> Iterator[Note]:
    if abs(correlation := r.relations.of(TOTAL, WORDS)) >= LENGTH:
        pays = "longer" if correlation > 0 else "shorter"
        yield Note("length", f"within a step {pays} responses are paid more: correlation {correlation:+.2f}")
    varying = [name for name in r.relations.names if name in r.terms]
    if len(varying) > 1:
        for name in varying:
            if (correlation := r.relations.of(TOTAL, name)) >= RULES:
                yield Note(
                    "one-term", f"within a step the total is `{name}` and little else: correlation {correlation:+.2f}"
                )
    for i, a in enumerate(varying):
        for b in varying[i + 1 :]:
            correlation = r.relations.of(a, b)
            if correlation >= ALIKE:
                yield Note("same", f"`{a}` and `{b}` say the same: correlation {correlation:+.2f}")
            elif correlation <= AGAINST:
                yield Note("against", f"`{a}` and `{b}` pull against each other: correlation {correlation:+.2f}")


def _drift(r: RolloutReport, name: str) -> float:
    """By how many standard deviations the mean moved."""
    moments = r.total if name == TOTAL else r.terms[name]
    first, last = r.first_and_last(name)
    return (last - first) / moments.std if moments.std > 0 else math.nan


def _quoted(text: str, most: int = 80) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= most else f"{line[:most]}...")


def _g(value: float) -> str:
    return f"{value:.3g}"
