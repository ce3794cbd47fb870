"""Launch scripts as people post them, and configs of other trainers."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("verl")

from rewardkit.cli import run
from rewardkit.errors import ConfigError
from trainer_glue.verl.config.migration import migrate
from trainer_glue.verl.config.migration.script import Script, read_script
from trainer_glue.verl.config.recipes import FOLDER, recipe_names
from trainer_glue.verl.config.yaml_file import is_script
from trainer_glue.verl.versions.installed import find_verl

MAIN = "python3 -m verl.trainer.main_ppo "


def read(text: str) -> Script:
    return read_script(text, Path("run.sh"), find_verl().config)


def value(argument: str, before: str = "") -> object:
    """What `data.x` is in a script with one argument."""
    return yaml.safe_load(read(f"{before}\n{MAIN}data.x={argument}\n").text)["data"]["x"]


@pytest.mark.parametrize(
    ("argument", "before", "expected"),
    [
        ("1e-6", "", 1e-6),
        ("True", "", True),
        ("null", "", None),
        ('\'["console","wandb"]\'', "", ["console", "wandb"]),
        ("\"['a.parquet', 'b.parquet']\"", "", ["a.parquet", "b.parquet"]),
        ('"a b"', "", "a b"),
        (r"a\ b", "", "a b"),
        ("$N", "N=16", 16),
        ("${N}", "export N=16", 16),
        ('"$N"/x', "N='a b'", "a b/x"),
        ("'$N'", "N=16", "$N"),
        ("${N:-7}", "", 7),
        ("${N:-7}", "N=8", 8),
        ('${P:-"${H:-/data}/m"}', "", "/data/m"),
        ("$((A + 2 * (B - 1)))", "A=1\nB=4", 7),
        ("$(($A * 1024))", "A=2", 2048),
        ("$HOME/x", "", "${oc.env:HOME}/x"),
        ("1", "N=1 # one\n# N=2\nset -x", 1),
    ],
)
def test_a_value_and_the_variables_before_it(argument: str, before: str, expected: object) -> None:
    assert value(argument, before) == expected


def test_lines_comments_and_what_a_file_can_not_say() -> None:
    script = read(
        "set -x\n"
        + "ray job submit --no-wait -- python3 -m recipe.dapo.main_dapo --config-name=x.yaml \\\n"
        + "    data.a=1 \\\n"
        + "    # data.b=2 \\\n"
        + "\tdata.a=3 \\\n"
        + "    ~critic.model +algorithm.c='x  y' $@ 2>&1 | tee data.log=1\n"
        + "python3 -m verl.trainer.main_ppo data.other=1\n"
    )
    assert yaml.safe_load(script.text) == {"data": {"a": 3}, "algorithm": {"c": "x  y"}}
    assert script.lines == {"data.a": 5, "algorithm.c": 6}
    said = "\n".join(script.notes)
    for part in ("line 2: --config-name=x.yaml", "line 6: give the run ~critic.model", "line 6: $@"):
        assert part in said
    assert "tee" not in said


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("data.x='1\n", "run.sh:1: a quote ' never ends"),
        ("data.x=$((2 ** 3))", r"can't be worked out"),
        ("data.x=$((1 / 0))", r"can't be worked out"),
        ("data.x=[1,", "run.sh:1: data.x=[1, can't be read"),
        ("data.x=1,2", "gives several values"),
        ("--help", "starts verl without KEY=VALUE"),
        ("data.x=" + "${a:-" * 1500 + "}" * 1500, "nested too deep"),
    ],
)
def test_a_script_that_can_not_be_read(script: str, says: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read(MAIN + script)
    assert says in str(raised.value)


@given(st.text(alphabet="ab=.$'\"\\ \n#{}()-:;+~1", max_size=60))
def test_no_text_does_more_than_be_refused(text: str) -> None:
    with contextlib.suppress(ConfigError):
        read(f"{text}\n{MAIN}data.x=1 {text}\n")


def test_a_script_becomes_a_file_that_is_migrated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, new = tmp_path / "run.sh", tmp_path / "new.yaml"
    script.write_text(f"R=16\n{MAIN}\\\n data.max_response_length=$R \\\n reward_model.reward_manager=naive\n")
    report = migrate(script)
    assert [(c.key, c.line) for c in report.changes if c.line] == [
        ("data.max_response_length", 3),
        ("reward_model.reward_manager", 4),
    ]
    run(["config", "migrate", str(script), "--out", str(new)])
    assert yaml.safe_load(new.read_text())["data"] == {"max_response_length": 16}
    capsys.readouterr()
    assert run(["config", "validate", str(script), "--no-verl"]) == 2
    told = capsys.readouterr()
    assert "1 error, 0 warnings" in told.out and "config migrate" in told.out


FOREIGN = {
    "TRL": "model_name_or_path: m\nlearning_rate: 1.0e-6\nnum_generations: 8\nbeta: 0.04\noutput_dir: out\n",
    "axolotl": "base_model: m\nrl: grpo\ndatasets: []\nsequence_len: 1024\n",
    "ms-swift": "rlhf_type: grpo\nmodel: m\nexternal_plugins: [p.py]\n",
    "LLaMA-Factory": "stage: ppo\nfinetuning_type: lora\ncutoff_len: 1024\n",
    "NeMo-RL": "grpo: {}\npolicy: {}\nloss_fn: {}\ndata: {}\nlogger: {}\n",
    "OpenRLHF": "pretrain: m\nremote_rm_url: http://x\nrollout_batch_size: 8\n",
}


@pytest.mark.parametrize("trainer", FOREIGN)
def test_a_config_of_another_trainer_is_one_error(
    trainer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(FOREIGN[trainer])
    assert run(["config", "validate", str(path), "--no-verl"]) == 2
    told = capsys.readouterr().out
    assert f"is a config of {trainer}'s, not of verl's" in told
    assert "1 error, 0 warnings" in told
    assert run(["config", "migrate", str(path), "--out", str(tmp_path / "new.yaml")]) == 2
    assert f"is a config of {trainer}'s" in capsys.readouterr().err
    assert not (tmp_path / "new.yaml").exists()


def test_verls_own_files_are_never_another_trainers() -> None:
    from trainer_glue.verl.config.compose import composed
    from trainer_glue.verl.config.other_trainers import not_verls
    from trainer_glue.verl.config.yaml_file import read_yaml

    _, schema = composed(find_verl())
    for name in recipe_names():
        file = read_yaml(FOLDER / f"{name}.yaml")
        assert not is_script((FOLDER / f"{name}.yaml").read_text())
        assert not_verls(file, schema) is None
