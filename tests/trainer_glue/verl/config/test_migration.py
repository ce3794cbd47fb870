"""`migrate`: the published recipe, the keys of every older version, and a user's comments, order and layout."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rewardkit.errors import ConfigError
from tests.profiles import examples
from trainer_glue.verl.config import ConfigErrors
from trainer_glue.verl.config.compose import composed
from trainer_glue.verl.config.dead_keys import new_place
from trainer_glue.verl.config.keys import check_keys
from trainer_glue.verl.config.migration import Report, migrate
from trainer_glue.verl.config.migration.edits import Edits, scalar
from trainer_glue.verl.config.recipes import FOLDER, recipe_names
from trainer_glue.verl.config.validation import validate
from trainer_glue.verl.config.written import dig
from trainer_glue.verl.config.yaml_file import Loader, read_yaml
from trainer_glue.verl.versions.installed import find_verl
from trainer_glue.verl.versions.keys import MOVED, OLD_VALUES

WALK_THROUGH = """\
# GRPO for Llama-3, as a walk-through of early verl has it.
data:
  train_files: ~/data/gsm8k/train.parquet
  val_files: ~/data/gsm8k/test.parquet
  chat_template: "llama-3"  # by name
  train_batch_size: 1024
  val_batch_size: 1312
actor_rollout_ref:
  model: {path: org/base-model}
  actor:
    ppo_mini_batch_size: 256
    ppo_micro_batch_size_per_gpu: 1
    # read by nobody
    ppo_max_token_len_per_gpu: 16384
    use_kl_loss: true
    optim:
      lr: 5e-7      # small
      warmup_style: cosine
  rollout:
    name: vllm
    n: 8
    load_format: dummy_dtensor  # weights come later
    tensor_model_parallel_size: 2
  critic: null
  reward_model:
    enable: false

# what pays
reward_manager:
  custom
  custom_reward_class: LengthBonusRewardManager
algorithm:
  adv_estimator: grpo
  kl_ctrl:
    type: fixed
    kl_coef: 0.001
trainer:
  logger: ['console']
  nnodes: 1
  n_gpus_per_node: 8
"""
MIGRATED = """\
# GRPO for Llama-3, as a walk-through of early verl has it.
data:
  train_files: ~/data/gsm8k/train.parquet
  val_files: ~/data/gsm8k/test.parquet
  train_batch_size: 1024
actor_rollout_ref:
  model: {path: org/base-model}
  actor:
    ppo_mini_batch_size: 256
    ppo_micro_batch_size_per_gpu: 1
    # read by nobody
    use_kl_loss: true
    optim:
      lr: 5e-7      # small
      lr_scheduler_type: cosine
  rollout:
    name: vllm
    n: 8
    load_format: dummy          # weights come later
    tensor_model_parallel_size: 2
    log_prob_micro_batch_size_per_gpu: 1
  ref:
    log_prob_micro_batch_size_per_gpu: 1

# what pays
rewardkit:
  # what LengthBonusRewardManager paid
  reward: length(0.1) + ends_with('.?!', min_words=0)
  chat_template: "llama-3"  # by name
algorithm:
  adv_estimator: grpo
trainer:
  logger: ['console']
  nnodes: 1
  n_gpus_per_node: 8
