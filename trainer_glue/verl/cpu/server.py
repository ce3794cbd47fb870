"""The rollout server: an actor that gathers requests into batches and has the engine answer them.

It speaks the protocol of verl's rollout servers (``generate``, ``abort_all_requests`` and so on, as in
verl/workers/rollout/vllm_rollout/vllm_async_server.py), for text. Requests that wait together are answered together;
new ones wait for the batch that runs.

The class itself knows no Ray: :mod:`~trainer_glue.verl.cpu.replica` makes it an actor, a test calls it as it is.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from verl.utils import normalize_token_ids
from verl.workers.rollout.replica import TokenOutput

from rewardkit.errors import ConfigError
from trainer_glue.verl.cpu.engine import Completion, Engine, Request
from trainer_glue.verl.cpu.sampling import Sampling, derive_seed

QUIET_S: Final = 0.05
"""A batch starts when no request has come for this long: an agent loop sends one every 5 to 15 ms."""

GATHER_S: Final = 0.5
"""A batch starts at the latest this long after its first request."""

WeightPart = Sequence[tuple[str, str, tuple[int, ...], np.ndarray[Any, Any]]]
"""Name, torch dtype, shape and bytes of some weights."""


@dataclass(slots=True)
class _Waiting:
    request: Request
    answer: asyncio.Future[Completion]


class CpuServer:
    """Serves one replica of the model.

    Args:
        engine: the model.
        rollout: verl's rollout config (``prompt_length``, ``response_length``, ``max_model_len``, ``max_num_seqs``,
            ``ignore_eos``, ``seed``).
        replica_rank: which replica this is.
    """

    def __init__(self, engine: Engine, rollout: Any, replica_rank: int = 0) -> None:
        self._engine = engine
        self._config = rollout
        self._replica = replica_rank
        self._step = 0
        self._waiting: list[_Waiting] = []
        self._running: list[_Waiting] = []
        self._arrived = asyncio.Event()
        self._worker: asyncio.Task[None] | None = None
        # One thread: batches take turns, and the event loop stays free for control calls.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="generate")
        self._open = asyncio.Event()
        self._open.set()
        self._rejecting = False
        self._occurrences: Counter[tuple[int, ...]] = Counter()

    async def ready(self) -> None:
        """Return once the server is up."""

    async def load_weights(self, part: WeightPart, last: bool, global_steps: int | None = None) -> None:
        """Take a part of the trainer's weights.

        Args:
            part: some of them.
            last: whether these complete them.
            global_steps: the step that they belong to.
        """
        weights = ((name, _tensor(dtype, shape, data)) for name, dtype, shape, data in part)
        await asyncio.get_running_loop().run_in_executor(self._thread, lambda: self._engine.load(weights, last=last))
        if last:
            self._step = self._step + 1 if global_steps is None else global_steps
            self._occurrences.clear()

    async def generate(
        self,
        prompt_ids: Any,
        sampling_params: Mapping[str, Any],
        request_id: str = "",
        image_data: Any = None,
        video_data: Any = None,
        audio_data: Any = None,
        mm_processor_kwargs: Any = None,
        priority: int = 0,
    ) -> TokenOutput:
        """Answer one prompt.

        Args:
            prompt_ids: token ids.
            sampling_params: see :class:`~trainer_glue.verl.cpu.sampling.Sampling`.
            request_id: verl's name for the request; unused.
            image_data: must be empty, as the next two.
            video_data: see `image_data`.
            audio_data: see `image_data`.
            mm_processor_kwargs: goes with those; ignored without them.
            priority: unused; requests are served in the order they came.

        Returns:
            Tokens and log-probabilities. ``stop_reason`` is "completed", "length" or "aborted", and again in
            ``extra_fields``, which reach the reward.

        Raises:
            ConfigError: images, video or audio; a prompt that leaves no room or holds unknown ids; a sampling
                parameter that is unknown or out of range.
            RuntimeError: the server rejects requests while it is paused.
        """
        for kind, data in (("images", image_data), ("video", video_data), ("audio", audio_data)):
            if data:
                raise ConfigError(f"the prompt holds {kind}; the CPU rollout takes text only", hint="use a GPU rollout")
        prompt = tuple(normalize_token_ids(prompt_ids))
        sampling = Sampling.read(
            sampling_params, max_tokens=self._room(prompt), ignore_eos=bool(self._config.ignore_eos)
        )
        while not self._open.is_set():
            if self._rejecting:
                raise RuntimeError("the rollout server is paused and rejects requests until generation resumes")
            await self._open.wait()
        occurrence = self._occurrences[prompt]
        self._occurrences[prompt] += 1
        seed = sampling.seed
        if seed is None:
            seed = derive_seed(int(self._config.seed), self._step, prompt, occurrence, self._replica)
        waiting = _Waiting(Request(prompt, sampling, seed), asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._arrived.set()
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._serve())
        step = self._step
        completion = await waiting.answer
        return TokenOutput(
            token_ids=completion.tokens,
            log_probs=completion.log_probs if sampling.logprobs else None,
            stop_reason=completion.reason,
            extra_fields={"global_steps": step, "stop_reason": completion.reason},
        )

    def _room(self, prompt: tuple[int, ...]) -> int:
        if not prompt:
            raise ConfigError("an empty prompt came; expected at least one token")
        unknown = [index for index in prompt if not 0 <= index < self._engine.vocabulary]
        if unknown:
            raise ConfigError(
                f"the prompt holds token id {unknown[0]}; the model's vocabulary has {self._engine.vocabulary}",
                hint="tokenizer and model don't belong together",
            )
        context = self._config.max_model_len or getattr(self._engine.model.config, "max_position_embeddings", None)
        limits = [self._config.prompt_length + self._config.response_length]
        if context:
            limits.append(int(context))
        room = min(limits) - len(prompt)
        if room < 1:
            raise ConfigError(
                f"a prompt of {len(prompt)} tokens leaves no room for a response within {min(limits)} tokens",
                hint="set data.filter_overlong_prompts=True, or raise data.max_prompt_length if the context allows",
            )
        return int(min(room, self._config.response_length))

    async def _serve(self) -> None:
        while self._waiting:
            await self._gather()
            filters = self._waiting[0].request.sampling.filters if self._waiting else None
            batch = [item for item in self._waiting if item.request.sampling.filters == filters]
            batch = batch[: int(self._config.max_num_seqs)]
            self._waiting = [item for item in self._waiting if item not in batch]
            if not batch:
                continue
            # In one order whatever the order of arrival: a row's last bits depend on its place.
            batch.sort(key=lambda item: (item.request.prompt, item.request.seed))
            self._running = batch
            requests = [item.request for item in batch]
            try:
                completions = await asyncio.get_running_loop().run_in_executor(
                    self._thread, self._engine.generate, requests
                )
            except Exception as error:
                # Handed to every caller, with its traceback.
                for item in batch:
                    if not item.answer.done():
                        item.answer.set_exception(error)
            else:
                for item, completion in zip(batch, completions, strict=True):
                    if not item.answer.done():
                        item.answer.set_result(completion)
            finally:
                self._running = []

    async def _gather(self) -> None:
        """Wait while requests keep coming, so that a group is one batch and not several."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + GATHER_S
        while len(self._waiting) < self._config.max_num_seqs and loop.time() < deadline:
            self._arrived.clear()
            try:
                await asyncio.wait_for(self._arrived.wait(), QUIET_S)
            except TimeoutError:
                return

    async def abort_all_requests(self, reset_prefix_cache: bool = True, reject_request: bool = False) -> dict[str, int]:
        """End what runs, hand back what waits, and pause until :meth:`resume_generation`.

        Args:
            reset_prefix_cache: unused; there is no such cache.
            reject_request: whether requests that come while paused are refused, not held.

        Returns:
            ``aborted_count``.
        """
        self._open.clear()
        self._rejecting = reject_request
        waiting, self._waiting = self._waiting, []
        running = list(self._running)
        for item in waiting:
            item.answer.set_result(Completion([], [], "aborted"))
        if running:
            self._engine.abort.set()
            try:
                await asyncio.wait([item.answer for item in running])
            finally:
                self._engine.abort.clear()
        aborted = [i for i in running if i.answer.exception() is None and i.answer.result().reason == "aborted"]
        return {"aborted_count": len(waiting) + len(aborted)}

    async def resume_generation(self) -> None:
        """Take requests again."""
        self._rejecting = False
        self._open.set()

    async def wait_for_requests_to_drain(self) -> None:
        """Return when nothing waits or runs."""
        while self._waiting or self._running:
            await asyncio.wait([item.answer for item in (*self._waiting, *self._running)])

    async def set_global_steps(self, global_steps: int) -> None:
        """Set the step of the weights."""
        self._step = global_steps

    async def wake_up(self, tags: list[str] | None = None) -> None:
        """Take memory back after :meth:`sleep`: nothing was given."""

    async def sleep(self) -> None:
        """Give memory to the trainer: the weights stay where they are, there is no device to clear."""

    async def clear_kv_cache(self) -> None:
        """Drop cached keys and values: they end with their batch."""

    async def release_kv_cache(self) -> None:
        """Give the cache's memory back: see :meth:`clear_kv_cache`."""

    async def resume_kv_cache(self) -> None:
        """Take the cache's memory again: see :meth:`clear_kv_cache`."""

    async def start_profile(self, **kwargs: Any) -> None:
        """Profile generation.

        Raises:
            ConfigError: always.
        """
        raise ConfigError("the CPU rollout has no profiler", hint="leave global_profiler.steps unset")

    async def stop_profile(self) -> None:
        """End profiling: it can't have started."""


def _tensor(dtype: str, shape: tuple[int, ...], data: np.ndarray[Any, Any]) -> torch.Tensor:
    # A copy: what Ray hands over is read-only memory of its object store.
    return torch.tensor(data).view(getattr(torch, dtype)).view(shape)
