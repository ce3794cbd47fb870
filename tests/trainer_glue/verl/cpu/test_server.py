"""The rollout server as an agent loop meets it, without Ray: batches, errors, pause and resume."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("verl")

from rewardkit.errors import ConfigError
from tests.trainer_glue.verl.cpu.models import tiny_engine
from trainer_glue.verl.cpu.engine import Completion, Engine, Request
from trainer_glue.verl.cpu.server import CpuServer

PARAMS = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "repetition_penalty": 1.0, "logprobs": True}


def rollout(**changes: Any) -> SimpleNamespace:
    settings = {
        "prompt_length": 16,
        "response_length": 8,
        "max_model_len": None,
        "max_num_seqs": 64,
        "ignore_eos": True,
        "seed": 7,
    }
    return SimpleNamespace(**{**settings, **changes})


@pytest.fixture(scope="module")
def engine() -> Engine:
    return tiny_engine()


class Recorder:
    """An engine that notes its batches, and can be made to wait or to fail."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.vocabulary, self.model, self.abort = engine.vocabulary, engine.model, engine.abort
        self.batches: list[list[Request]] = []
        self.started, self.go = threading.Event(), threading.Event()
        self.go.set()
        self.error: Exception | None = None

    def generate(self, requests: list[Request]) -> list[Completion]:
        self.batches.append(requests)
        self.started.set()
        self.go.wait(10)
        if self.error is not None:
            raise self.error
        return self._engine.generate(requests)


def answers(config: SimpleNamespace, engine: Any, prompts: list[list[int]], **params: Any) -> list[Any]:
    async def together() -> list[Any]:
        server = CpuServer(engine, config)
        return await asyncio.gather(*[server.generate(prompt, {**PARAMS, **params}) for prompt in prompts])

    return asyncio.run(together())


def test_an_answer_is_verls_token_output(engine: Engine) -> None:
    (answer,) = answers(rollout(), engine, [[5, 6, 7]])
    assert type(answer).__module__ == "verl.workers.rollout.replica"
    assert len(answer.token_ids) == len(answer.log_probs) == 8
    assert answer.stop_reason == answer.extra_fields["stop_reason"] == "length"
    assert answer.extra_fields["global_steps"] == 0


def test_log_probabilities_only_on_request(engine: Engine) -> None:
    assert answers(rollout(), engine, [[5]], logprobs=False)[0].log_probs is None


def test_requests_that_wait_together_are_one_batch(engine: Engine) -> None:
    recorder = Recorder(engine)
    answers(rollout(), recorder, [[5, n] for n in range(5, 25)])
    assert [len(batch) for batch in recorder.batches] == [20]


def test_a_batch_holds_no_more_rows_than_configured_and_one_kind_of_sampling(engine: Engine) -> None:
    recorder = Recorder(engine)

    async def mixed() -> None:
        server = CpuServer(recorder, rollout(max_num_seqs=4))  # type: ignore[arg-type]
        await asyncio.gather(
            *[server.generate([5, n], {**PARAMS, "temperature": n % 2}) for n in range(5, 15)],
        )

    asyncio.run(mixed())
    assert max(len(batch) for batch in recorder.batches) <= 4
    assert sum(len(batch) for batch in recorder.batches) == 10
    assert all(len({request.sampling.filters for request in batch}) == 1 for batch in recorder.batches)


def test_a_group_draws_different_responses_and_the_same_again_in_another_run(engine: Engine) -> None:
    group = [[5, 6, 7]] * 4
    first = [tuple(a.token_ids) for a in answers(rollout(), engine, group)]
    assert len(set(first)) == 4
    assert [tuple(a.token_ids) for a in answers(rollout(), engine, group)] == first
    assert [tuple(a.token_ids) for a in answers(rollout(seed=8), engine, group)] != first


def test_a_requests_own_seed_repeats_within_a_run(engine: Engine) -> None:
    first, second = answers(rollout(), engine, [[5, 6], [5, 6]], seed=3)
    assert first.token_ids == second.token_ids


def test_new_weights_draw_anew_and_carry_their_step(engine: Engine) -> None:
    async def two_steps() -> tuple[Any, Any]:
        own = tiny_engine()
        server = CpuServer(own, rollout())
        before = await server.generate([5, 6], PARAMS)
        part = [_packed(name, tensor) for name, tensor in own.model.state_dict().items()]
        await server.load_weights(part[:3], False)
        await server.load_weights(part[3:], True, global_steps=4)
        return before, await server.generate([5, 6], PARAMS)

    before, after = asyncio.run(two_steps())
    assert after.extra_fields["global_steps"] == 4
    assert before.token_ids != after.token_ids


def _packed(name: str, tensor: torch.Tensor) -> Any:
    from trainer_glue.verl.cpu.adapter import _bytes

    return name, str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), _bytes(tensor)


