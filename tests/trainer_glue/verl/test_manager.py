"""The reward manager against verl's own DataProto and reward loop, without Ray."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
verl = pytest.importorskip("verl")

from omegaconf import OmegaConf
from tensordict import TensorDict
from verl import DataProto
from verl.experimental.reward_loop.reward_loop import RewardLoopWorker
from verl.trainer.ppo.reward import load_reward_manager

from rewardkit import Sample, Status, gsm8k, length, parse, term
from rewardkit.errors import CompileError, ConfigError, UnscoredError
from tests.trainer_glue.verl.tokenizers import byte_tokenizer, with_marks
from trainer_glue.verl import RewardManager
from trainer_glue.verl.reward_model import MODULE

TOKENIZER = byte_tokenizer()
PROMPT = 3
RECIPE = "length(0.1) + ends_with('.?!', min_words=0)"


def ids(text: str) -> list[int]:
    return TOKENIZER(text, add_special_tokens=False)["input_ids"]


def single(text: str, *, ground_truth: Any = "4", step: int | None = 7, **columns: Any) -> DataProto:
    """One trajectory as verl 0.9's agent loop hands it to the reward loop."""
    response = torch.tensor([ids(text)], dtype=torch.long)
    n = response.shape[1]
    values: dict[str, Any] = {
        "uid": "u1",
        "data_source": "openai/gsm8k",
        "reward_model": {"style": "rule", "ground_truth": ground_truth}
        if ground_truth is not None
        else {"style": "rule"},
        "extra_info": {"split": "train"},
        "raw_prompt": [{"role": "user", "content": "What is 2 + 2?"}],
        "response_len": n,
        **columns,
    }
    if step is not None:
        values["global_steps"] = step
    batch = TensorDict(
        {
            "prompts": torch.ones(1, PROMPT, dtype=torch.long),
            "responses": response,
            "attention_mask": torch.ones(1, PROMPT + n, dtype=torch.long),
        },
        batch_size=1,
    )
    columns_ = {}
    for k, v in values.items():
        column = np.empty(1, dtype=object)
        column[0] = v
        columns_[k] = column
    return DataProto(batch=batch, non_tensor_batch=columns_)


def whole(texts: list[str], width: int = 64, **columns: list[Any]) -> DataProto:
    """A padded batch as verl 0.2 to 0.7.0 handed it to a manager."""
    n = len(texts)
    responses = torch.zeros(n, width, dtype=torch.long)
    mask = torch.zeros(n, PROMPT + width, dtype=torch.long)
    mask[:, :PROMPT] = 1
    for i, text in enumerate(texts):
        tokens = ids(text)
        responses[i, : len(tokens)] = torch.tensor(tokens)
        mask[i, PROMPT : PROMPT + len(tokens)] = 1
    defaults: dict[str, list[Any]] = {
        "data_source": ["openai/gsm8k"] * n,
        "reward_model": [{"ground_truth": "4"}] * n,
        "uid": ["a"] * n,
    }
    return DataProto.from_dict(
        tensors={"prompts": torch.ones(n, PROMPT, dtype=torch.long), "responses": responses, "attention_mask": mask},
        non_tensors={k: np.array(v, dtype=object) for k, v in {**defaults, **columns}.items()},
    )


def run(manager: RewardManager, *data: DataProto) -> list[dict[str, Any]]:
    async def everything() -> list[dict[str, Any]]:
        return list(await asyncio.gather(*(manager.run_single(d) for d in data)))

    return asyncio.run(everything())


def manager(reward: Any = RECIPE, **options: Any) -> RewardManager:
    return RewardManager(tokenizer=TOKENIZER, reward=reward, **options)


def test_run_single_gives_the_total_and_every_term() -> None:
    (result,) = run(manager(), single("Two plus two is four."))
    assert result["reward_score"] == pytest.approx(1.5)
    info = result["reward_extra_info"]
    assert info.pop("length/ms") >= 0 and info.pop("ends_with/ms") >= 0
    assert info == {"length": 0.5, "length/status": 0, "ends_with": 1.0, "ends_with/status": 0, "unscored": 0.0}


def test_every_row_has_the_same_numeric_keys() -> None:
    m = manager("when(gsm8k(), 1 + 0.2*length(0.1, cap=1), 0)")
    texts = ["#### 4", "#### 5", "", "   ", "no answer", "#### 3 #### 4 #### 5"]
    results = run(m, *[single(t, step=None) for t in texts], single("#### 4", ground_truth=None, step=None))
    keys = {tuple(r["reward_extra_info"]) for r in results}
    assert len(keys) == 1
    for r in results:
        assert all(isinstance(v, int | float) for v in r["reward_extra_info"].values())
        assert np.isfinite(r["reward_score"])


