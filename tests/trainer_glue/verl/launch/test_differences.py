"""When a run in the folder is the same run."""

from pathlib import Path

import pytest

from trainer_glue.verl.launch.differences import differences, portable, refuse

CONFIG = {"trainer": {"total_training_steps": 40, "save_freq": 5}, "data": {"files": ["/runs/a/x"], "empty": {}}}


def changed(**trainer):
    return {**CONFIG, "trainer": {**CONFIG["trainer"], **trainer}}


def test_the_same_config_has_none():
    assert differences(CONFIG, changed()) == []


@pytest.mark.parametrize(("steps", "count"), [(41, 0), (39, 1), (None, 1)])
def test_only_more_steps_are_the_same_run(steps, count):
    assert len(differences(CONFIG, changed(total_training_steps=steps))) == count


def test_a_changed_a_new_and_a_missing_key_are_named():
    now = changed(save_freq=7, new=True)
    del now["data"]
    texts = [str(d) for d in differences(CONFIG, now)]
    assert texts == [
        "trainer.save_freq: was 5, now 7",
        "data.files: was ['/runs/a/x'], now (not set)",
        "data.empty: was {}, now (not set)",
        "trainer.new: was (not set), now True",
    ]


def test_a_folder_that_was_moved_holds_the_same_run():
    moved = {**CONFIG, "data": {"files": ["/runs/b/x"], "empty": {}}}
    assert differences(portable(CONFIG, Path("/runs/a")), portable(moved, Path("/runs/b"))) == []
    assert portable({"p": "/runs/ab/x"}, Path("/runs/a")) == {"p": "/runs/ab/x"}


def test_the_refusal_names_the_first_few_and_the_fix():
    error = refuse(Path("/runs/a"), differences({}, {f"k{i}": "v" * 500 for i in range(20)}))
    assert "/runs/a" in error.message and "k7" in error.message and "k8" not in error.message
    assert "and 12 more" in error.message and "--out" in error.hint
    assert max(len(line) for line in error.message.splitlines()) < 150
