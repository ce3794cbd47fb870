"""Requests for rewards that wait together are scored together.

verl's reward loop asks for one row at a time, from one or several event loops. A batch costs little more than a row, so
all that waits when a batch is done is the next batch. A batch that takes long, with a judge or a slow term, is awaited
beside the next ones and holds none of them up.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from trainer_glue.verl.rows import Row

PATIENCE_S: Final = 1.0
"""Seconds after which the next batch is not held up any longer."""
IN_FLIGHT: Final = 16
"""Batches that are scored beside each other at most; the next one waits for a thread."""

Answer = dict[str, Any]
ScoreRows = Callable[[list[Row]], list[Answer]]


@dataclass(slots=True)
class _Waiting:
    """The requests of one event loop that wait, the task that takes them, and the batches that are being scored."""

    requests: list[tuple[Row, asyncio.Future[Answer]]] = field(default_factory=list)
    drainer: asyncio.Task[None] | None = None
    in_flight: set[asyncio.Future[list[Answer]]] = field(default_factory=set)

    @property
    def is_over(self) -> bool:
        return not self.requests and not self.in_flight and (self.drainer is None or self.drainer.done())


class RequestQueue:
    """Batches the requests of each event loop. Safe to use from several loops in several threads.

    Args:
        score: scores rows, one answer a row; it must not raise. It is called in a thread of its own.
        in_place: call it in the event loop's thread: where scoring takes microseconds a row, a thread costs more.
    """

    def __init__(self, score: ScoreRows, *, in_place: bool) -> None:
        self._score = score
        self._in_place = in_place
        self._loops: dict[asyncio.AbstractEventLoop, _Waiting] = {}  # loops in several threads share no list

    def __len__(self) -> int:
        """How many event loops have requests that wait or are being scored."""
        return len(self._loops)

    async def ask(self, row: Row) -> Answer:
        """The answer for a row, scored with what else waits."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()
        waiting = self._loops.setdefault(loop, _Waiting())
        if waiting.drainer is None or waiting.drainer.done():  # none yet, or somebody cancelled it
            waiting.drainer = loop.create_task(self._drain(waiting))
        waiting.requests.append((row, future))
        return await future

    async def _drain(self, waiting: _Waiting) -> None:
        loop = asyncio.get_running_loop()
        try:
            await asyncio.sleep(0)  # requests of the same tick join
            while waiting.requests:
                taken, waiting.requests = waiting.requests, []
                rows, futures = [row for row, _ in taken], [future for _, future in taken]
                if self._in_place:
                    _answer(futures, self._score(rows))
                    continue
                if len(waiting.in_flight) >= IN_FLIGHT:
                    await asyncio.wait(waiting.in_flight, return_when=asyncio.FIRST_COMPLETED)
                scoring = self._start(rows, loop)
                waiting.in_flight.add(scoring)
                scoring.add_done_callback(partial(self._hand_over, loop, futures))
                await asyncio.wait({scoring}, timeout=PATIENCE_S)
        finally:
            waiting.drainer = None
            self._forget(loop)

    def _start(self, rows: list[Row], loop: asyncio.AbstractEventLoop) -> asyncio.Future[list[Answer]]:
        """Score in a thread of its own; a daemon, since the process may end while a term hangs."""
        scoring: asyncio.Future[list[Answer]] = loop.create_future()

        def hand_over(answers: list[Answer]) -> None:
            if not scoring.done():
                scoring.set_result(answers)

        def work() -> None:
            answers = self._score(rows)
            with contextlib.suppress(RuntimeError):  # the loop has closed, and nobody waits
                loop.call_soon_threadsafe(hand_over, answers)

        threading.Thread(target=work, name="rewardkit-scoring", daemon=True).start()
        return scoring

    def _hand_over(
        self,
        loop: asyncio.AbstractEventLoop,
        futures: list[asyncio.Future[Answer]],
        scoring: asyncio.Future[list[Answer]],
    ) -> None:
        waiting = self._loops.get(loop)
        if waiting is not None:
            waiting.in_flight.discard(scoring)
        self._forget(loop)
        if not scoring.cancelled():
            _answer(futures, scoring.result())

    def _forget(self, loop: asyncio.AbstractEventLoop) -> None:
        """Drop a loop of which nothing waits or is under way."""
        waiting = self._loops.get(loop)
        if waiting is not None and waiting.is_over:
            del self._loops[loop]


def _answer(futures: list[asyncio.Future[Answer]], answers: list[Answer]) -> None:
    for future, answer in zip(futures, answers, strict=True):
        if not future.done() and not future.get_loop().is_closed():
            future.set_result(answer)
