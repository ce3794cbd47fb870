"""`rewardkit config` and its subcommands, and what `train` says of a config for an older verl."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from rewardkit import cli

pytest.importorskip("verl", reason="needs verl installed: pip install 'rewardkit-rl[verl]'")

import pyarrow
from pyarrow import parquet

OLD = """\
# mine
data:
  train_files: train.parquet  # here
  val_batch_size: 8
actor_rollout_ref:
  model: {path: org/m}
  rollout: {name: vllm, n: 4, load_format: dummy_dtensor, tensor_model_parallel_size: 1}
reward_manager:
  custom
  custom_reward_class: LengthBonusRewardManager
algorithm: {adv_estimator: grpo}
trainer:
  n_gpus_per_node: 1
"""
DEAD = "data: {train_files: a.parquet}\nray_init: {num_cpus: 8}\ntrainer: {n_gpus_per_node: 1}\n"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs the command line in an empty folder; its exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = cli.run(list(arguments))
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return code, captured.out, captured.err

    return call


def test_schema_lists_settings_by_section(run: Any) -> None:
    code, out, _ = run("config", "schema")
    assert code == 0
    assert "\nactor_rollout_ref.rollout\n" in out
    assert "  n: Responses to each prompt" in out and "default 1" in out
    everything = json.loads(run("config", "schema", "--json")[1])
    assert {"key", "types", "default", "about", "expected", "verl"} <= set(everything[0])
    assert len(everything) > 80


def test_schema_shows_any_key_of_verls(run: Any) -> None:
    code, out, _ = run("config", "schema", "--field", "rollout.n")
    assert (code, out.splitlines()[0]) == (0, "actor_rollout_ref.rollout.n")
    assert "a whole number" in out and "at least 1" in out and "verl says" in out
    code, out, _ = run("config", "schema", "--field", "global_profiler.save_path", "--json")
    assert (code, json.loads(out)["default"]) == (0, "outputs/profile")


def test_schema_of_no_key(run: Any) -> None:
    code, out, err = run("config", "schema", "--field", "trainer.save_frequency")
    assert (code, out) == (2, "")
    assert "did you mean trainer.save_freq?" in err


def test_validate_says_everything_at_once_and_names_migrate(run: Any) -> None:
    Path("c.yaml").write_text(f"{DEAD}data2: 1\n")
    code, out, err = run("config", "validate", "c.yaml", "trainer.total_epochs=x", "--no-verl")
    assert code == 2
    for part in ("c.yaml:2: ray_init: moved", "c.yaml:4: data2", "command line: trainer.total_epochs=x"):
        assert part in out
    assert "rewardkit config migrate c.yaml --out NEW.yaml" in err


def test_validate_as_json(run: Any) -> None:
    Path("c.yaml").write_text("actor_rollout_ref: {rollout: {name: vllm, top_p: 2, n: 1.5}}\n")
    code, out, _ = run("config", "validate", "c.yaml", "--no-verl", "--json")
    printed = json.loads(out)
    assert (code, printed["valid"], printed["asked_verl"]) == (2, False, False)
    (n,) = [f for f in printed["diagnostics"] if f["key"] == "actor_rollout_ref.rollout.n"]
    assert (n["file"], n["line"], n["value"], n["expected"]) == ("c.yaml", 1, "1.5", "a whole number")
    (top_p,) = [f for f in printed["diagnostics"] if f["key"] == "actor_rollout_ref.rollout.top_p"]
    assert (top_p["value"], top_p["expected"]) == (2, "more than 0 and at most 1")


def with_data() -> list[str]:
    """Arguments for data files that are there."""
    row = {
        "prompt": [{"role": "user", "content": "6 * 7?"}],
        "reward_model": {"style": "rule", "ground_truth": "42"},
        "data_source": "openai/gsm8k",
    }
    for name in ("train", "test"):
        parquet.write_table(pyarrow.Table.from_pylist([row] * 1024), f"{name}.parquet")
    return ["data.train_files=train.parquet", "data.val_files=test.parquet"]


def test_validate_of_a_good_one(run: Any) -> None:
    code, out, _ = run("config", "validate", "llama3-8b-gsm8k", "--no-verl")
    assert code == 2 and "train.parquet" in out
    code, out, _ = run("config", "validate", "llama3-8b-gsm8k", "--no-verl", *with_data())
    assert code == 0
    assert out.splitlines()[-1].startswith("llama3-8b-gsm8k: 0 errors")


def test_validate_of_a_block_that_is_no_yaml_names_migrate(run: Any) -> None:
    Path("old.yaml").write_text(OLD)
    code, out, _ = run("config", "validate", "old.yaml", "--no-verl")
    assert code == 2
    assert "old.yaml:10: not valid YAML" in out and "rewardkit config migrate old.yaml" in out


def test_train_refuses_dead_keys_and_names_migrate(run: Any) -> None:
    Path("c.yaml").write_text(DEAD)
    code, out, err = run("train", "c.yaml", "--reward", "length(0.1)", "--dry-run")
    assert (code, out) == (2, "")
    assert "c.yaml:2: ray_init" in err
    assert "hint: rewardkit config migrate c.yaml --out NEW.yaml" in err


def test_migrate_writes_a_valid_file_and_a_report(run: Any) -> None:
    Path("old.yaml").write_text(OLD)
    code, out, _ = run("config", "migrate", "old.yaml", "--out", "new.yaml")
    assert code == 0
    for line in (
        "mended   reward_manager (line 9)",
        "dropped  data.val_batch_size (line 4)",
        "changed  actor_rollout_ref.rollout.load_format (line 7): dummy",
        "added    rewardkit.reward: length(0.1) + ends_with('.?!', min_words=0)",
        "added    actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu: 1",
    ):
        assert line in out
    text = Path("new.yaml").read_text()
    assert text.startswith("# mine\ndata:\n  train_files: train.parquet  # here\nactor_rollout_ref:\n")
    assert sorted(p.name for p in Path().iterdir()) == ["new.yaml", "old.yaml"]
    assert run("config", "validate", "new.yaml", "--no-verl", *with_data())[0] == 0


def test_migrate_never_overwrites_unless_told_to(run: Any) -> None:
    Path("old.yaml").write_text(OLD)
    Path("new.yaml").write_text("mine")
    code, _, err = run("config", "migrate", "old.yaml", "--out", "new.yaml")
    assert code == 2 and "--force" in err and Path("new.yaml").read_text() == "mine"
    assert run("config", "migrate", "old.yaml", "--out", "new.yaml", "--force")[0] == 0
    assert Path("new.yaml").read_text().startswith("# mine\n")
    code, _, err = run("config", "migrate", "old.yaml", "--out", "nowhere/new.yaml")
    assert code == 2 and "no folder nowhere" in err


def test_migrate_as_json_and_with_faults_left(run: Any) -> None:
    Path("old.yaml").write_text("trainer: {n_gpus: 8}\ndata: {val_batch_size: 3}\n")
    code, out, _ = run("config", "migrate", "old.yaml", "--out", "new.yaml", "--json")
    printed = json.loads(out)
    assert code == 2
    assert {"kind": "dropped", "key": "data.val_batch_size", "line": 2} in [
        {k: c[k] for k in ("kind", "key", "line")} for c in printed["changes"]
    ]
    assert printed["counts"]["dropped"] == 1
    assert "trainer.n_gpus" in [f["key"] for f in printed["diagnostics"] if f["severity"] == "error"]


def test_recipes_are_listed_and_copied(run: Any) -> None:
    code, out, _ = run("config", "recipes")
    assert code == 0 and "llama3-8b-gsm8k-2nodes" in out and "two nodes" in out
    names = [r["name"] for r in json.loads(run("config", "recipes", "--json")[1])]
    assert "tiny" in names
    assert run("config", "recipes", "copy", "tiny")[0] == 0
    assert "assets: tiny" in Path("tiny.yaml").read_text()
    assert run("config", "recipes", "copy", "tiny")[0] == 2
    assert run("config", "recipes", "copy", "tiny", "--to", "mine.yaml")[0] == 0
    code, _, err = run("config", "recipes", "copy", "llama")
    assert code == 2 and "llama3-8b-gsm8k" in err


def test_verl_args_are_quoted_one_a_line(run: Any) -> None:
    formula = "length(0.1) + ends_with('.?!')"
    code, out, _ = run("config", "verl-args", formula)
    assert code == 0
    lines = out.splitlines()
    assert all(line.endswith(" \\") for line in lines[:-1]) and not lines[-1].endswith("\\")
    arguments = shlex.split(out.replace(" \\\n", " "))
    printed = json.loads(run("config", "verl-args", formula, "--json")[1])
    assert [a["override"] for a in printed] == arguments
    assert {a["value"] for a in printed if a["key"].endswith(".formula")} == {"length(0.1) + ends_with('.?!')"}
    assert run("config", "verl-args", "lenght(0.1)")[0] == 2


def test_a_dry_run_shows_the_command_without_a_file_too(run: Any) -> None:
    code, out, _ = run("train", "tiny", "--dry-run")
    assert code == 0
    lines = [line.removeprefix("# ") for line in out.splitlines() if line.startswith("#")]
    start = next(i for i, line in enumerate(lines) if line.endswith("python -m verl.trainer.main_ppo \\"))
    assert lines[start + 1].startswith("    ")
    assert "    algorithm.adv_estimator=grpo \\" in lines


def test_the_commands_of_the_page_run(run: Any) -> None:
    page = Path(__file__).parents[3] / "docs" / "configuration.md"
    Path("old.yaml").write_text(OLD)
    blocks = re.findall(r"```console\n(.*?)```", page.read_text(), re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines()]
    assert len(commands) >= 9
    for command in commands:
        arguments = shlex.split(command)[1:]
        if arguments[:2] == ["config", "validate"]:
            arguments += [*with_data(), *([] if "--no-verl" in arguments else ["--no-verl"])]
        code, _, err = run(*arguments)
        assert code == 0, f"{command}: {err}"


def test_the_config_of_the_page_is_valid(run: Any) -> None:
    page = Path(__file__).parents[3] / "docs" / "configuration.md"
    (block,) = re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL)
    Path("page.yaml").write_text(block)
    overrides = ["actor.ppo_mini_batch_size=64", "actor.use_dynamic_bsz=true"]
    assert run("config", "validate", "page.yaml", *overrides, *with_data(), "--no-verl")[0] == 0


def test_the_recipes_of_the_page_are_those_that_there_are(run: Any) -> None:
    page = Path(__file__).parents[3] / "docs" / "configuration.md"
    named = re.findall(r"^\| `([\w-]+)` \|", page.read_text(), re.MULTILINE)
    assert sorted(named) == [r["name"] for r in json.loads(run("config", "recipes", "--json")[1])]
