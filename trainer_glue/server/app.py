"""The endpoints: `POST /score`, `/slime` and `/verify`, and `GET /health`.

Rows and results have the form of `rewardkit score`: what a file holds line by line, a request holds in `rows`. Scoring
runs in threads, as many as there are cores; requests beyond `MAX_WAITING` are turned away with 503 rather than queued
without end. Nothing of a request is kept.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from starlette.requests import ClientDisconnect

from rewardkit.algebra.json import fingerprint
from rewardkit.batch import Batch, Status
from rewardkit.engine.program import Program
from rewardkit.engine.read_guard import COLUMN_OF
from rewardkit.engine.scores import Scores
from rewardkit.errors import BadRow, CompileError, RewardKitError
from rewardkit.processes.cores import cores
from rewardkit.scoring.fields import OPTIONAL, BadRowAt, column
from rewardkit.scoring.run import needed_fields, read_fields
from rewardkit.scoring.writing import Lines
from rewardkit.version import __version__
from trainer_glue.server.trainers import gym_answer, gym_row, slime_answer, slime_row

MAX_ROWS: Final = 16_384
"""Rows of one request: a rollout batch of 1,024 prompts by 16."""
MAX_BYTES: Final = 256 << 20
"""Bytes of one request's body."""
MAX_BYTES_IN_FLIGHT: Final = 512 << 20
"""Bytes of all bodies that arrive, wait or are scored: what is parsed takes several times as much."""
BODY_S: Final = 120.0
"""Seconds for a body to arrive: the largest at 2 MB/s."""
MAX_WAITING: Final = 256
"""Requests that are scored or wait for it."""


_CLOSE: Final = {"Connection": "close"}
_HEADERS: Final = {408: _CLOSE, 413: _CLOSE, 503: {"Retry-After": "1"}}


class Refused(RewardKitError):
    """A request that is not served, and the HTTP status that says so."""

    def __init__(self, status: int, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


def make_app(
    program: Program,
    *,
    max_rows: int = MAX_ROWS,
    max_bytes: int = MAX_BYTES,
    max_bytes_in_flight: int = MAX_BYTES_IN_FLIGHT,
    body_s: float = BODY_S,
) -> FastAPI:
    """An ASGI application that scores by a program.

    ``app.state.draining`` set to True makes every answer close its connection: for a server that is about to end.

    Args:
        program: the compiled formula.
        max_rows: rows of one request at most; more is 413.
        max_bytes: bytes of one request's body at most; more is 413.
        max_bytes_in_flight: bytes of all bodies at most; what goes beyond is 503.
        body_s: seconds for a body to arrive; a slower one is 408, and its connection is closed.
    """
    app = FastAPI(title="rewardkit", version=__version__, description=f"Scores by `{program.reward!r}`.")
    app.state.draining = False
    scoring = _Scoring(program, max_rows)
    bodies = _Bodies(max_bytes, max_bytes_in_flight, body_s)

    @app.post("/score")
    async def score(request: Request) -> Response:
        """Score rows.

        The body is a JSON object: `rows`, a list of objects as in a file for `rewardkit score` (response, ground_truth,
        prompt, data_source, group, extra_info, truncated, tokens), and optionally `step`. The answer's `rows` have, in
        the same order, score (null where unscored), total_status, terms and status.
        """
        return await answered(request, scoring.rows)

    @app.post("/slime")
    async def slime(request: Request) -> Response:
        """slime's `--rm-type remote_rm`: the body is `{prompt, response, label}`, the answer a number."""
        return await answered(request, partial(scoring.one, slime_row, slime_answer))

    @app.post("/verify")
    async def verify(request: Request) -> Response:
        """NeMo Gym's resources server: the body is a rollout, the answer the same with reward and reward_components."""
        return await answered(request, partial(scoring.one, gym_row, gym_answer))

    async def answered(request: Request, score: Callable[[Any], str]) -> Response:
        body = bytearray()
        try:
            await bodies.read(request, body)
            text = await scoring.answer(body, score)
        except Refused as e:
            headers = _HEADERS.get(e.status)
            return _closing(app, JSONResponse({"error": e.message, "hint": e.hint}, e.status, headers))
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        finally:
            bodies.let_go(body)
        return _closing(app, Response(text, media_type="application/json"))

    @app.get("/health")
    async def health() -> Response:
        """The formula, its fingerprint and how many requests are being scored."""
        known = {"formula": repr(program.reward), "fingerprint": fingerprint(program.reward), "version": __version__}
        status = "draining" if app.state.draining else "ok"
        return _closing(app, JSONResponse({"status": status, **known, "in_flight": scoring.in_flight}))

    return app


class _Scoring:
    """Requests to results, off the event loop."""

    def __init__(self, program: Program, max_rows: int) -> None:
        self._program = program
        self._max_rows = max_rows
        self._fields = read_fields(program)
        self._needed = needed_fields(program)
        self._lines = Lines(program.names)
        self._threads = ThreadPoolExecutor(cores(), thread_name_prefix="score")
        self.in_flight = 0

    async def answer(self, body: bytearray, score: Callable[[Any], str]) -> str:
        if self.in_flight >= MAX_WAITING:
            raise Refused(503, f"{self.in_flight} requests are waiting already", hint="send it again in a second")
        self.in_flight += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self._parsed, body, score)
        finally:
            self.in_flight -= 1

    @staticmethod
    def _parsed(body: bytearray, score: Callable[[Any], str]) -> str:
        try:
            request = json.loads(body)
        except (ValueError, RecursionError) as e:
            raise Refused(400, f"the body is not JSON: {e}") from None
        return score(request)

    def rows(self, request: Any) -> str:
        """The answer to rows."""
        rows, step = self._checked(request)
        lines = self._lines(self._scores(rows, step))[:-1].replace("\n", ",") if rows else ""
        return f'{{"rows": [{lines}]}}'

    def one(self, row: Callable[[Any], dict[str, Any]], answer: Callable[[Any, Scores], str], request: Any) -> str:
        """The answer to a trainer that asks about one response.

        Raises:
            Refused: it is none, or has no score.
        """
        if not isinstance(request, dict):
            raise Refused(422, f"the body is a JSON {type(request).__name__}; expected an object")
        try:
            scores = self._scores([row(request)], None)
        except BadRow as why:
            raise Refused(422, f"the request {why}") from None
        if scores.unscored[0]:
            raise Refused(
                422,
                f"no score: {scores.first_reason() or Status(scores.status[0]).name}",
                hint="nothing that the policy wrote caused it, and a number would teach",
            )
        return answer(request, scores)

    def _scores(self, rows: list[Mapping[str, Any]], step: int | None) -> Scores:
        try:
            columns = {name: column(rows, name) for name in self._fields}
        except BadRowAt as bad:
            raise Refused(422, f"rows[{bad.index}] {bad}") from None
        for name in (self._needed & OPTIONAL) - {"turns", "chat"}:
            if all(value is None for value in columns[name]):
                raise Refused(422, f"no row has `{name}`, which {self._program.reward!r} needs")
        try:
            return self._program(Batch(**{COLUMN_OF[name]: c for name, c in columns.items()}, step=step))
        except CompileError as e:
            raise Refused(422, e.message, hint=e.hint) from None

    def _checked(self, request: Any) -> tuple[list[Mapping[str, Any]], int | None]:
        rows = request.get("rows") if isinstance(request, dict) else None
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise Refused(
                422, "expected an object with `rows`, a list of objects", hint='{"rows": [{"response": "..."}]}'
            )
        if len(rows) > self._max_rows:
            raise Refused(413, f"{len(rows):,} rows; at most {self._max_rows:,} a request", hint="send them in parts")
        step = request.get("step")
        if step is not None and (type(step) is not int or step < 0):
            raise Refused(422, f"`step` is {step!r}; expected the training step, an integer from 0 on")
        return rows, step


