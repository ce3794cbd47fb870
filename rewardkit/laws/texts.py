"""What models write, as hypothesis strategies: from nothing at all to near misses of the right answer.

Random Unicode alone finds crashes; it never finds a wrong answer that looks right. So most of what is drawn here is
built of the pieces that rewards look at: sentences, end marks, answer markers, repetition, and numbers near the ground
truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hypothesis import strategies as st

from rewardkit.batch import Batch, Sample

WORDS: Final = (
    "so",
    "the",
    "answer",
    "is",
    "seven",
    "apples",
    "she",
    "has",
    "left",
    "therefore",
    "x",
    "42",
    "and",
    "not",
)
MARKERS: Final = ("#### {}", "The answer is {}.", "\\boxed{{{}}}", "<answer>{}</answer>", "{}", "= {}", "Answer: {}")
PROGRAMS: Final = (
    "```python\nprint({!r})\n```",
    "So:\n```py\nprint({!r}, end='')\n```\nIt prints {}.",
    "```python\nprint({!r})\nraise SystemExit(1)\n```",
    "```python\nprint({!r}\n```",
    "```python\nprint({!r})\n",
    "print({!r})",
)
"""Programs for ground truths that are tests; the first two are right where what they print is."""
ODD: Final = (
    "",
    " ",
    "\n",
    "\t \n",
    ".",
    "?!",
    "####",
    "\\boxed{",
    "\u00a0",
    "é",
    "e\u0301",
    "漢字",
    "🙂",
    "\u200d",
    "\u202e",
    "\0",
)


def near(ground_truth: str) -> st.SearchStrategy[str]:
    """The ground truth, spellings of it, and what is almost it."""
    spelled = [
        ground_truth,
        f"{ground_truth}.0",
        f"${ground_truth}",
        f"**{ground_truth}**",
        f"{ground_truth} apples",
        f"-{ground_truth}",
        f"{ground_truth}0",
        f"1{ground_truth}",
    ]
    try:
        value = int(ground_truth.replace(",", ""))
    except ValueError:
        return st.sampled_from([*spelled, "7"])
    return st.sampled_from([*spelled, str(value + 1), str(value - 1), str(-value), f"{value:,}", f"{value}/1"])


def responses(ground_truth: Any = None) -> st.SearchStrategy[str]:
    """Texts of responses.

    Args:
        ground_truth: the ground truth, so that right and nearly right answers are among them; None draws answers at
            large.
    """
    answers = st.sampled_from(["7", "42", "-3", "1/2"]) if ground_truth is None else near(_short(ground_truth))
    forms = PROGRAMS if _is_test(ground_truth) else MARKERS
    marked = st.builds(lambda form, answer: form.format(answer, answer), st.sampled_from(forms), answers)
    sentence = st.builds(
        lambda words, end: " ".join(words) + end,
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=12),
        st.sampled_from([".", "!", "?", "", "..."]),
    )
    repeated = st.builds(
        lambda piece, times, gap: gap.join([piece] * times),
        st.sampled_from(["ha", "so", "the answer is", "7", "#### 7", "."]),
        st.sampled_from([3, 30, 400]),
        st.sampled_from(["", " ", "\n"]),
    )
    piece = st.one_of(
        sentence, marked, st.sampled_from(ODD), repeated, st.text(st.characters(codec="utf-8"), max_size=20)
    )
    return st.builds(
        lambda parts, gap: gap.join(parts), st.lists(piece, max_size=4), st.sampled_from([" ", "\n", "\n\n"])
    )


def groups(
    samples: Sequence[Sample] = (), *, max_size: int = 6, tokens: bool = True, programs: bool = False
) -> st.SearchStrategy[Batch]:
    """Rollouts of one prompt: several responses that share a ground truth, a prompt and a data source.

    Args:
        samples: real rows, to take prompts, ground truths and responses from; without them they are made up.
        max_size: responses at most.
        tokens: whether the batch carries token ids (made up: one for each two characters).
        programs: whether ground truths that are made up are tests of programs.
    """
    question, source = ("Print it.", "apps") if programs else ("How many apples are left?", "openai/gsm8k")
    origins = (
        st.sampled_from(list(samples))
        if samples
        else st.builds(
            lambda n: Sample("", _test(n) if programs else str(n), question, source),
            st.integers(-50, 5_000),
        )
    )
    return origins.flatmap(lambda origin: _rollouts(origin, max_size, tokens))


def _rollouts(origin: Sample, max_size: int, tokens: bool) -> st.SearchStrategy[Batch]:
    text = responses(origin.ground_truth)
    if origin.response:
        text = text | st.builds(lambda before, after: before + origin.response + after, text, text)
    texts = st.lists(text, min_size=1, max_size=max_size)
    if origin.ground_truth is not None and max_size > 1:
        # Half of the groups end in a plain right answer: most laws are about right and wrong ones side by side.
        answer = _short(origin.ground_truth)
        forms = PROGRAMS[:2] if _is_test(origin.ground_truth) else MARKERS
        right = st.sampled_from([form.format(answer, answer) for form in forms])
        beside = st.builds(lambda rest, one: [*rest, one], st.lists(text, min_size=1, max_size=max_size - 1), right)
        texts = texts | beside
    return st.builds(
        lambda texts, step: Batch(
            texts,
            ground_truths=[origin.ground_truth] * len(texts),
            prompts=[origin.prompt] * len(texts),
            data_sources=[origin.data_source] * len(texts),
            extra_infos=[origin.extra_info] * len(texts),
            truncated=[False] * len(texts),
            groups=["one prompt"] * len(texts),
            tokens=[range((len(t) + 1) // 2) for t in texts] if tokens else None,
            step=step,
        ),
        texts,
        st.integers(0, 2_000),
    )


def _test(n: int) -> dict[str, list[str]]:
    """A test that a program passes by printing a number."""
    return {"inputs": [""], "outputs": [str(n)]}


def _is_test(ground_truth: Any) -> bool:
    return isinstance(ground_truth, Mapping) and isinstance(ground_truth.get("outputs"), list)


def _short(ground_truth: Any) -> str:
    """A GSM8K solution's final answer, what the first test of a program expects; other ground truths as they are."""
    if _is_test(ground_truth):
        return str(next(iter(ground_truth["outputs"]), ""))
    text = str(ground_truth[0] if isinstance(ground_truth, list | tuple) and ground_truth else ground_truth)
    return text.rpartition("####")[2].strip()
