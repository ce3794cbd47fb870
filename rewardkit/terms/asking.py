"""How terms ask another machine: one way for all of them, so that limits, retries and the cache are one thing.

All requests of a process run in one event loop in a thread of its own, whatever thread a term runs in: a limit holds
over all terms and batches, and equal questions are asked once. Its clock is the loop's.

What can't be answered is a failure with its reason, never an exception and never a value.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

from rewardkit.processes.usage import Usage, charge
from rewardkit.terms.endpoints import Server
from rewardkit.terms.optional import optional
from rewardkit.terms.rate_limits import Limits, Meter, Spent, limits_for

ATTEMPTS: Final = 4
"""Requests for one question, the first included."""
FIRST_PAUSE: Final = 0.5
"""Seconds before the second attempt; each further pause is twice as long, and up to half of it is random."""
LONGEST_PAUSE: Final = 30.0
"""Seconds at most, also where the server's Retry-After asks for more."""
DEAD_AFTER_S: Final = 10.0
"""Seconds without any answer after which a question gets one attempt, until something is answered."""
CACHE_BYTES: Final = 256 * 2**20
"""Answers that are kept, with their questions' hashes; the oldest go first."""
_RETRIED: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_ANSWER_CHARS: Final = 1_000_000
_CHARS_A_TOKEN: Final = 3
"""For the estimate that counts until the server says better."""