"""


def migrated(tmp_path: Path, text: str) -> Report:
    path = tmp_path / "old.yaml"
    path.write_text(text)
    return migrate(path)


def kinds(report: Report) -> dict[str, str]:
    return {c.key: c.kind for c in report.changes}


def test_the_walk_through_with_its_invalid_block(tmp_path: Path) -> None:
    assert migrated(tmp_path, WALK_THROUGH).text == MIGRATED


def test_its_report_says_what_became_of_each_key(tmp_path: Path) -> None:
    report = migrated(tmp_path, WALK_THROUGH)
    assert kinds(report) == {
        "reward_manager": "mended",
        **dict.fromkeys(
            (
                "data.val_batch_size",
                "actor_rollout_ref.actor.ppo_max_token_len_per_gpu",
                "actor_rollout_ref.critic",
                "actor_rollout_ref.reward_model.enable",
                "reward_manager.name",
                "reward_manager.custom_reward_class",
                "algorithm.kl_ctrl.type",
                "algorithm.kl_ctrl.kl_coef",
            ),
            "dropped",
        ),
        "data.chat_template": "renamed",
        "actor_rollout_ref.actor.optim.warmup_style": "renamed",
        "actor_rollout_ref.rollout.load_format": "changed",
        **dict.fromkeys(
            (
                "rewardkit.reward",
                "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu",
                "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu",
            ),
            "added",
        ),
        **dict.fromkeys((c.key for c in report.of("kept")), "kept"),
    }
    assert len(report.of("kept")) == 15
    lines = WALK_THROUGH.splitlines()
    for change in report.changes:
        assert change.why or change.kind == "kept"
        if change.line is not None and change.kind != "mended":
            assert change.key.rpartition(".")[2] in lines[change.line - 1] or change.key == "reward_manager.name"


@pytest.mark.usefixtures("verl_here")
def test_what_it_gives_is_valid_and_is_given_again(tmp_path: Path) -> None:
    new = tmp_path / "new.yaml"
    new.write_text(migrated(tmp_path, WALK_THROUGH).text)
    assert validate(new).errors == ()
    assert {f.code for f in validate(new, ask_verl=False).diagnostics} <= {
        "missing-file",
        "not-checked",
        "own-template",
    }
    assert migrate(new).text == new.read_text()


@pytest.mark.parametrize("name", recipe_names())
def test_a_recipe_of_today_stays_as_it_is(name: str, tmp_path: Path) -> None:
    text = (FOLDER / f"{name}.yaml").read_text()
    report = migrated(tmp_path, text)
    without_reward = "rewardkit:" not in text
    assert report.text.startswith(text) if without_reward else report.text == text
    assert {c.kind for c in report.changes} == ({"kept", "added"} if without_reward else {"kept"})


OLD_KEYS = [
    json.loads(line)
    for line in (Path(__file__).parents[3] / "data" / "verl_old_keys.jsonl").read_text().splitlines()
    if line
]


@pytest.mark.parametrize("case", OLD_KEYS, ids=lambda c: f"{c['line']}{' megatron' if c.get('engine') else ''}")
def test_a_key_of_an_older_verl(case: dict[str, Any], tmp_path: Path) -> None:
    key, value = yaml.safe_load(case["line"]).popitem()
    edits = Edits(
        "actor_rollout_ref: {rollout: {n: 4}, actor: {use_dynamic_bsz: true}}\nalgorithm: {adv_estimator: grpo}\n"
    )
    if case.get("engine"):
        edits.add("actor_rollout_ref.actor.strategy", case["engine"])
    edits.add(key, value)
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(edits.text())
    report = migrate(old)
    assert key in {c.key[: len(key)] for c in report.changes if c.kind in ("renamed", "dropped", "changed")}
    assert all(c.why for c in report.changes if c.kind != "kept")
    groups = list(report.groups)
    if value is not None:
        before = check_keys(read_yaml(old).data, composed(find_verl(), report.groups)[1], lambda _: "")
        assert any(f.code == "dead-key" and f"{key}.".startswith(f"{f.key}.") for f in before)
    new.write_text(report.text)
    left = validate(new, groups, reward=None if "rewardkit.reward" in str(case) else "length(0.1)", ask_verl=False)
    assert [f.code for f in left.diagnostics if f.severity == "error" or f.code == "dead-key"] == case.get("left", [])
    data = yaml.load(report.text, Loader)
    if case["becomes"] is None:
        assert key not in Edits(report.text)
    else:
        new_key, new_value = yaml.load(case["becomes"], Loader).popitem()
        assert dig(data, new_key) == new_value
        assert new_key == key or key not in Edits(report.text)


def test_every_entry_of_the_table_has_a_case() -> None:
    keys = [c["line"].partition(": ")[0] for c in OLD_KEYS]
    roles = ("actor_rollout_ref.ref.", "critic.")  # as the actor's
    for moved in MOVED:
        twins = [moved.old, *(moved.old.replace(r, "actor_rollout_ref.actor.", 1) for r in roles)]
        twins += [t.replace("actor_rollout_ref.actor.fsdp.", "actor_rollout_ref.actor.fsdp_config.") for t in twins]
        assert any(k == t or k.startswith(f"{t}.") for k in keys for t in twins), moved.old
    values = {c["line"] for c in OLD_KEYS}
    assert {f"{o.key}: {o.value}" for o in OLD_VALUES} <= values


def test_every_new_place_is_a_key_of_some_engine() -> None:
    verl = find_verl()
    schemas = [composed(verl, groups)[1] for groups in ((), ("model_engine=megatron",), ("model_engine=veomni",))]
    for moved in MOVED:
        for place in moved.new:
            assert any(s.find(place) is not None for s in schemas), place
        if moved.new:
            assert any(new_place(moved, moved.old, s) for s in schemas)


def test_sizes_over_all_gpus_become_sizes_on_each_and_references_follow(tmp_path: Path) -> None:
    text = (
        "actor_rollout_ref:\n  actor: {ppo_micro_batch_size: 64}\n  rollout:\n    name: vllm\n"
        "    log_prob_micro_batch_size: ${actor_rollout_ref.actor.ppo_micro_batch_size}\n"
        "trainer: {n_gpus_per_node: 8, nnodes: 2}\n"
    )
    data = yaml.safe_load(migrated(tmp_path, text).text)["actor_rollout_ref"]
    assert data["actor"] == {"ppo_micro_batch_size_per_gpu": 4}
    assert data["rollout"]["log_prob_micro_batch_size_per_gpu"] == (
        "${actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu}"
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("custom_reward_function: {path: mine.py, name: pay}\n", "what mine.py:pay pays is code"),
        ("reward: {custom_reward_function: {path: mine.py}}\n", "what mine.py:compute_score pays is code"),
        ("reward_model: {reward_manager: prime}\n", "names no reward that is known"),
        ("data: {train_files: a/gsm8k/train.parquet}\n", "gsm8k()"),
        ("reward_manager:\n  custom\n  custom_reward_class: Other\n", "what Other pays is code"),
    ],
)
def test_a_reward_that_is_not_known_is_said_to_be_missing(text: str, says: str, tmp_path: Path) -> None:
    report = migrated(tmp_path, f"{text}algorithm: {{adv_estimator: grpo}}\n")
    (added,) = [c for c in report.of("added") if c.key == "rewardkit.reward"]
    assert added.value is None
    assert says in added.why and "give --reward" in added.why
    new = tmp_path / "new.yaml"
    new.write_text(report.text)
    assert "no-reward" in {f.code for f in validate(new, ask_verl=False).diagnostics}
    assert validate(new, ask_verl=False).errors == ()


def test_a_reward_model_that_is_used_moves_whole(tmp_path: Path) -> None:
    text = (
        "reward_model:\n  enable: true  # judge\n  model:\n    path: org/rm\n  micro_batch_size_per_gpu: 4\n"
        "  rollout: {name: vllm, gpu_memory_utilization: 0.3}\n"
    )
    data = yaml.safe_load(migrated(tmp_path, text).text)
    assert data["reward"] == {
        "reward_model": {
            "enable": True,
            "model_path": "org/rm",
            "rollout": {"name": "vllm", "gpu_memory_utilization": 0.3},
        }
    }
    assert "reward_model" not in data


def test_what_a_user_alone_can_mend_is_left(tmp_path: Path) -> None:
    report = migrated(tmp_path, "data:\n  train_batch_sise: 8\nalgorithm: {adv_estimator: grpo}\n")
    assert kinds(report)["data.train_batch_sise"] == "kept"
    new = tmp_path / "new.yaml"
    new.write_text(report.text)
    assert [f.key for f in validate(new, ask_verl=False).errors] == ["data.train_batch_sise"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("data:\n  a: 1\n  a: 2\n", "is written twice"),
        ("data: [\n", "not valid YAML"),
        ("- 1\n", "expected keys and values"),
        ("# nothing\n", "says nothing"),
        ("data: {val_batch_size: 2, # two\n  seed: 1}\n", "a comment between braces"),
        (
            "critic:\n  model:\n    fsdp_config: &f\n      param_offload: true\n"
            "actor_rollout_ref:\n  actor:\n    fsdp_config: *f\n",
            "anchor",
        ),
    ],
)
def test_a_file_that_can_not_be_rewritten(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises((ConfigErrors, ConfigError), match=says):
        migrated(tmp_path, text)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no file "):
        migrate(tmp_path / "nowhere.yaml")


def test_windows_line_ends_stay(tmp_path: Path) -> None:
    path = tmp_path / "old.yaml"
    path.write_bytes(b"data:\r\n  seed: 1 # one\r\n  val_batch_size: 2\r\nrewardkit: {reward: length(0.1)}\r\n")
    assert migrate(path).text.startswith("data:\r\n  seed: 1 # one\r\nrewardkit:")


def test_values_over_several_lines_and_braces_and_other_indents(tmp_path: Path) -> None:
    text = (
        "data:\n    chat_template: >-\n        llama-3\n    val_batch_size: 2\n    # why so many\n    seed: 1\n"
        "actor_rollout_ref:\n    actor: {use_dynamic_bsz: true,\n"
        "        optim: {warmup_style: cosine}}\n    rollout: {name: vllm}\nrewardkit: {reward: length(0.1)}\n"
    )
    report = migrated(tmp_path, text)
    data = yaml.load(report.text, Loader)
    assert data["data"] == {"seed": 1} and data["rewardkit"]["chat_template"] == "llama-3"
    actor = data["actor_rollout_ref"]["actor"]
    assert actor == {"use_dynamic_bsz": True, "optim": {"lr_scheduler_type": "cosine"}}
    assert "  # why so many\n  seed: 1\n" in report.text


NAMES = st.sampled_from(["alpha", "beta", "gamma", "delta"])
VALUES = st.one_of(
    st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False), st.text("ab'\"#: -{}\n$e1.", max_size=6)
)


@st.composite
def documents(draw: st.DrawFn, depth: int = 0) -> str:
    """A mapping in lines, with comments and blank lines everywhere a user may put them."""
    lines: list[str] = []
    indent = "  " * depth
    for name in draw(st.lists(NAMES, min_size=1, max_size=3, unique=True)):
        if draw(st.booleans()):
            lines.append(f"{indent}# above {name} {draw(st.integers(0, 999))}")
        end = f"  # behind {name} {draw(st.integers(0, 999))}" if draw(st.booleans()) else ""
        kind = draw(st.sampled_from(["value", "value", "section", "list", "braces", "text"]))
        if kind == "section" and depth < 3:
            lines += [f"{indent}{name}:{end}", draw(documents(depth + 1)).rstrip("\n")]
        elif kind == "list":
            lines += [f"{indent}{name}:{end}", f"{indent}- 1  # item", f"{indent}- 2"]
        elif kind == "braces":
            lines.append(f"{indent}{name}: {{x: 1, y: [2, 3]}}{end}")
        elif kind == "text":
            lines += [f"{indent}{name}: |", f"{indent}  # no comment", f"{indent}  line"]
        else:
            lines.append(f"{indent}{name}: {scalar(draw(VALUES))}{end}")
        if draw(st.integers(0, 4)) == 0:
            lines.append("")
    return "\n".join(lines) + "\n"


def comments(text: str) -> list[str]:
    return sorted(re.findall(r"(?:above|behind) \w+ \d+", text))


@settings(examples(2), suppress_health_check=list(HealthCheck))
@given(documents(), st.data())
def test_edits_change_what_they_name_and_nothing_else(text: str, data: st.DataObject) -> None:
    edits = Edits(text)
    assert Edits(text).text() == text, "no edit, no change"
    keys = list(edits)
    chosen = data.draw(st.sampled_from(keys))
    action = data.draw(st.sampled_from(["drop", "rename", "move", "add"]))
    before = copy.deepcopy(edits.data)
    if action == "drop":
        edits.drop(chosen)
    elif action == "rename":
        edits.move(chosen, f"{chosen}_new")
        assert len(edits.text().strip().splitlines()) == len(text.strip().splitlines())
    elif action == "move":
        edits.move(chosen, "other.section.key")
        assert dig(edits.data, "other.section.key") == dig(before, chosen)
    else:
        edits.add(f"{chosen}_more.below", 7)
    after = edits.text()  # compares what it says with the edited data
    assert comments(after) == comments(text)
    if action in ("drop", "rename"):
        lines = iter(text.splitlines())
        kept = [x for x in after.splitlines() if x in text.splitlines() and not x.strip().startswith("#")]
        assert all(any(line == old for old in lines) for line in kept), "in the order that they had"


@given(VALUES)
def test_a_written_value_is_read_back(value: Any) -> None:
    again = yaml.load(f"a: {scalar(value)}\n", Loader)["a"]
    assert again == value and type(again) is type(value)


DAPO = """\
data: {train_files: ~/data/math.parquet, max_response_length: 20480, train_batch_size: 512}
actor_rollout_ref: {rollout: {name: vllm, n: 16}, actor: {use_dynamic_bsz: true}}
algorithm: {adv_estimator: grpo, filter_groups: {enable: true, metric: acc, max_num_gen_batches: 10}}
reward_model:
  reward_manager: dapo
  overlong_buffer: {enable: true, len: 4096, penalty_factor: 1.0, log: false}