def test_a_row_without_ground_truth_is_unscored_and_not_a_zero_in_the_logs() -> None:
    (result,) = run(manager("gsm8k()"), single("#### 4", ground_truth=None))
    info = result["reward_extra_info"]
    assert info.pop("gsm8k/ms") >= 0
    assert info == {"gsm8k": None, "gsm8k/status": Status.BAD_GOLD, "unscored": 1.0}


def test_run_single_never_raises() -> None:
    m = manager("gsm8k()")
    broken = single("#### 4")
    del broken.batch["responses"]
    good = single("#### 4")
    bad, fine = run(m, broken, good)
    assert bad["reward_extra_info"]["unscored"] == 1.0
    assert bad["reward_extra_info"].keys() == fine["reward_extra_info"].keys()
    assert fine["reward_score"] == 1.0


def test_an_empty_response_gets_no_token_in_verl_0_9() -> None:
    with_blanks, empty = run(manager(), single("  "), single(""))
    assert with_blanks["reward_score"] == 0.0
    assert empty["reward_score"] is None
    assert empty["reward_extra_info"]["unscored"] == 0.0


def test_requests_that_wait_together_are_scored_together() -> None:
    m = manager()
    sizes: list[int] = []
    score_rows = m._score_rows
    m._score_rows = lambda rows: (sizes.append(len(rows)), score_rows(rows))[1]  # type: ignore[method-assign]
    results = run(m, *[single("word " * i) for i in range(1, 33)])
    assert sizes == [32]
    assert [r["reward_score"] for r in results] == pytest.approx([0.1 * i for i in range(1, 33)])


def test_the_manager_outlives_its_event_loop() -> None:
    m = manager()
    assert run(m, single("a b"))[0]["reward_score"] == run(m, single("a b"))[0]["reward_score"] == pytest.approx(0.2)


@term(bounds=(0, 1))
def brief(sample: Sample) -> float:
    time.sleep(0.001)
    return 1.0


