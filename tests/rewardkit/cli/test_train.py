"""`rewardkit train` up to the start of verl: bad input is refused in seconds, and nothing is written or started."""

import importlib.util

import pytest

from rewardkit.cli.train import split
from rewardkit.errors import ConfigError

yaml = pytest.importorskip("yaml", reason="verl brings it")
pytest.importorskip("verl", reason="needs verl installed: pip install 'rewardkit-rl[verl]'")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], (None, [])),
        (["tiny"], ("tiny", [])),
        (["a.yaml", "k=v", "~x"], ("a.yaml", ["k=v", "~x"])),
        (["k=v", "+l=w"], (None, ["k=v", "+l=w"])),
    ],
)
def test_the_config_comes_first_and_then_its_keys(arguments, expected):
    assert split(arguments) == expected


def test_two_configs_are_refused():
    with pytest.raises(ConfigError, match=r"'b\.yaml' is not key=value"):
        split(["a.yaml", "b.yaml"])


BAD = {
    "an unknown key": (["trainer.sve_freq=5"], ["trainer.sve_freq", "trainer.save_freq"]),
    "an unknown recipe": (["tinny"], ["tinny", "'tiny'"]),
    "a missing config": (["nowhere.yaml"], ["nowhere.yaml"]),
    "a missing data file": (["data.train_files=nowhere.parquet"], ["nowhere.parquet"]),
    "a missing model": (["model.path=./nowhere"], ["nowhere"]),
    "a formula that doesn't parse": (["--reward", "length(0.1"], ["length(0.1"]),
    "an unknown term": (["--reward", "lenght(0.1)"], ["lenght", "'length'"]),
    "a missing reward file": (["--reward", "nowhere.py"], ["nowhere.py"]),
    "an argument that is no key": (["tiny", "oops"], ["oops", "key=value"]),
    "a folder that holds something else": (["--out", "full"], ["full", "letter.txt", "--out"]),
    "a folder that is a file": (["--out", "full/letter.txt"], ["letter.txt"]),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_one_message_and_leaves_nothing(what, tmp_path, rewardkit):
    arguments, words = BAD[what]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    done = rewardkit("train", *arguments)
    assert done.returncode == 2 and not done.stdout, done.stdout + done.stderr
    assert done.stderr.startswith("rewardkit: ") and "Traceback" not in done.stderr
    assert not [word for word in words if word not in done.stderr], done.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_without_verl_it_says_what_to_install(tmp_path, rewardkit, monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name.split(".")[0] == "verl" else real(name, *a)
    )
    done = rewardkit("train")
    assert done.returncode == 2
    assert "verl is not installed" in done.stderr and "rewardkit-rl[verl]" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_dry_run_prints_a_config_that_is_the_runs_and_writes_nothing(tmp_path, rewardkit):
    done = rewardkit("train", "trainer.total_training_steps=7", "--reward", "length(0.5)", "--out", "here", "--dry-run")
    assert done.returncode == 0, done.stderr
    config = yaml.safe_load(done.stdout)
    assert config["trainer"]["total_training_steps"] == 7
    assert config["trainer"]["default_local_dir"] == str(tmp_path / "here" / "checkpoints")
    assert config["trainer"]["logger"] == ["console", "file"]
    assert config["reward"]["reward_kwargs"]["rewardkit"]["formula"] == "length(0.5)"
    assert "verl.trainer.main_ppo --config-path=" + str(tmp_path / "here") in done.stdout
    assert not list(tmp_path.iterdir())


def test_what_a_dry_run_printed_is_a_config_for_the_same_run(tmp_path, rewardkit):
    first = rewardkit("train", "--reward", "length(0.5)", "--out", "here", "--dry-run")
    (tmp_path / "again.yaml").write_text(first.stdout)
    again = rewardkit("train", "again.yaml", "--out", "here", "--dry-run")
    assert again.returncode == 0, again.stderr
    assert yaml.safe_load(again.stdout) == yaml.safe_load(first.stdout)
    assert "warning: " in again.stdout, "the model and the data that it names are not there yet"