class _Bodies:
    """The bodies of all requests in flight: read within one limit of bytes over all of them, and of time for each."""

    def __init__(self, most: int, most_in_flight: int, seconds: float) -> None:
        self._most = most
        self._most_in_flight = most_in_flight
        self._seconds = seconds
        self._held = 0

    async def read(self, request: Request, body: bytearray) -> None:
        """Read a request's body into ``body``.

        What is refused for its size is read to its end all the same, and dropped: a client that is still sending would
        never see the answer.

        Raises:
            Refused: it is too large, too slow, or more than there is room for now.
            ClientDisconnect: the client went away.
        """
        refused: Refused | None = None
        try:
            async with asyncio.timeout(self._seconds):
                async for part in request.stream():
                    if refused is None and (refused := self._refusal(len(body) + len(part), len(part))):
                        self.let_go(body)
                    if refused is None:
                        body += part
                        self._held += len(part)
        except TimeoutError:
            if refused is None or refused.status == 503:
                refused = Refused(408, f"the body took longer than {self._seconds:g} s", hint="send the rows in parts")
        if refused is not None:
            raise refused

    def let_go(self, body: bytearray) -> None:
        """A body is no longer needed."""
        self._held -= len(body)
        body.clear()

    def _refusal(self, size: int, more: int) -> Refused | None:
        if size > self._most:
            return Refused(413, f"a body of more than {self._most:,} bytes", hint="send the rows in parts")
        if self._held + more > self._most_in_flight:
            return Refused(
                503,
                f"the requests under way hold {self._held:,} bytes; at most {self._most_in_flight:,}",
                hint="send it again in a second, or the rows in parts",
            )
        return None


def _closing(app: FastAPI, response: Response) -> Response:
    if app.state.draining:
        response.headers["Connection"] = "close"
    return response
