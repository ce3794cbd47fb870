"""`validate`: every planted fault is found under its key, alone and all at once, and by verl where only verl knows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from trainer_glue.verl.config.migration.edits import Edits
from trainer_glue.verl.config.validation import validate

Good = Callable[..., Path]
FAULTS = [
    json.loads(line)
    for line in (Path(__file__).parents[3] / "data" / "config_faults.jsonl").read_text().splitlines()
    if line
]
VERLS = [f for f in FAULTS if f["code"] == "verl"]


def plant(path: Path, *faults: Mapping[str, str]) -> dict[str, int]:
    """Put faults into a good file; the line of each."""
    edits = Edits(path.read_text())
    wanted: dict[str, str] = {}
    for fault in faults:
        key, _, value = fault["line"].partition(": ")
        wanted[key] = value
        if key in edits:
            edits.replace(key, yaml.safe_load(value))
        else:
            edits.add(key, yaml.safe_load(value))
    text = edits.text()
    path.write_text(text)
    again = Edits(text)
    return {fault["key"]: again.line(fault["key"]) or 0 for fault in faults}


@pytest.mark.parametrize("fault", [f for f in FAULTS if f["code"] != "verl"], ids=lambda f: f["line"])
def test_a_planted_fault(fault: dict[str, str], good: Good) -> None:
    path = good()
    line = plant(path, fault)[fault["key"]]
    diagnostics = [f for f in validate(path, ask_verl=False).errors if f.key == fault["key"]]
    assert [f.code for f in diagnostics] == [fault["code"]]
    if fault["code"] in ("unknown-key", "dead-key", "wrong-type"):
        assert diagnostics[0].value
    assert fault["says"] in str(diagnostics[0])
    assert (diagnostics[0].file, diagnostics[0].line) == (str(path), line)


@pytest.mark.usefixtures("verl_here")
def test_forty_faults_are_found_in_one_pass(good: Good) -> None:
    path = good()
    lines = plant(path, *FAULTS)
    by_key = {(f.code, f.key): f for f in validate(path).errors}
    assert {(f["code"], f["key"]) for f in FAULTS} - set(by_key) == set()
    assert {(f.code, f.key): f.line for f in by_key.values() if f.key in lines} == {
        (f["code"], f["key"]): lines[f["key"]] for f in FAULTS
    }
    assert len(FAULTS) >= 40


@pytest.mark.usefixtures("verl_here")
@pytest.mark.parametrize("fault", VERLS, ids=lambda f: f["line"])
def test_what_only_verl_knows(fault: dict[str, str], good: Good) -> None:
    path = good()
    plant(path, fault)
    (diagnostic,) = validate(path).errors
    assert (diagnostic.code, diagnostic.key) == (fault["code"], fault["key"])
    assert fault["says"] in diagnostic.message
    assert validate(path, ask_verl=False).errors == ()


def test_a_good_config(good: Good) -> None:
    validation = validate(good())
    assert (validation.diagnostics, validation.asked_verl) == ((), True)


@pytest.mark.usefixtures("verl_here")
def test_a_fault_is_said_once(good: Good) -> None:
    validation = validate(good(), ["actor.ppo_micro_batch_size_per_gpu=null"])
    assert [(f.code, f.key) for f in validation.errors] == [
        ("micro-batch-size", "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu")
    ]


def test_what_the_command_line_may_bring_is_a_warning() -> None:
    validation = validate("small", ask_verl=False)
    assert validation.errors == ()
    assert {f.code for f in validation.diagnostics} == {"no-reward", "required"}


def test_a_reward_that_is_null_is_none(good: Good) -> None:
    path = good(rewardkit="reward: null")
    assert [f.code for f in validate(path, ask_verl=False).diagnostics] == ["no-reward"]
    assert validate(path, reward="length(0.1, cap=1)", ask_verl=False).diagnostics == ()


@pytest.mark.parametrize(
    ("section", "line", "key"),
    [
        ("actor", "ppo_max_token_len_per_gpu: 9999", "actor_rollout_ref.actor.ppo_max_token_len_per_gpu"),
        ("algorithm", "kl_ctrl: {kl_coef: 0.1}", "algorithm.kl_ctrl.kl_coef"),
        ("actor", "kl_loss_coef: 0.1", "actor_rollout_ref.actor.kl_loss_coef"),
        ("trainer", "resume_from_path: here", "trainer.resume_from_path"),
    ],
)
def test_a_key_that_nothing_reads_is_a_warning(section: str, line: str, key: str, good: Good) -> None:
    (diagnostic,) = validate(good(**{section: line}), ask_verl=False).diagnostics
    assert (diagnostic.severity, diagnostic.code, diagnostic.key) == ("warning", "idle-key", key)
    assert diagnostic.line is not None


def test_a_choice_that_a_plugin_may_have_added_is_left_to_verl(good: Good, monkeypatch: pytest.MonkeyPatch) -> None:
    path = good(algorithm="adv_estimator: mine").with_name("plugged.yaml")
    path.write_text(good().read_text().replace("adv_estimator: grpo", "adv_estimator: mine"))
    assert [f.code for f in validate(path, ask_verl=False).errors] == ["wrong-value"]
    monkeypatch.setenv("VERL_USE_EXTERNAL_MODULES", "mine")
    assert validate(path, ask_verl=False).errors == ()


def test_the_json_has_key_line_value_and_expectation(good: Good) -> None:
    path = good(actor="optim: {lr: fast}", rollout="top_p: 2")
    type_, value = validate(path, ask_verl=False).as_dicts()
    assert (type_["key"], type_["value"], type_["expected"]) == (
        "actor_rollout_ref.actor.optim.lr",
        "'fast'",
        "a number",
    )
    assert (value["value"], value["expected"]) == (2, "more than 0 and at most 1")
    assert value["file"] == str(path)
    assert path.read_text().splitlines()[value["line"] - 1].strip() == "top_p: 2"


def test_neither_verl_nor_the_model_is_needed_for_the_first_part(good: Good, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr("subprocess.Popen", fail)
    before = set(sys.modules)
    validate(good(), ask_verl=False)
    assert not {m for m in set(sys.modules) - before if m.partition(".")[0] in ("verl", "torch", "transformers")}
