"""Trajectories in which somebody else gives the answer: a tool, a user, or a user who repeats the prompt with it.

The policy itself says nothing of it. A formula is about the policy's own text, but a term may read all turns. A
function of one text gets the whole trajectory from most trainers, and one of messages all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rewardkit.audit.problems import Problem
from rewardkit.turns import Turn

ASKS, SAYS = "Let me have it looked up.", "So that is it."
Trajectory = tuple[Turn, ...]


def trajectories(problem: Problem, form: Callable[[str], str]) -> Iterator[tuple[str, Trajectory, Trajectory]]:
    """Who gives the answer, the trajectory in which it is the ground truth, and the same in which it is wrong."""
    prompts = {"a user who repeats the prompt": problem.prompt.strip()} if problem.prompt.strip() else {}
    others = {"a tool": "", "a user": "", **prompts}
    for who, before in others.items():
        role = "tool" if who == "a tool" else "user"
        for behind in (SAYS, None):
            right, wrong = (
                _trajectory(role, f"{before}\n{form(answer)}".strip(), behind)
                for answer in (problem.truth.text, problem.truth.wrong[0])
            )
            yield who if behind else f"{who} at the end", right, wrong


def transcript(turns: Sequence[Turn]) -> str:
    """A trajectory as one text, as a trainer hands it over without its special tokens."""
    texts: list[str] = []
    for i, turn in enumerate(turns):
        text = f"<tool_response>\n{turn.text}\n</tool_response>" if turn.role == "tool" else turn.text
        texts.append(text if turn.own and i == 0 else f"\n{'assistant' if turn.own else 'user'}\n{text}")
    return "".join(texts)


def _trajectory(role: str, text: str, behind: str | None) -> Trajectory:
    turns = (Turn(ASKS), Turn(text, role, own=False))
    return turns if behind is None else (*turns, Turn(behind))
