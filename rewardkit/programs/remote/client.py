"""Requests to a code-running service: tried again, bounded in number and in rate, and stopped where nobody answers."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Mapping
from typing import Any, Final

from rewardkit.programs.remote.services import OVERHEAD_MB, OVERHEAD_S, Ran, Service, Unusable

ATTEMPTS: Final = 4
"""Requests for one run, the first included."""
FIRST_PAUSE: Final = 0.5
"""Seconds before the second attempt; each further pause is twice as long, and up to half of it is random."""
LONGEST_PAUSE: Final = 30.0
"""Seconds at most, also where the server's Retry-After asks for more."""
CONNECT_S: Final = 10.0
QUEUE_S: Final = 60.0
"""Seconds that a run may wait at the service for its turn, on top of its own time."""
REST_S: Final = 60.0
"""Seconds for which nothing is asked of a service that has failed again and again."""
_BYTES: Final = 64
"""Bytes of an answer for a character of output: each is escaped twice, and Piston says its output twice."""
_RETRIED: Final = frozenset({408, 425, 429, 500, 502, 503, 504, 529})


class Unanswered(Exception):
    """No usable answer: the reason, for people to read."""


class Client:
    """Asks one service.

    Args:
        url: the whole address.
        service: the protocol that it speaks.
        headers: sent with every request, such as a key.
        size: requests that may be under way at once.
        rate: requests that may begin in a second; None: as many as there are.
        queue_seconds: how long a run may wait at the service, on top of its own time.
    """

    def __init__(
        self,
        url: str,
        service: Service,
        *,
        headers: Mapping[str, str],
        size: int,
        rate: float | None,
        queue_seconds: float = QUEUE_S,
    ) -> None:
        self._url, self._service, self._queue_seconds = url, service, queue_seconds
        self._headers, self._size = dict(headers), size
        self._places = threading.BoundedSemaphore(size)
        self._gap = 0.0 if rate is None else 1 / rate
        self._lock = threading.Lock()
        self._next = 0.0
        self._failures = 0
        self._resting: tuple[float, str] | None = None
        self._http: Any = None
        self._owner = 0

    def run(self, code: str, seconds: float, memory_mb: int, most: int) -> Ran:
        """Have a Python program run.

        Args:
            code: the program.
            seconds: what it may take by the clock.
            memory_mb: its memory.
            most: characters that its output may have.

        Raises:
            Unanswered: the service can't be reached, refuses, or says what is no answer.
        """
        body = self._service.request(code, seconds + OVERHEAD_S, memory_mb + OVERHEAD_MB)
        with self._places:
            self._look_for_rest()
            try:
                ran = self._tried(body, seconds + OVERHEAD_S + self._queue_seconds, _BYTES * most + (1 << 20))
            except Unanswered as e:
                self._failed(str(e))
                raise
            self._failures = 0
            return ran

    def _tried(self, body: Mapping[str, Any], seconds: float, most: int) -> Ran:
        import httpx

        failure = ""
        for attempt in range(ATTEMPTS):
            pause = FIRST_PAUSE * 2**attempt * random.uniform(0.5, 1.0)
            self._wait_for_turn()
            try:
                status, headers, content = self._post(body, seconds, most)
            except httpx.ReadTimeout:  # it has the run, and waiting for the next one as long helps nobody
                raise Unanswered(f"no answer from {self._url} for {seconds:g} s") from None
            except (httpx.TransportError, httpx.DecodingError) as e:
                failure = f"no answer from {self._url}: {type(e).__name__}: {e}"
            else:
                if status == 200:
                    try:
                        return self._service.read(json.loads(content))
                    except Unusable as e:
                        failure = f"{self._url}: {e}"
                    except (ValueError, RecursionError):
                        failure = f"{self._url} answered 200 with what is not JSON: {content[:100]!r}"
                else:
                    failure = f"{self._url} answered {status}: {content[:200].decode('utf-8', 'replace')}"
                    if status not in _RETRIED:
                        raise Unanswered(failure)
                    after = headers.get("retry-after", "")
                    pause = max(pause, float(after)) if after.isdigit() else pause
            if attempt < ATTEMPTS - 1:
                time.sleep(min(pause, LONGEST_PAUSE))
        raise Unanswered(f"{failure} ({ATTEMPTS} attempts)")

    def _post(self, body: Mapping[str, Any], seconds: float, most: int) -> tuple[int, Mapping[str, str], bytes]:
        import httpx

        content = bytearray()
        end = time.monotonic() + seconds
        timeout = httpx.Timeout(seconds, connect=CONNECT_S)
        with self._connections().stream("POST", self._url, json=body, timeout=timeout) as answer:
            for piece in answer.iter_bytes():
                content += piece
                if len(content) > most:
                    raise Unanswered(f"{self._url} answered with more than {most:,} bytes")
                if time.monotonic() > end:
                    raise Unanswered(f"no whole answer from {self._url} in {seconds:g} s")
            return answer.status_code, answer.headers, bytes(content)

    def _connections(self) -> Any:
        import httpx

        with self._lock:
            if self._http is None or self._owner != os.getpid():  # a fork must not share connections
                limits = httpx.Limits(max_connections=self._size, max_keepalive_connections=self._size)
                self._http = httpx.Client(headers=self._headers, limits=limits)
                self._owner = os.getpid()
            return self._http

    def _wait_for_turn(self) -> None:
        with self._lock:
            now = time.monotonic()
            turn = max(self._next, now)
            self._next = turn + self._gap
        time.sleep(turn - now)

    def _look_for_rest(self) -> None:
        resting = self._resting
        if resting is not None and time.monotonic() < resting[0]:
            raise Unanswered(f"not asked, for the {self._size} runs before had failed; the last: {resting[1]}")

    def _failed(self, reason: str) -> None:
        """A service that fails for everybody is left alone: a batch must not wait for it row by row."""
        with self._lock:
            self._failures += 1
            if self._failures >= self._size:
                self._resting = (time.monotonic() + REST_S, reason)
