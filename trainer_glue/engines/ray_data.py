"""Scoring over Ray Data: the same cuts, the same program and the same order as in one process, on many cores.

Files are read by tasks, which cut them as the local engine does; a pool of actors scores the cuts, each with one
compiled program and its share of the cores for worker terms; the parts come back in order, and the calling process
writes them. So only the input must be where the nodes see it, the output is one file, whole or absent, and any formula
that the local engine scores is scored to the same values, group-relative ones too.

Cuts, parts and errors travel as values: an error in a row reaches the user as the local engine's would, in its turn and
without Ray's account of it. What may not enter: anything that a row is worth.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import socket
import tempfile
import warnings
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any, Final, TypeVar

import ray
import ray.data
import ray.exceptions

from rewardkit.engine.loading import RewardSource, reward_from_config
from rewardkit.engine.program import compile as compile_reward
from rewardkit.errors import ConfigError, DataError, RewardKitError, RunError
from rewardkit.processes.cores import cores, share_cores
from rewardkit.scoring.profile import timed
from rewardkit.scoring.reading import Chunk, Rows
from rewardkit.scoring.run import Part, Render, RequiredFields, Scorer, open_rows, read, required_fields

T = TypeVar("T")
_READERS: Final = 4
"""Files that are read at a time. Order is kept, so what the later ones give must wait in memory for the first."""
_ACTOR_BYTES: Final = 1 << 20
"""Bytes of the files for which it is worth starting one more actor."""
_BLOCK_BYTES: Final = 1 << 20
"""Small, so that a cut is scored as soon as it is read."""
_RESTARTS: Final = 2
"""Of an actor in a cluster, which may lose a node; a term that ends its process each time must come to an end."""
_LOGGERS: Final = ("ray.data", "ray.air.util.tensor_extensions")
_ANSWER: Final = 10.0
"""Seconds that the head of a cluster has to take a connection."""
_SCRATCH: Final = "/tmp"
"""Not the user's TMPDIR: Ray puts sockets 75 characters further down, and a socket's path has at most 107."""


@dataclass(frozen=True, slots=True)
class _Share:
    """A file, and how many of its rows are scored."""

    source: Rows
    limit: int | None


@dataclass(frozen=True, slots=True)
class _Cut:
    """Rows that are scored together, and the seconds that it took to read them."""

    source: Rows
    chunk: Chunk
    seconds: float


def ray_parts(
    reward: RewardSource,
    files: Sequence[Path],
    render: Render[T],
    *,
    step: int | None = None,
    limit: int | None = None,
    skip_bad: bool = False,
) -> Generator[Part[T]]:
    """The engine on Ray: the parts of files, in the order of their rows.

    It runs where Ray runs already in this process, else on the cluster that ``RAY_ADDRESS`` names, else on a Ray of its
    own that ends with it.

    Args:
        reward: its text travels, so that a user's file need not be on the nodes.
        files: JSON lines or parquet, where every node sees them under the same path.
        render: makes what is written of scored rows.
        step: the training step, for schedules; None takes each schedule's first value.
        limit: score the first so many rows only; with a formula that needs groups, the last group is completed.
        skip_bad: leave out rows that can't be read or lack what the formula needs; the parts' tallies list them.

    Raises:
        DataError: a row that can't be read or lacks what the formula needs, or a pipe.
        ConfigError: no cluster at ``RAY_ADDRESS``.
        RunError: Ray lost the work, such as to a term that ends its process.
    """
    fields = required_fields(compile_reward(reward.reward))
    sources = [open_rows(path, fields, skip_bad=skip_bad) for path in files]
    pipe = next((source.name for source in sources if not source.is_file), None)
    if pipe is not None:
        raise DataError(f"{pipe} is a pipe, which only this process can read", hint="a file, or --engine local")
    shares = list(_shares(sources, fields, limit))
    with _quiet(), _ray() as restarts:
        try:
            yield from _run(shares, fields, _Crew.of(shares, restarts), (os.getcwd(), reward.to_config(), render, step))
        except ray.exceptions.RayError as e:
            raise RunError(f"Ray did not finish the work: {str(e).strip()}") from e


def _shares(sources: Sequence[Rows], fields: RequiredFields, limit: int | None) -> Iterator[_Share]:
    left = limit
    for source in sources:
        if left is not None and left <= 0:
            return
        yield _Share(source, left)
        if left is not None and source is not sources[-1]:
            left -= sum(len(chunk.rows) for chunk in read(source, fields, left))
            source.skipped.clear()


@dataclass(frozen=True, slots=True)
class _Crew:
    """The actors, the cores of each, and how often each may be started again."""

    actors: int
    cores: int
    restarts: int

    @classmethod
    def of(cls, shares: Sequence[_Share], restarts: int) -> _Crew:
        """All that the cluster has, but not an actor for a few rows."""
        nodes = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
        nodes = [n for n in nodes if n] or [1]
        worth = 1 + sum(share.source.path.stat().st_size for share in shares) // _ACTOR_BYTES
        actors = min(sum(nodes), worth)
        return cls(actors, max(1, min(sum(nodes) // actors, *nodes)), restarts)

    def remote(self) -> dict[str, Any]:
        """What Ray is told of each actor."""
        return {"max_restarts": self.restarts, "max_task_retries": self.restarts}


def _run(shares: Sequence[_Share], fields: RequiredFields, crew: _Crew, work: tuple[Any, ...]) -> Iterator[Part[Any]]:
    data: Any = ray.data.from_items([{"item": share} for share in shares], override_num_blocks=len(shares))
    context = data.context
    context.execution_options.preserve_order = True
    context.target_max_block_size = _BLOCK_BYTES
    context.enable_progress_bars = context.print_on_execution_start = False
    cuts = data.flat_map(
        _cut,
        fn_kwargs={"fields": fields},
        compute=ray.data.TaskPoolStrategy(size=min(_READERS, len(shares))),
        num_cpus=0,  # the actors take all the cores that there are, and wait for what is read
    )
    restarts: dict[str, Any] = {}
    if "ray_remote_args_fn" in signature(cuts.map).parameters:  # it goes in Ray 2.64, and nothing comes in its place
        restarts["ray_remote_args_fn"] = crew.remote
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it goes
        parts = cuts.map(
            _Scoring,
            fn_constructor_args=(crew.cores, *work),
            compute=ray.data.ActorPoolStrategy(min_size=1, max_size=crew.actors, initial_size=crew.actors),
            num_cpus=crew.cores,
            **restarts,
        )
    for row in parts.iter_rows():
        item = row["item"]
        if isinstance(item, RewardKitError):
            raise item
        yield item


def _cut(row: Mapping[str, Any], fields: RequiredFields) -> Iterator[dict[str, Any]]:
    """The cuts of a file, and an error where they end before the file does."""
    share: _Share = row["item"]
    try:
        for chunk, seconds in timed(read(share.source, fields, share.limit)):
            yield {"item": _Cut(share.source, chunk, seconds)}
    except RewardKitError as e:
        yield {"item": e}
    except OSError as e:
        hint = "the files must be where every node of the cluster sees them, under the same path"
        yield {"item": DataError(f"{share.source.path} can't be read on a node: {e.strerror or e}", hint=hint)}


class _Scoring:
    """An actor: one program, and workers for its share of the node's cores."""

    def __init__(self, own: int, folder: str, config: Mapping[str, Any], render: Render[Any], step: int | None) -> None:
        with contextlib.suppress(OSError):  # another node may lack it
            os.chdir(folder)
        share_cores(max(1, cores() // own))
        self._config, self._render, self._step = config, render, step
        self._scorer: Scorer[Any] | None = None

    def __call__(self, row: Mapping[str, Any]) -> dict[str, Any]:
        item = row["item"]
        if isinstance(item, RewardKitError):
            return {"item": item}
        try:
            if self._scorer is None:  # here, not when the actor starts: what a user's file imports may be missing
                program = compile_reward(reward_from_config(self._config))
                self._scorer = Scorer(program, self._render, step=self._step)
            part = self._scorer(item.source, item.chunk)
        except RewardKitError as e:
            return {"item": e}
        part.times.stages["reading"] += item.seconds
        return {"item": part}


@contextmanager
def _quiet() -> Iterator[None]:
    """Ray Data's notices are not shown; an error is raised, and need not be logged too."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def _ray() -> Iterator[int]:
    """Ray, as long as the block runs; how often an actor may be started again there."""
    if ray.is_initialized():
        yield _RESTARTS
        return
    address = os.environ.get("RAY_ADDRESS", "local") or "local"
    if address.startswith("ray://"):
        raise ConfigError(
            f"RAY_ADDRESS={address} is a Ray client's; scoring needs a cluster that this machine is a part of",
            hint="on a node of it: RAY_ADDRESS=auto, or HOST:PORT of its head",
        )
    scratch: str | None = None
    options: dict[str, Any] = {}
    if address not in ("local", "auto"):
        _check_answers(address)
    if address == "local":
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        options = {"num_cpus": cores(), "include_dashboard": False}
        if "RAY_TMPDIR" not in os.environ:
            scratch = options["_temp_dir"] = tempfile.mkdtemp(prefix="rk-", dir=_SCRATCH)
    handler = signal.getsignal(signal.SIGTERM)
    try:
        try:
            # Ray puts the folder that it is started in on its workers' path, before all else: a `numpy.py` is executed.
            with contextlib.chdir("/"):
                ray.init(address, logging_level=logging.ERROR, log_to_driver=False, **options)
        except (ConnectionError, RuntimeError, ValueError) as e:
            raise ConfigError(
                f"no work for the Ray at RAY_ADDRESS={address}: {e}",
                hint="RAY_AUTH_MODE=token for a cluster that asks for one; RAY_ADDRESS unset for this machine's cores",
            ) from e
        signal.signal(signal.SIGTERM, handler)  # Ray puts its own there
        yield 0 if address == "local" else _RESTARTS
    finally:
        ray.shutdown()
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)


def _check_answers(address: str) -> None:
    """Ray itself tries a head that isn't there for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER).close()
    except (OSError, ValueError) as e:
        raise ConfigError(
            f"no Ray cluster answers at RAY_ADDRESS={address}: {e}",
            hint="HOST:PORT of its head, `auto` for one that runs on this machine, or unset for this machine's cores",
        ) from e
