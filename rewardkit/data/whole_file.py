"""What is wrong with a data file as a whole: no prompts, `reward_model` as text, problems that come twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from rewardkit.diagnostics import Diagnostic, Severity, register
from rewardkit.scoring.fields import RawRow

_TEXT: Final = "reward-model-text"
_EMPTY: Final = "no-prompts"
_TWICE: Final = "repeated-row"
_TWO: Final = "two-ground-truths"

register(
    "data check",
    {
        _TEXT: (Severity.ERROR, "`reward_model` is JSON in text; verl reads an object with `ground_truth`."),
        _EMPTY: (Severity.ERROR, "The prompt is null or empty in every row."),
        _TWO: (Severity.WARNING, "Rows with equal prompts have different ground truths."),
        _TWICE: (Severity.NOTE, "Rows repeat others, prompt and ground truth."),
    },
)


class WholeFile:
    """Takes in the rows of a file, a chunk at a time, and keeps a hash of each prompt and ground truth."""

    def __init__(self) -> None:
        self._rows = self._with_prompt = 0
        self._has_prompts = False
        self._seen: dict[int, int] = {}
        self._first: dict[str, int] = {}
        self._count = {_TEXT: 0, _TWICE: 0, _TWO: 0}

    def add(
        self, rows: Sequence[RawRow], numbers: Sequence[int], prompts: Sequence[Any], ground_truths: Sequence[Any]
    ) -> None:
        """Take in rows, with their numbers in the file, prompts as text, and ground truths."""
        self._rows += len(rows)
        self._has_prompts = self._has_prompts or any("prompt" in row or "input" in row for row in rows)
        for row, number, prompt, ground_truth in zip(rows, numbers, prompts, ground_truths, strict=True):
            if isinstance(row.get("reward_model"), str):
                self._note(_TEXT, number)
            if not isinstance(prompt, str) or not prompt.strip():
                continue
            self._with_prompt += 1
            key, truth = hash(prompt), hash(repr(ground_truth))
            if key not in self._seen:
                self._seen[key] = truth
            else:
                self._note(_TWICE if self._seen[key] == truth else _TWO, number)

    def _note(self, code: str, number: int) -> None:
        self._count[code] += 1
        self._first.setdefault(code, number)

    def diagnostics(self, name: str, where: Callable[[int], str]) -> Iterator[Diagnostic]:
        """What is wrong with the file.

        Args:
            name: the file's name.
            where: from a row's number to how messages name it.
        """
        if self._has_prompts and not self._with_prompt:
            yield Diagnostic(
                _EMPTY, f"the prompt is null or empty in all {self._rows:,} rows", name, "fill the column `prompt`"
            )
        for code, what, hint in (
            (_TEXT, "hold `reward_model` as text", "write it as an object: `rewardkit data from` does"),
            (_TWO, "ask what an earlier row asks, with another ground truth", "one of the two is wrong: correct it"),
            (_TWICE, "repeat an earlier row, prompt and ground truth", None),
        ):
            if n := self._count[code]:
                message = f"{n:,} of {self._rows:,} rows {what}; the first is {where(self._first[code])}"
                yield Diagnostic(code, message, name, hint)