@dataclass(frozen=True, slots=True)
class Question:
    """One request.

    Attributes:
        server: whom.
        url: where.
        body: what is posted, as JSON.
        timeout: seconds for an attempt.
        written: tokens that the answer may have.
        key_variable: the variable that would hold a key, for the message where the server wants one.
    """

    server: Server
    url: str
    body: Mapping[str, Any]
    timeout: float = 60.0
    written: int = 0
    key_variable: str = ""

    @property
    def content(self) -> bytes:
        """What makes two questions the same."""
        return json.dumps([self.url, self.body], sort_keys=True).encode()


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: the body of the answer, or why there is none."""

    body: str = ""
    failure: str = ""
    usage: Usage = field(default_factory=Usage)


class _Line:
    """The way to one server: its limits, and what is known of its health."""

    def __init__(self, limits: Limits) -> None:
        self.meter = Meter(limits)
        self.gate = asyncio.Semaphore(int(limits.concurrency))
        self.order = asyncio.Lock()
        self.silent_since: float | None = None


class Asker:
    """Asks servers from a thread of its own. Safe to use from any thread.

    Args:
        loop: the event loop, which is also the clock.
        transport: of httpx, in the place of the network.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None, transport: Any = None) -> None:
        self.pid = os.getpid()
        self._loop = loop or asyncio.new_event_loop()
        self._transport = transport
        self._lines: dict[str, _Line] = {}
        self._client: Any = None
        self._under_way: dict[bytes, asyncio.Task[Answer]] = {}
        self._known: OrderedDict[bytes, str] = OrderedDict()
        self._kept = 0
        threading.Thread(target=self._loop.run_forever, name="rewardkit-asking", daemon=True).start()

    def ask(self, questions: Sequence[Question]) -> list[Answer]:
        """The answers, in order; waits for all of them. Equal questions are asked once, now and later."""

        async def everything() -> list[Answer]:
            return list(await asyncio.gather(*map(self._answer, questions)))

        answers = asyncio.run_coroutine_threadsafe(everything(), self._loop).result()
        for answer in answers:
            charge(answer.usage)
        return answers

    def spent(self, server: Server) -> Usage:
        """What this process asked of a server so far."""
        line = self._lines.get(_origin(server.url))
        return replace(line.meter.total) if line else Usage()

    async def _answer(self, question: Question) -> Answer:
        key = hashlib.sha256(question.content).digest()
        if key in self._known:
            self._known.move_to_end(key)
            return Answer(self._known[key])
        if (task := self._under_way.get(key)) is not None:
            answer = await task
            return Answer(answer.body, answer.failure)  # whose first asker pays
        task = self._under_way[key] = asyncio.create_task(self._asked(question))
        try:
            answer = await task
        finally:
            del self._under_way[key]
        if not answer.failure:
            self._keep(key, answer.body)
        return answer

    def _keep(self, key: bytes, body: str) -> None:
        self._known[key] = body
        self._kept += len(body) + 128
        while self._kept > CACHE_BYTES and self._known:
            _, dropped = self._known.popitem(last=False)
            self._kept -= len(dropped) + 128

    async def _asked(self, question: Question) -> Answer:
        usage = Usage()
        try:
            line = self._line(question.server)
            failure, attempt = "", 0
            for attempt in range(ATTEMPTS):
                body, failure, pause = await self._attempt(question, line, usage)
                if not failure:
                    return Answer(body, usage=usage)
                if pause is None:
                    return Answer(failure=failure, usage=usage)
                if line.silent_since is not None and self._loop.time() - line.silent_since > DEAD_AFTER_S:
                    break
                if attempt < ATTEMPTS - 1:
                    own = FIRST_PAUSE * 2**attempt * random.uniform(0.5, 1.0)
                    await asyncio.sleep(min(max(own, pause), LONGEST_PAUSE))
            return Answer(failure=f"{failure} ({attempt + 1} attempt{'s' if attempt else ''})", usage=usage)
        except Spent as e:
            return Answer(failure=f"{question.server.name}: {e}", usage=usage)
        except Exception as e:  # a bug of ours or httpx's costs its question, not the batch
            return Answer(failure=f"{type(e).__name__}: {e}", usage=usage)

    def _line(self, server: Server) -> _Line:
        origin = _origin(server.url)
        if origin not in self._lines:
            self._lines[origin] = _Line(limits_for(server.url, server.name).shared(_process.share))
        return self._lines[origin]

    async def _attempt(self, question: Question, line: _Line, usage: Usage) -> tuple[str, str, float | None]:
        """The answer's body, or what failed and the pause that the server asks for; None: no further attempt helps."""
        httpx: Any = optional("httpx", wanted_by="a term", extra="judge")
        if self._client is None:
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=256)
            verify = True if self._transport else _ssl_context()
            self._client = httpx.AsyncClient(transport=self._transport, limits=limits, verify=verify)
        content = json.dumps(question.body).encode()
        estimate = len(content) // _CHARS_A_TOKEN + question.written
        headers = {"Content-Type": "application/json"}
        if question.server.key:
            headers["Authorization"] = f"Bearer {question.server.key}"
        async with line.gate:
            async with line.order:  # who came first goes first
                while (seconds := line.meter.wait(self._loop.time(), estimate)) > 0:
                    await asyncio.sleep(seconds)
                started = line.meter.start(self._loop.time(), estimate)
            body = ""
            try:
                answer = await self._client.post(
                    question.url, content=content, headers=headers, timeout=question.timeout
                )
                body = answer.text[:_ANSWER_CHARS] if answer.status_code == 200 else ""
                line.silent_since = None
            except httpx.TransportError as e:
                line.silent_since = self._loop.time() if line.silent_since is None else line.silent_since
                return "", f"no answer from {question.url}: {type(e).__name__}: {e}", 0.0
            finally:
                usage.add(line.meter.settle(started, *_tokens_in(body)))
        if answer.status_code == 200:
            return body, "", None
        failure = f"{question.url} answered {answer.status_code}: {answer.text[:200]}"
        if answer.status_code in (401, 403) and not question.server.key and question.key_variable:
            failure += f" (no key was sent: {question.key_variable} is not set, or not allowed there)"
        after = answer.headers.get("retry-after", "")
        pause = float(after) if after.isdigit() else 0.0
        return "", failure, pause if answer.status_code in _RETRIED else None


def ask(questions: Sequence[Question]) -> list[Answer]:
    """The answers of the process's own :class:`Asker`."""
    return asker().ask(questions)


def asker() -> Asker:
    """The process's own; a new one after a fork, whose threads and connections stay behind."""
    with _process.lock:
        if _process.asker is None or _process.asker.pid != os.getpid():
            _process.asker = Asker()
        return _process.asker


def share_limits(processes: int) -> None:
    """Take this process's share of all limits, where several ask the same servers. Before the first question.

    Args:
        processes: how many there are.
    """
    _process.share = max(1, processes)


@dataclass(slots=True)
class _Process:
    """What a process has one of."""

    asker: Asker | None = None
    share: int = 1
    lock: threading.Lock = field(default_factory=threading.Lock)


_process: Final = _Process()


def _origin(url: str) -> str:
    return "/".join(url.split("/", 3)[:3])


def _tokens_in(body: str) -> tuple[int, int]:
    """Tokens read and written, as an answer of OpenAI's shape says; 0 where it says nothing."""
    try:
        usage = json.loads(body).get("usage") or {}
        return int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return 0, 0


@lru_cache(maxsize=1)
def _ssl_context() -> Any:
    """Reading the certificates takes longer than a request; they are read once."""
    import ssl

    return ssl.create_default_context()
