"""Evidence is as small as it can be made by leaving out words, and still says the same."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from rewardkit.audit.attempt import Attempt, Claim
from rewardkit.audit.shrinking import shrink, still_claims
from tests.rewardkit.audit.rows import problems

WORDS = st.lists(st.sampled_from(["so", "the", "keep", "me", "it"]), min_size=1, max_size=40)


@given(WORDS, st.integers(1, 3))
def test_only_what_is_needed_stays(words: list[str], least: int) -> None:
    text = " ".join(words)

    def holds(texts: Sequence[str]) -> list[bool]:
        return [t.split().count("keep") >= least for t in texts]

    small = shrink(text, holds)
    if holds([text])[0]:
        assert small.split() == ["keep"] * least
    else:
        assert small == text


@given(WORDS)
def test_what_is_shrunk_still_holds(words: list[str]) -> None:
    def holds(texts: Sequence[str]) -> list[bool]:
        return [len(t) >= 5 for t in texts]

    text = " ".join(words)
    assert holds([shrink(text, holds)]) == holds([text])


def test_a_wrong_answer_stays_one() -> None:
    problem = problems()[0]
    check = still_claims(Attempt("padding", "x", Claim.WRONG, "so it goes\n#### 73"), problem)
    assert check("#### 73") and not check("so it goes") and not check("#### 72")