"""


@pytest.mark.parametrize(
    ("old", "new", "formula", "metric"),
    [
        ("", "", "when(math_equal(), 1, -1) + overlong(20480, 4096)", "math_equal"),
        ("penalty_factor: 1.0", "penalty_factor: 0.5", "when(math_equal(), 1, -1) + 0.5 * overlong(20480, 4096)", None),
        ("enable: true, len", "enable: false, len", "when(math_equal(), 1, -1)", "math_equal"),
        ("data/math", "data/gsm8k", "gsm8k() + overlong(20480, 4096)", "gsm8k"),
        ("metric: acc", "metric: seq_final_reward", "when(math_equal(), 1, -1) + overlong(20480, 4096)", "reward"),
    ],
)
def test_dapo_s_reward_becomes_a_formula(tmp_path: Path, old: str, new: str, formula: str, metric: str | None) -> None:
    report = migrated(tmp_path, DAPO.replace(old, new, 1))
    config = yaml.safe_load(report.text)
    assert config["rewardkit"]["reward"] == formula
    assert config["algorithm"]["filter_groups"]["metric"] == (metric or "math_equal")
    assert "reward_model" not in config
    why = {c.key: c.why for c in report.changes}["reward_model.overlong_buffer.len"]
    assert why == (
        "it was not enabled"
        if "false, len" in new
        else f"{formula.rpartition(' + ')[2]} in the formula is this penalty"
    )
    written = tmp_path / "new.yaml"
    written.write_text(report.text)
    assert [d for d in validate(written, ask_verl=False).errors if "data" not in d.key] == []


def test_a_penalty_beside_a_reward_that_is_code_is_said(tmp_path: Path) -> None:
    text = DAPO.replace("reward_manager: dapo", "reward_manager: naive") + "custom_reward_function: {path: mine.py}\n"
    report = migrated(tmp_path, text)
    (added,) = [c for c in report.changes if c.key == "rewardkit.reward"]
    assert "mine.py:compute_score" in added.why and "with + overlong(20480, 4096)" in added.why