@pytest.mark.parametrize(
    ("prompt", "extra", "message"),
    [
        ([5] * 24, {}, "prompt of 24 tokens leaves no room for a response within 24"),
        ([], {}, "an empty prompt"),
        ([5, 9_999], {}, "token id 9999; the model's vocabulary has"),
        ([5], {"image_data": ["x"]}, "the prompt holds images"),
        ([5], {"video_data": ["x"]}, "the prompt holds video"),
        ([5], {"audio_data": ["x"]}, "the prompt holds audio"),
    ],
)
def test_a_request_that_cannot_be_served_says_why(
    engine: Engine, prompt: list[int], extra: dict[str, Any], message: str
) -> None:
    async def ask() -> None:
        await CpuServer(engine, rollout()).generate(prompt, PARAMS, **extra)

    with pytest.raises(ConfigError, match=message):
        asyncio.run(ask())


def test_a_long_prompt_shortens_the_response_and_the_models_context_counts(engine: Engine) -> None:
    assert len(answers(rollout(), engine, [[5] * 20])[0].token_ids) == 4
    assert len(answers(rollout(max_model_len=12), engine, [[5] * 10])[0].token_ids) == 2


def test_an_empty_payload_of_a_text_prompt_is_no_image(engine: Engine) -> None:
    async def ask() -> Any:
        return await CpuServer(engine, rollout()).generate([5], PARAMS, image_data=None, video_data=[], audio_data=None)

    assert len(asyncio.run(ask()).token_ids) == 8


def test_a_failing_batch_fails_all_its_callers_and_only_them(engine: Engine) -> None:
    recorder = Recorder(engine)
    recorder.error = RuntimeError("out of luck")

    async def fail_then_work() -> tuple[list[Any], Any]:
        server = CpuServer(recorder, rollout())  # type: ignore[arg-type]
        failed = await asyncio.gather(*[server.generate([5, n], PARAMS) for n in (6, 7)], return_exceptions=True)
        recorder.error = None
        return failed, await server.generate([5], PARAMS)

    failed, answer = asyncio.run(fail_then_work())
    assert [str(error) for error in failed] == ["out of luck"] * 2
    assert failed[0].__traceback__ is not None and "generate" in _frames(failed[0])
    assert len(answer.token_ids) == 8


def _frames(error: BaseException) -> set[str]:
    names, trace = set(), error.__traceback__
    while trace is not None:
        names.add(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    return names


def test_abort_ends_what_runs_returns_what_waits_and_holds_what_comes(engine: Engine) -> None:
    recorder = Recorder(engine)
    recorder.go.clear()

    async def scene() -> tuple[Any, Any, dict[str, int], bool, Any]:
        server = CpuServer(recorder, rollout(max_num_seqs=1))  # type: ignore[arg-type]
        running = asyncio.create_task(server.generate([5, 6], PARAMS))
        waiting = asyncio.create_task(server.generate([5, 7], PARAMS))
        await asyncio.to_thread(recorder.started.wait, 10)
        abort = asyncio.create_task(server.abort_all_requests())
        await asyncio.sleep(0.05)
        recorder.go.set()
        counts = await abort
        late = asyncio.create_task(server.generate([5, 8], PARAMS))
        await asyncio.sleep(0.1)
        held = not late.done()
        await server.resume_generation()
        return await running, await waiting, counts, held, await late

    running, waiting, counts, held, late = asyncio.run(scene())
    assert (running.stop_reason, len(running.token_ids)) == ("aborted", 1)
    assert (waiting.stop_reason, waiting.token_ids) == ("aborted", [])
    assert counts == {"aborted_count": 2}
    assert held
    assert (late.stop_reason, len(late.token_ids)) == ("length", 8)


def test_a_server_that_leaves_refuses_instead_of_holding(engine: Engine) -> None:
    async def scene() -> Any:
        server = CpuServer(engine, rollout())
        await server.abort_all_requests(reject_request=True)
        with pytest.raises(RuntimeError, match="paused and rejects"):
            await server.generate([5], PARAMS)
        await server.resume_generation()
        return await server.generate([5], PARAMS)

    assert len(asyncio.run(scene()).token_ids) == 8


def test_drain_waits_for_the_last_answer(engine: Engine) -> None:
    async def scene() -> bool:
        server = CpuServer(engine, rollout())
        answer = asyncio.create_task(server.generate([5], PARAMS))
        await asyncio.sleep(0)
        await server.wait_for_requests_to_drain()
        await asyncio.sleep(0)
        return answer.done()

    assert asyncio.run(scene())


def test_profiling_is_refused(engine: Engine) -> None:
    async def ask() -> None:
        await CpuServer(engine, rollout()).start_profile()

    with pytest.raises(ConfigError, match="no profiler"):
        asyncio.run(ask())


def test_the_server_answers_every_call_that_verl_makes_on_a_replica(engine: Engine) -> None:
    import inspect
    import re

    from verl.workers.rollout.replica import RolloutReplica

    called = set(re.findall(r"server\.(\w+)\.remote", inspect.getsource(RolloutReplica)))
    assert called
    assert called <= set(dir(CpuServer))
