"""Text to SQL: whether a query finds what the ground truth's query finds."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import regex
from pydantic import AfterValidator, Field

from rewardkit.algebra.define import term
from rewardkit.answers import shared_pool
from rewardkit.batch import Batch, Sample, Score, Status
from rewardkit.processes.budget import current_budget
from rewardkit.processes.worker_pool import Outcome, Result
from rewardkit.terms.similarity import answer_text

MAX_CHARS: Final = 20_000
"""Longest query."""

_COMPARE: Final = "rewardkit.terms.databases.worker:compare"
_FENCE: Final = regex.compile(r"```(?:sql|SQL|sqlite)?[ \t]*\n(.*?)```", regex.DOTALL)
_FIELD: Final = regex.compile(r"\{(\w+)\}")
_SAFE: Final = regex.compile(r"\w[\w.\- ]*+")


def _a_path(database: str) -> str:
    if not database.strip() or "\0" in database or regex.search(r"[{}]", _FIELD.sub("", database)):
        raise ValueError("expected the path of a SQLite file, such as 'databases/{db_id}/{db_id}.sqlite'")
    return database


@term(verdict=True, needs=("ground_truth",), reads=("extra_info",), batched=True, cost="worker")
def sql_result(
    batch: Batch,
    database: Annotated[str, AfterValidator(_a_path)],
    *,
    steps: Annotated[int, Field(ge=1_000, le=10_000_000_000)] = 50_000_000,
    cpu_seconds: Annotated[float, Field(gt=0, le=600)] = 10.0,
) -> Sequence[bool | Score]:
    """1 where the response's query finds the same rows as the ground truth's query in a SQLite file; else 0.

    Rows are compared as a multiset, or in their order where the ground truth's query has an ORDER BY of its own.
    Columns are compared by place; numbers by value, to twelve digits; text is no number. The query is the last block
    fenced as SQL, or else what stands in the last ``<answer>`` tag, or else the response after its reasoning; an empty
    one is NO_ANSWER. The ground truth is a query, or a mapping with it under ``sql`` or ``query``.

    Queries run in a worker process against the file opened for reading. Only one SELECT passes: no ATTACH, no PRAGMA,
    no writing, no extensions. A query of over so many steps of SQLite's machine, over 100,000 rows or 20,000 characters
    is LIMIT; one that uses up its CPU time is TIMEOUT. A ground truth whose own query fails, or finds no rows, as a
    wrong query easily does, is BAD_GOLD, and so is a file that is not there. Source: the execution accuracy of Spider
    (Yu et al. 2018, arXiv 1809.08887) and BIRD (Li et al. 2023, arXiv 2305.03111), which compares sets of rows.

    Args:
        batch: the responses and their ground truths.
        database: the path of the file; ``{name}`` in it stands for the row's ``extra_info[name]``.
        steps: steps of SQLite's virtual machine that one query may take.
        cpu_seconds: the worker's CPU time for both queries.
    """
    scores: list[bool | Score | None] = [None] * len(batch)
    asked: dict[int, tuple[str, str, str, int]] = {}
    for i, sample in enumerate(batch):
        query = _query(sample.response)
        try:
            path, truth = _file(database, sample.extra_info), _truth(sample)
        except ValueError as e:
            scores[i] = Score(status=Status.BAD_GOLD, reason=str(e)[:300])
            continue
        if not query:
            scores[i] = Score(status=Status.NO_ANSWER, reason="the response has no query")
        elif len(query) > MAX_CHARS:
            scores[i] = Score(status=Status.LIMIT, reason=f"more than {MAX_CHARS} characters")
        else:
            asked[i] = (path, truth, query, steps)
    results = _ask(list(asked.values()), cpu_seconds)
    ended = {i: asked[i] for i, result in zip(asked, results, strict=True) if result.outcome in _BLAMED}
    own = _ask([(path, truth, truth, steps) for path, truth, _, _ in ended.values()], cpu_seconds)
    usable = {i: result.outcome is Outcome.DONE for i, result in zip(ended, own, strict=True)}
    for i, result in zip(asked, results, strict=True):
        scores[i] = _score(result, usable.get(i, True))
    return [score for score in scores if score is not None]


_BLAMED: Final = (Outcome.TIMEOUT, Outcome.DIED)


def _ask(calls: Sequence[Sequence[Any]], cpu_seconds: float) -> list[Result]:
    if not calls:
        return []
    return shared_pool().run_many(_COMPARE, calls, cpu_seconds=cpu_seconds, budget_seconds=current_budget())


def _score(result: Result, usable: bool) -> bool | Score:
    if result.outcome is Outcome.DONE:
        verdict, why = result.value
        if verdict in ("equal", "unequal"):
            return bool(verdict == "equal")
        return Score(status=Status.LIMIT if verdict == "limit" else Status.BAD_GOLD, reason=str(why)[:300])
    if result.outcome in _BLAMED and not usable:
        return Score(status=Status.BAD_GOLD, reason="the ground truth's query does not end in its time or memory")
    if result.outcome is Outcome.TIMEOUT:
        return Score(status=Status.TIMEOUT, reason="the query used up its worker's CPU time")
    if result.outcome is Outcome.DIED:
        return Score(status=Status.LIMIT, reason=f"the query ended its worker: {result.value}"[:300])
    return Score(status=Status.ERROR, reason=f"worker: {result.outcome.value} {result.value or ''}"[-300:])


def _query(response: str) -> str:
    said = answer_text(response)
    fenced = _FENCE.findall(said) if "```" in said else []
    return str(fenced[-1] if fenced else said).strip()


def _truth(sample: Sample) -> str:
    truth = sample.ground_truth
    if isinstance(truth, Mapping):
        truth = truth.get("sql") or truth.get("query")
    if not isinstance(truth, str) or not truth.strip():
        raise ValueError(f"the ground truth is {truth!r:.80}; expected a query")
    return truth


def _file(database: str, extra_info: Mapping[str, Any]) -> str:
    """The row's file, whose name its data may give but not its folder.

    Raises:
        ValueError: a name is missing or not safe, or there is no such file.
    """

    def named(match: regex.Match[str]) -> str:
        value: Any = extra_info.get(match[1])
        if not isinstance(value, str) or _SAFE.fullmatch(value) is None:
            raise ValueError(f"extra_info[{match[1]!r}] is {value!r:.60}; expected the name of a database")
        return str(value)

    path: str = os.path.abspath(os.path.expanduser(_FIELD.sub(named, database)))
    if not os.path.isfile(path):
        raise ValueError(f"there is no database {path}")
    return path
