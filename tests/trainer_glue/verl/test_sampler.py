"""The sampler against verl's own TransferQueue, in a real Ray instance on this machine."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("verl")
pytest.importorskip("transfer_queue")

from rewardkit import Batch, compile, parse
from rewardkit.errors import CompileError, UnscoredError
from tests.rewardkit.terms.test_rubrics import ranks_by_length
from tests.servers import Server
from tests.trainer_glue.verl.test_manager import config, ids, run, single
from tests.trainer_glue.verl.tokenizers import byte_tokenizer
from tests.trainer_glue.verl.trajectories import COLUMNS, Loop, Parts, batch_of, output_of, tool_text
from trainer_glue.verl.wire import deferred_info, is_deferred

pytestmark = pytest.mark.run


@pytest.fixture(scope="module")
def queue() -> Iterator[Any]:
    import ray
    import transfer_queue as tq
    import verl
    from omegaconf import OmegaConf

    ray.init(num_cpus=16, include_dashboard=False, log_to_driver=False)
    config = OmegaConf.load(Path(verl.__file__).parent / "trainer/config/transfer_queue/transfer_queue.yaml")
    config.enable = True
    config.backend.SimpleStorage.num_data_storage_units = 1
    tq.init(config)
    yield tq
    tq.close()
    ray.shutdown()


@pytest.fixture(scope="module")
def tokenizer_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("tokenizer")
    byte_tokenizer().save_pretrained(folder)
    return str(folder)


def sampler(formula: str, tokenizer: str | None = None, **options: Any) -> Any:
    from trainer_glue.verl import ReplayBuffer

    wired = {"formula": formula, "source": None, "name": None, "tokenizer": tokenizer}
    return ReplayBuffer(
        trainer_mode="sync",
        trainer_config={},
        max_off_policy_threshold=8,
        max_off_policy_strategy="drop",
        sampler_kwargs={"rewardkit": wired, "poll_interval": 0.05, **options},
        refill_fn=lambda n: None,
    )


def put(tq: Any, formula: str, groups: dict[str, list[str]], *, ground_truth: Any = "4", step: int = 7) -> None:
    """Groups of responses, scored by the reward loop's manager and stored as verl's agent loop stores them."""
    from verl.utils.tensordict_utils import list_of_dict_to_tensordict

    from trainer_glue.verl import RewardManager

    manager = RewardManager(tokenizer=byte_tokenizer(), reward=formula)
    keys, fields, tags = [], [], []
    for uid, texts in groups.items():
        for session, text in enumerate(texts):
            tokens = torch.tensor(ids(text), dtype=torch.long)
            (result,) = run(manager, single(text, ground_truth=ground_truth, step=step, uid=uid))
            scores = torch.zeros(len(tokens))
            if len(tokens):
                scores[-1] = result["reward_score"]
            keys.append(f"{uid}_{session}_0")
            fields.append(
                {
                    "uid": uid,
                    "responses": tokens,
                    "response_mask": torch.ones_like(tokens),
                    "rm_scores": scores,
                    "data_source": "openai/gsm8k",
                    "reward_model": {"ground_truth": ground_truth},
                    "extra_info": {"index": session},
                    "raw_prompt": [{"role": "user", "content": "What is 2 + 2?"}],
                    "extra_fields": {"reward_extra_info": result["reward_extra_info"]},
                }
            )
            tags.append({"status": "success", "response_len": len(tokens), "global_steps": step})
    prompts = [{"is_prompt": True, "status": "finished", "global_steps": step}] * len(groups)
    tq.kv_batch_put(keys=list(groups), partition_id="train", tags=prompts)
    tq.kv_batch_put(keys=keys, fields=list_of_dict_to_tensordict(fields), tags=tags, partition_id="train")


def put_turns(tq: Any, formula: str, trajectories: list[Parts], *, told: bool) -> None:
    """Trajectories of one prompt, with and without the agent loop that tells whose tokens are whose."""
    from verl.utils.tensordict_utils import list_of_dict_to_tensordict

    from trainer_glue.verl import RewardManager
    from trainer_glue.verl.agent_loop import AgentLoopWorker, _Worker

    manager = RewardManager(tokenizer=byte_tokenizer(), reward=formula, config=config())
    outputs = [output_of(parts) for parts in trajectories]
    Loop(manager, AgentLoopWorker if told else _Worker).score([[output] for output in outputs])
    fields = [{**output.as_dict(), **COLUMNS} for output in outputs]
    tags = [{"status": "success", "response_len": len(o.response_ids), "global_steps": 7} for o in outputs]
    prompt = {"is_prompt": True, "status": "finished", "global_steps": 7}
    tq.kv_batch_put(keys=["u1"], partition_id="train", tags=[prompt])
    tq.kv_batch_put(
        keys=[f"u1_{i}_0" for i in range(len(outputs))],
        fields=list_of_dict_to_tensordict(fields),
        tags=tags,
        partition_id="train",
    )


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize(
    "formula",
    [
        "gsm8k() + 0.1 * ends_with('.?!')",
        "gsm8k().on('####') + 0.01 * length(unit='tokens').spread() + 0.1 * ends_with('.?!')",
    ],
)
def test_several_turns_are_paid_as_a_whole_batch_is(
    clean: Any, tokenizer_folder: str, formula: str, told: bool
) -> None:
    from trainer_glue.verl import RewardManager

    rng = random.Random(0)
    own = [["I add them up.", "#### 4."], ["#### 4"], ["Let me see", ""], ["a b c", "It is #### 5"], ["#### 4", "b."]]
    turns = [[part for text in line for part in ((True, text), (False, tool_text(rng)))] for line in own]
    turns[1] = turns[1][:1]  # one answer and no tool
    put_turns(clean, formula, turns, told=told)
    batch, metrics = sampler(formula, tokenizer_folder).sample(7, "train", 1)
    data = batch_of(turns)
    expected = RewardManager(tokenizer=byte_tokenizer(), reward=formula)(data)
    rows = stored(clean, batch)
    for i, parts in enumerate(turns):
        line = rows[f"u1_{i}_0"]
        assert line.tolist() == pytest.approx(expected[i, : len(line)].tolist(), abs=1e-6), parts
        assert not line[~data.batch["response_mask"][i, : len(line)].bool()].any()
    assert metrics["reward/total/mean"] == pytest.approx(expected.sum(-1).mean().item())
    assert metrics["reward/unscored"] == 0.0
    assert metrics["reward/gsm8k/status/no_answer"] == pytest.approx(2 / 5)
    infos = clean.kv_batch_get(keys=batch.keys, partition_id="train", select_fields=["extra_fields"])["extra_fields"]
    infos = [getattr(fields, "data", fields)["reward_extra_info"] for fields in list(infos)]
    program = compile(parse(formula))
    assert {frozenset(info) for info in infos} == {frozenset(deferred_info(program))}, "whoever scored it"
    assert not [info for info in infos if is_deferred(info, program) or info["unscored"]]
    assert sum(info["gsm8k"] or 0.0 for info in infos) == pytest.approx(5 * metrics["reward/gsm8k/mean"])


def stored(tq: Any, batch: Any) -> dict[str, Any]:
    data = tq.kv_batch_get(keys=batch.keys, partition_id="train", select_fields=["rm_scores"])
    return dict(zip(batch.keys, data["rm_scores"].unbind(), strict=True))


@pytest.fixture
def clean(queue: Any) -> Iterator[Any]:
    yield queue
    for partition, items in (queue.kv_list() or {}).items():
        if items:
            queue.kv_clear(partition_id=partition, keys=list(items))


def test_training_metrics_hold_every_term(clean: Any) -> None:
    formula = "gsm8k() + length(0.1, cap=1)"
    put(clean, formula, {"u1": ["#### 4", "none here"], "u2": ["#### 5", "#### 4 ok"]})
    batch, metrics = sampler(formula).sample(global_steps=7, partition_id="train", batch_size=2)
    assert len(batch.keys) == 4
    assert metrics["reward/gsm8k/mean"] == 0.5
    assert metrics["reward/gsm8k/status/no_answer"] == 0.25
    assert metrics["reward/length/mean"] == pytest.approx((0.2 + 0.2 + 0.2 + 0.3) / 4)
    assert metrics["reward/total/mean"] == pytest.approx(0.5 + 0.225)
    assert metrics["reward/unscored"] == 0.0
    assert 0 < metrics["reward/gsm8k/ms"] < 10_000


def test_group_relative_and_placed_rewards_equal_the_program_s_own(clean: Any, tokenizer_folder: str) -> None:
    formula = "gsm8k().on('#### \\\\d') + 0.5 * group_zscore(length()).spread() + schedule({0: 1, 5: 2})"
    groups = {"u1": ["so #### 4", "a b c d", "é"], "u2": ["#### 5 x", "#### 4", "#### 4"]}
    put(clean, formula, groups)
    batch, metrics = sampler(formula, tokenizer_folder).sample(global_steps=7, partition_id="train", batch_size=2)
    texts = [t for group in groups.values() for t in group]
    uids = [u for u, group in groups.items() for _ in group]
    tokens = [ids(t) for t in texts]
    program = compile(parse(formula))
    scores = program(Batch(texts, ground_truths=["4"] * 6, groups=uids, tokens=tokens, step=7))
    width = max(map(len, tokens))
    mask = [[i < len(t) for i in range(width)] for t in tokens]
    from rewardkit.engine.detokenizer import Decoder

    decoder = Decoder(byte_tokenizer())
    expected = scores.token_rewards(mask, token_ends=lambda i: decoder.token_ends(tokens[i]))
    rows = stored(clean, batch)
    for i, (uid, session) in enumerate((u, s) for u, group in groups.items() for s in range(len(group))):
        line = rows[f"{uid}_{session}_0"]
        assert line.tolist() == pytest.approx(expected[i, : len(tokens[i])].tolist(), abs=1e-6)
    assert metrics["reward/total/mean"] == pytest.approx(scores.total.mean())


def test_a_batch_is_all_rows_of_the_step(clean: Any) -> None:
    formula = "batch_zscore(length())"
    put(clean, formula, {"u1": ["a", "a b"], "u2": ["a b c", "a b c d"]})
    batch, _ = sampler(formula).sample(7, "train", 2)
    paid = [stored(clean, batch)[key].sum().item() for key in ("u1_0_0", "u1_1_0", "u2_0_0", "u2_1_0")]
    assert paid == pytest.approx(compile(formula)(Batch(["a", "a b", "a b c", "a b c d"])).total.tolist())


def test_unscored_rows_teach_nothing_and_too_many_stop_the_run(clean: Any) -> None:
    formula = "length(0.1) + gsm8k()"
    put(clean, formula, {"u1": ["a #### 4", "a b #### 4", "c"]})
    put(clean, formula, {"u2": ["a b c d"]}, ground_truth=None)
    batch, metrics = sampler(formula, unscored_limit=0.5).sample(7, "train", 2)
    assert metrics["reward/unscored"] == 0.25
    assert metrics["reward/gsm8k/status/bad_gold"] == 0.25
    assert stored(clean, batch)["u2_0_0"].sum() == 0.0
    put(clean, formula, {"u3": ["a b c d"]}, ground_truth=None)
    with pytest.raises(UnscoredError, match=r"100% of 1 .*gsm8k: 1 BAD_GOLD"):
        sampler(formula).sample(7, "train", 1)


def test_a_response_without_tokens_is_left_out(clean: Any) -> None:
    formula = "length(0.1)"
    put(clean, formula, {"u1": ["a b", "c"]})
    rows = sampler(formula)
    key, empty = "u1_1_0", {"status": "success", "response_len": 0, "global_steps": 7}
    clean.kv_batch_put(keys=[key], partition_id="train", tags=[empty])
    batch, metrics = rows.sample(7, "train", 1)
    assert batch.keys == ["u1_0_0"]
    assert metrics["reward/total/mean"] == pytest.approx(0.2)


def test_a_sampler_without_a_formula_says_where_it_goes() -> None:
    from trainer_glue.verl import ReplayBuffer

    with pytest.raises(CompileError, match="sampler_kwargs.rewardkit"):
        ReplayBuffer(
            trainer_mode="sync",
            trainer_config={},
            max_off_policy_threshold=8,
            max_off_policy_strategy="drop",
            sampler_kwargs={},
            refill_fn=None,
        )


def test_a_judge_of_groups_is_asked_once_about_whole_groups(
    clean: Any, tokenizer_folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rewardkit.terms import asking

    monkeypatch.setattr(asking._process, "asker", None)
    server = Server(ranks_by_length)
    formula = f"gsm8k() + group_judge(model='m', base_url={server.url!r})"
    put(clean, formula, {"u1": ["#### 4", "so #### 4", "b", "It is five."], "u2": ["x", "#### 4"]})
    assert not server.requests, "nobody is asked about a part of a group"
    batch, metrics = sampler(formula, tokenizer_folder).sample(7, "train", 2)
    paid = dict(zip(batch.keys, [float(line.sum()) for line in _scores(clean, batch)], strict=True))
    assert len(server.requests) == 2
    assert paid == pytest.approx(
        {"u1_0_0": 1 + 1 / 3, "u1_1_0": 1 + 2 / 3, "u1_2_0": 0.0, "u1_3_0": 1.0, "u2_0_0": 0.0, "u2_1_0": 2.0}
    )
    assert metrics["reward/group_judge/mean"] == pytest.approx(0.5)
    assert metrics["reward/unscored"] == 0
    server.close()


def _scores(tq: Any, batch: Any) -> list[Any]:
    data = tq.kv_batch_get(keys=batch.keys, partition_id="train", select_fields=["rm_scores"])
    return list(data["rm_scores"].unbind())