def test_event_loops_in_several_threads_get_their_own_answers() -> None:
    m = manager(brief())
    totals: list[float] = []

    def serve() -> None:
        for _ in range(20):
            totals.extend(r["reward_score"] for r in run(m, *[single("a b")] * 3))

    threads = [threading.Thread(target=serve, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert totals == [1.0] * 180
    assert len(m._queue) == 0


@pytest.mark.parametrize("cheap", [True, False])
def test_cancelled_requests_take_no_others_along(cheap: bool) -> None:
    m = manager() if cheap else manager(brief())

    async def everything() -> list[Any]:
        first = asyncio.create_task(m.run_single(single("a b")))
        await asyncio.sleep(0)
        for task in asyncio.all_tasks() - {asyncio.current_task(), first}:
            task.cancel()  # as whoever ends all tasks of a loop does
        await asyncio.sleep(0)
        second = asyncio.create_task(m.run_single(single("a b")))
        third = asyncio.create_task(m.run_single(single("a b")))
        await asyncio.sleep(0)
        third.cancel()
        async with asyncio.timeout(20):
            return await asyncio.gather(first, second, third, return_exceptions=True)

    *answered, cancelled = asyncio.run(everything())
    assert [r["reward_extra_info"]["unscored"] for r in answered] == [0.0, 0.0]
    assert isinstance(cancelled, asyncio.CancelledError)


@term(bounds=(0, 1))
def held(sample: Sample) -> float:
    """Waits where the response says so, until the gate opens."""
    if sample.response == "wait":
        gate.wait(30)
    return 1.0


gate = threading.Event()


def test_a_slow_row_holds_up_no_later_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainer_glue.verl.queue.PATIENCE_S", 0.05)
    gate.clear()
    m = manager(held())

    async def everything() -> tuple[list[float], bool, float]:
        slow = asyncio.create_task(m.run_single(single("wait")))
        await asyncio.sleep(0.2)
        later = [(await m.run_single(single("a")))["reward_score"] for _ in range(3)]
        was_done = slow.done()
        gate.set()
        return later, was_done, (await slow)["reward_score"]

    assert asyncio.run(everything()) == ([1.0, 1.0, 1.0], False, 1.0)


def test_a_hung_row_is_unscored_and_its_siblings_are_not(capfd: pytest.CaptureFixture[str]) -> None:
    gate.clear()
    results = run(manager(held(), deadline=0.3), single("a"), single("wait"), single("b"))
    assert [r["reward_extra_info"]["held/status"] for r in results] == [Status.SCORED, Status.ERROR, Status.SCORED]
    assert [r["reward_extra_info"]["unscored"] for r in results] == [0.0, 1.0, 0.0]
    assert "held gave no answer within 0.3 s" in capfd.readouterr().err
    gate.set()


@pytest.mark.parametrize("deadline", [0, -1, float("nan"), True, "soon"])
def test_a_deadline_is_seconds(deadline: Any) -> None:
    config = {"reward": {"reward_kwargs": {"rewardkit": {"formula": "length()", "deadline": deadline}}}}
    with pytest.raises(ConfigError, match="expected seconds"):
        RewardManager(tokenizer=TOKENIZER, config=config)


def test_schedules_follow_the_step_of_each_row() -> None:
    m = manager("schedule({0: 1, 10: 5}) * length()")
    early, late = run(m, single("a", step=3), single("a", step=10))
    assert (early["reward_score"], late["reward_score"]) == (1.0, 5.0)


def config(**over: Any) -> Any:
    return OmegaConf.create(
        {
            "reward": {
                "custom_reward_function": {"path": None, "name": "compute_score"},
                "reward_manager": {
                    "source": "importlib",
                    "name": "RewardManager",
                    "module": {"path": "pkg://trainer_glue.verl", "name": "unused"},
                },
                "reward_kwargs": {"rewardkit": {"formula": "gsm8k() + length(0.01, cap=0.1)", "source": None}},
                "sandbox_fusion": {"url": None, "max_concurrent": 1, "memory_limit_mb": 1},
            },
            "data": {"max_response_length": 16},
            "trainer": {
                "experiment_name": "e",
                "use_v1": True,
                "v1": {"sampler": {"custom_sampler": {"name": over.get("sampler", "ReplayBuffer")}}},
            },
        }
    )


def test_verl_loads_it_by_importlib_and_the_formula_comes_from_the_config() -> None:
    m = load_reward_manager(config(), TOKENIZER, reward_router_address=None, reward_model_tokenizer=None)
    assert isinstance(m, RewardManager)
    assert run(m, single("#### 4"))[0]["reward_score"] == pytest.approx(1.02)


def test_a_group_formula_without_the_sampler_is_refused_before_the_run() -> None:
    with pytest.raises(CompileError, match="one at a time"):
        RewardManager(config=config(sampler=None), tokenizer=TOKENIZER, reward="group_zscore(length())")
    RewardManager(config=config(), tokenizer=TOKENIZER, reward="group_zscore(length())")


@pytest.mark.parametrize(
    ("model", "function", "says"),
    [
        ({"enable": True, "enable_resource_pool": True}, None, "never asks the formula"),
        ({"enable": True, "enable_resource_pool": False}, MODULE, "neither ground truths"),
    ],
)
def test_a_config_with_which_verl_pays_past_the_formula_stops_the_run(model: Any, function: Any, says: str) -> None:
    given = config()
    given.reward.reward_model, given.reward.custom_reward_function.path = model, function
    with pytest.raises(ConfigError, match=says):
        load_reward_manager(given, TOKENIZER, reward_router_address="127.0.0.1:1", reward_model_tokenizer=TOKENIZER)


@pytest.mark.parametrize(("function", "asked"), [(None, "reward model"), (MODULE, "formula")])
def test_verl_asks_the_formula_beside_a_reward_model_only_where_a_function_is_named(function: Any, asked: str) -> None:
    given = config()
    given.reward.reward_model = {"enable": True, "enable_resource_pool": True}
    given.reward.custom_reward_function.path = MODULE
    worker = RewardLoopWorker.__new__(RewardLoopWorker)
    worker.reward_manager = load_reward_manager(given, TOKENIZER, reward_router_address=None)
    worker.config = OmegaConf.merge(given, {"reward": {"custom_reward_function": {"path": function}}})

    async def disrm(data: DataProto) -> dict[str, Any]:
        return {"reward_score": -1.0}

    worker.compute_score_disrm = disrm
    score = asyncio.run(worker.compute_score(single("#### 4")))["reward_score"]
    assert score == pytest.approx({"reward model": -1.0, "formula": 1.02}[asked])


def test_no_formula_and_no_tokenizer_are_clear_errors() -> None:
    with pytest.raises(ConfigError, match="no formula"):
        RewardManager(tokenizer=TOKENIZER)
    with pytest.raises(ConfigError, match="no tokenizer"):
        RewardManager(reward=RECIPE)


# ---------------------------------------------------------------------------------------------- whole batches


def test_the_batched_call_writes_the_last_token_and_nothing_else() -> None:
    data = whole(["Two plus two is four.", "no end", "", "   "])
    tensor = manager()(data)
    assert tensor.dtype == torch.float32
    assert tensor.shape == data.batch["responses"].shape
    assert tensor.sum(-1).tolist() == pytest.approx([1.5, 0.2, 0.0, 0.0])
    for i, text in enumerate(["Two plus two is four.", "no end"]):
        assert tensor[i].nonzero().flatten().tolist() == [len(ids(text)) - 1]
    assert not tensor[2:].any()


def test_it_does_not_stop_decoding_after_num_examine(capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["a.", "a b.", "a b c.", "a b c d."]
    m = manager(num_examine=2)
    assert m(whole(texts)).sum(-1).tolist() == pytest.approx([1.1, 1.2, 1.3, 1.4])
    printed = capsys.readouterr().out
    assert printed.count("[response]") == 2
    assert "length=0.1 (SCORED), ends_with=1 (SCORED)" in printed
    assert m(whole(texts[2:])).sum(-1).tolist() == pytest.approx([1.3, 1.4])


def test_return_dict_and_positional_construction_as_old_verl_calls_it() -> None:
    m = RewardManager(TOKENIZER, 0, None, reward=RECIPE, reward_fn_key="data_source")
    out = m(whole(["a.", "b"]), return_dict=True)
    assert out["reward_tensor"].sum(-1).tolist() == pytest.approx([1.1, 0.1])
    assert out["reward_extra_info"]["ends_with"] == [1.0, 0.0]
    assert out["reward_extra_info"]["length/status"] == [0, 0]


def test_scores_that_a_reward_model_left_are_returned_as_they_are() -> None:
    data = whole(["a.", "b"])
    data.batch["rm_scores"] = torch.full_like(data.batch["responses"], 2, dtype=torch.float32)
    assert manager()(data).equal(data.batch["rm_scores"])


def test_groups_and_placement_in_a_whole_batch() -> None:
    texts = ["a b", "a b c d", "x", "x"]
    tensor = manager(parse("group_rank(length()).spread()"))(whole(texts, uid=["g", "g", "h", "h"]))
    assert tensor.sum(-1).tolist() == pytest.approx([0.0, 1.0, 0.5, 0.5])
    n = len(ids(texts[1]))
    assert tensor[1, :n].tolist() == pytest.approx([1 / n] * n)
    assert not tensor[1, n:].any()


def test_a_pattern_puts_the_reward_on_the_token_that_ends_it() -> None:
    text = "so #### 4 é done"
    tensor = manager(parse(r"gsm8k().on('#### \\d')"))(whole([text]))
    (at,) = tensor[0].nonzero().flatten().tolist()
    assert TOKENIZER.decode(ids(text)[: at + 1]) == "so #### 4"


def test_an_unscored_row_gets_the_mean_of_its_group() -> None:
    texts = ["#### 4", "#### 5", "#### 4", "#### 4"]
    ground_truths = [{"ground_truth": g} for g in ("4", "4", None, "4")]
    data = whole(texts, reward_model=ground_truths, uid=["g", "g", "g", "h"])
    assert manager("gsm8k()", unscored_limit=0.5)(data).sum(-1).tolist() == [1.0, 0.0, 0.5, 1.0]
    with pytest.raises(UnscoredError, match=r"25% of 4 .*gsm8k: 1 BAD_GOLD"):
        manager(gsm8k())(data)


def test_response_mask_of_a_multi_turn_row_is_respected() -> None:
    data = whole(["abcdefgh."])
    mask = torch.zeros_like(data.batch["responses"])
    mask[0, :4] = 1  # the policy wrote four tokens, a tool the rest
    data.batch["response_mask"] = mask
    tensor = manager(length().spread())(data)
    assert tensor[0].nonzero().flatten().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("special", [True, False])
def test_a_reward_for_reasoning_marks_is_paid_where_they_are_special_tokens(special: bool) -> None:
    tokenizer = with_marks(special=special)
    formula = "think_answer() + tag_count(['<think>', '</think>']) + starts_with('<think>')"
    text = "<think>two plus two</think> <answer>4</answer>"
    tokens = [*tokenizer(text, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
    data = single("x")
    data.batch = TensorDict(
        {"responses": torch.tensor([tokens]), "attention_mask": torch.ones(1, PROMPT + len(tokens))}, batch_size=1
    )
    data.non_tensor_batch["response_len"][0] = len(tokens)
    (result,) = run(RewardManager(tokenizer=tokenizer, reward=formula), data)
    info = result["reward_extra_info"]
    assert (info["think_answer"], info["tag_count"], info["starts_with"]) == (1.0, 1.0, 1.0)
