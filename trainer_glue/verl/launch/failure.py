"""Why a run died, found in its log: the first error, not only the last lines.

verl's processes write into one log, Ray puts `(Actor pid=N)` before each line of a worker, and one worker's error sets
off others: the end of the log says that an actor died, the cause stands further up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_ANSI: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_ACTOR: Final = re.compile(r"\((?P<actor>[^()]*pid=\d+[^()]*)\) ?(?P<text>.*)")
_REPEATED: Final = re.compile(r" \[repeated \d+x across cluster\].*$")
_TRACEBACK: Final = "Traceback (most recent call last):"
_RAISED: Final = re.compile(r"(?P<name>(?:[A-Za-z_]\w*\.)*[A-Z]\w*)(?:\(\w+\))?(?:: .*)?$")
_REMOTE: Final = re.compile(r"ray\.exceptions\.RayTaskError\(\w+\): ray::")
_FRAMES: Final = 4
_TAIL: Final = 15

_HINTS: Final = (
    (r"CUDA out of memory", "lower ppo_micro_batch_size_per_gpu or rollout.gpu_memory_utilization"),
    (
        r"ray\.exceptions\.OutOfMemoryError|node running low on memory|killed due to the node running low",
        "the machine's memory was full and Ray killed a worker: free some, or lower the batch sizes",
    ),
    (
        r"InvalidAuthToken",
        "the Ray cluster asks for a token, as one of Ray 2.60 does unless told otherwise: set RAY_AUTH_MODE=token, and "
        "RAY_AUTH_TOKEN_PATH where the token is not in ~/.ray/auth_token",
    ),
    (
        r"No space left on device|Disk quota exceeded|PytorchStreamWriter failed writing|unexpected pos \d+ vs \d+",
        "the disk is full: free some, or keep fewer checkpoints (trainer.max_actor_ckpt_to_keep=1)",
    ),
)


@dataclass(frozen=True, slots=True)
class Trace:
    """One traceback of the log.

    Attributes:
        actor: the Ray worker that wrote it, such as `TaskRunnerV1 pid=71`; empty for the driver.
        frames: its lines between the head and the exception.
        error: the exception.
    """

    actor: str
    frames: tuple[str, ...]
    error: str

    def lines(self) -> list[str]:
        """The last frames and the exception."""
        head = f"{self.actor}: " if self.actor else ""
        starts = [i for i, line in enumerate(self.frames) if line.lstrip().startswith("File ")]
        first = starts[-_FRAMES] if len(starts) > _FRAMES else 0
        return [f"{head}{_TRACEBACK}", *(["  ..."] if first else []), *self.frames[first:], self.error]


def explain(log: str) -> list[str]:
    """The lines of a failed run's log that matter: the first error, then what ended the run where it is another."""
    lines = list(_clean(log))
    tracebacks = traces(lines)
    if not tracebacks:
        return [text for _, text in lines if text.strip()][-_TAIL:]
    shown = tracebacks[0].lines()
    if tracebacks[-1].error != tracebacks[0].error:
        shown += ["", "what ended the run:", *tracebacks[-1].lines()]
    return shown


def hint_for(log: str) -> str | None:
    """What to do about a known cause, or None."""
    return next((hint for pattern, hint in _HINTS if re.search(pattern, log)), None)


def traces(lines: Iterable[tuple[str, str]]) -> list[Trace]:
    """The tracebacks, in the order in which they end. Of a chain, the parts come one by one, the cause first.

    Args:
        lines: the writer of each line, and the line.
    """
    traces_: list[Trace] = []
    open_frames: dict[str, list[str]] = {}
    for actor, text in lines:
        if text.strip() == _TRACEBACK:
            open_frames[actor] = []
        elif actor in open_frames:
            if _REMOTE.match(text):
                open_frames[actor] = []  # Ray puts the worker's own traceback behind this line
            elif text[:1].isspace() or not text.strip():
                open_frames[actor].append(text)
            elif _RAISED.match(text):
                frames = tuple(line for line in open_frames.pop(actor) if line.strip(" ^~"))
                traces_.append(Trace(actor, frames, text.strip()))
    return traces_


def _clean(log: str) -> Iterable[tuple[str, str]]:
    for line in _ANSI.sub("", log).split("\n"):
        text = line.rstrip("\r").rpartition("\r")[2]  # a progress bar overwrites its line
        if m := _ACTOR.fullmatch(text):
            yield m["actor"].strip(), _REPEATED.sub("", m["text"])
        else:
            yield "", text
