"""Rows of any form, by the names of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rewardkit.data.rows import Problem, asked, messages_field, truth_field, value_of
from rewardkit.data.shapes.shape import Shape
from rewardkit.errors import ConfigError

PLACE: Final = "{prompt}"


def columns(
    prompt: str,
    ground_truth: str,
    *,
    data_source: str,
    template: str | None = None,
    system: str | None = None,
    extra: Sequence[str] = (),
) -> Shape:
    """The shape of rows whose columns the user names.

    Args:
        prompt: the column of what is asked: text or chat messages. A path such as `a.b` reaches into an object.
        ground_truth: the column of what a response is graded against.
        data_source: the label of the rows.
        template: text around the prompt, which takes the place of `{prompt}`; with chat messages, around the last one.
        system: a system message before the prompt.
        extra: columns that are kept in `extra_info`.

    Raises:
        ConfigError: a template without `{prompt}`.
    """
    if template is not None and PLACE not in template:
        raise ConfigError(f"--template has no {PLACE}: {template!r}", hint=f"write {PLACE} where the prompt goes")

    def problem(row: object) -> Problem:
        messages = messages_field(row, prompt)
        if template is not None:
            last = messages[-1]
            messages = [*messages[:-1], {**last, "content": template.replace(PLACE, last["content"])}]
        if system is not None:
            messages = [*asked("", system)[:1], *messages]
        kept: dict[str, Any] = {name.rpartition(".")[2]: value_of(row, name) for name in extra}
        return Problem(messages, truth_field(row, ground_truth), kept)

    return Shape("from", data_source, "reasoning", problem)
