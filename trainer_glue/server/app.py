"""The endpoints: `POST /score` and `GET /health`.

Rows and results have the form of `rewardkit score`: what a file holds line by line, a request holds in `rows`. Scoring
runs in threads, as many as there are cores; requests beyond `MAX_WAITING` are turned away with 503 rather than queued
without end. Nothing of a request is kept.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from rewardkit.batch import Batch
from rewardkit.declared import COLUMN_OF
from rewardkit.errors import CompileError, RewardKitError
from rewardkit.program import Program
from rewardkit.scoring.fields import OPTIONAL, BadRowAt, column
from rewardkit.scoring.run import needed_fields, read_fields
from rewardkit.scoring.writing import Lines
from rewardkit.text import fingerprint
from rewardkit.version import __version__
from rewardkit.workers import cores

MAX_ROWS: Final = 16_384
"""Rows of one request: a rollout batch of 1,024 prompts by 16."""
MAX_BYTES: Final = 256 << 20
"""Bytes of one request's body."""
MAX_WAITING: Final = 256
"""Requests that are scored or wait for it."""


class Refused(RewardKitError):
    """A request that is not served, and the HTTP status that says so."""

    def __init__(self, status: int, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


def make_app(program: Program, *, max_rows: int = MAX_ROWS, max_bytes: int = MAX_BYTES) -> FastAPI:
    """An ASGI application that scores by a program.

    ``app.state.draining`` set to True makes every answer close its connection: for a server that is about to end.

    Args:
        program: the compiled formula.
        max_rows: rows of one request at most; more is 413.
        max_bytes: bytes of one request's body at most; more is 413.
    """
    app = FastAPI(title="rewardkit", version=__version__, description=f"Scores by `{program.reward!r}`.")
    app.state.draining = False
    scoring = _Scoring(program, max_rows)

    @app.post("/score")
    async def score(request: Request) -> Response:
        """Score rows.

        The body is a JSON object: `rows`, a list of objects as in a file for `rewardkit score` (response, ground_truth,
        prompt, data_source, group, extra_info, truncated, tokens), and optionally `step`. The answer's `rows` have, in
        the same order, score (null where unscored), total_status, terms and status.
        """
        try:
            text = await scoring.answer(await _body(request, max_bytes))
        except Refused as e:
            retry = {"Retry-After": "1"} if e.status == 503 else None
            return _closing(app, JSONResponse({"error": e.message, "hint": e.hint}, e.status, retry))
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

    async def answer(self, body: bytes) -> str:
        if self.in_flight >= MAX_WAITING:
            raise Refused(503, f"{self.in_flight} requests are waiting already", hint="send it again in a second")
        self.in_flight += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self._score, body)
        finally:
            self.in_flight -= 1

    def _score(self, body: bytes) -> str:
        try:
            request = json.loads(body)
        except (ValueError, RecursionError) as e:
            raise Refused(400, f"the body is no JSON: {e}") from None
        rows, step = self._checked(request)
        if not rows:
            return '{"rows": []}'
        try:
            columns = {name: column(rows, name) for name in self._fields}
        except BadRowAt as bad:
            raise Refused(422, f"rows[{bad.index}] {bad}") from None
        for name in self._needed & OPTIONAL:
            if all(value is None for value in columns[name]):
                raise Refused(422, f"no row has `{name}`, which {self._program.reward!r} needs")
        try:
            scores = self._program(Batch(**{COLUMN_OF[name]: c for name, c in columns.items()}, step=step))
        except CompileError as e:
            raise Refused(422, e.message, hint=e.hint) from None
        return '{"rows": [' + self._lines(scores)[:-1].replace("\n", ",") + "]}"

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


async def _body(request: Request, most: int) -> bytes:
    """The body, read no further than the limit."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise Refused(413, f"a body of more than {most:,} bytes", hint="send the rows in parts")
        parts.append(part)
    return b"".join(parts)


def _closing(app: FastAPI, response: Response) -> Response:
    if app.state.draining:
        response.headers["Connection"] = "close"
    return response
