"""What a kill during verl's save leaves, and what is made of it."""

import shutil
import zipfile
from pathlib import Path

import pytest

from rewardkit.errors import CheckpointError
from trainer_glue.verl.launch.checkpoints import TRACKER, is_complete, latest, mend


def save(checkpoints: Path, step: int, *, ranks: int = 2, track: bool = True) -> Path:
    """A step as verl leaves it: torch's files are zip archives."""
    folder = checkpoints / f"global_step_{step}"
    (folder / "actor").mkdir(parents=True)
    for kind in ("model", "optim", "extra_state"):
        for rank in range(ranks):
            archive(folder / "actor" / f"{kind}_world_size_{ranks}_rank_{rank}.pt")
    archive(folder / "data.pt")
    if track:
        (checkpoints / TRACKER).write_text(str(step))
    return folder


def archive(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("data.pkl", b"x" * 1000)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-50])


def steps(checkpoints: Path) -> list[str]:
    return sorted(p.name for p in checkpoints.iterdir() if p.is_dir())


def test_a_run_without_checkpoints_starts_from_nothing(tmp_path):
    assert mend(tmp_path / "none").step == 0
    assert (mend(tmp_path).step, latest(tmp_path)) == (0, 0)


def test_complete_checkpoints_are_left_alone(tmp_path):
    save(tmp_path, 5)
    save(tmp_path, 10)
    mended = mend(tmp_path)
    assert (mended.step, mended.notes, steps(tmp_path)) == (10, (), ["global_step_10", "global_step_5"])
    assert latest(tmp_path) == 10


@pytest.mark.parametrize("damage", ["no data.pt", "a rank is missing", "a file is torn", "an empty folder"])
def test_a_half_written_step_goes_and_the_one_before_counts(tmp_path, damage):
    save(tmp_path, 5)
    torn = save(tmp_path, 10, track=False)
    if damage == "no data.pt":
        (torn / "data.pt").unlink()
    elif damage == "a rank is missing":
        (torn / "actor" / "optim_world_size_2_rank_1.pt").unlink()
    elif damage == "a file is torn":
        truncate(torn / "actor" / "model_world_size_2_rank_1.pt")
    else:
        shutil.rmtree(torn / "actor")
        (torn / "data.pt").unlink()
    assert not is_complete(torn)
    mended = mend(tmp_path)
    assert mended.step == 5 and "global_step_10" in mended.notes[0]
    assert steps(tmp_path) == ["global_step_5"] and (tmp_path / TRACKER).read_text() == "5"


def test_a_step_killed_before_the_first_checkpoint_was_whole(tmp_path):
    torn = save(tmp_path, 5, track=False)
    (torn / "data.pt").unlink()
    assert mend(tmp_path).step == 0
    assert steps(tmp_path) == []


@pytest.mark.parametrize("text", ["", "1\x00", "five"])
def test_a_torn_tracker_is_written_again(tmp_path, text):
    save(tmp_path, 5)
    save(tmp_path, 10)
    (tmp_path / TRACKER).write_text(text)
    assert latest(tmp_path) == 0
    assert mend(tmp_path).step == 10
    assert (tmp_path / TRACKER).read_text() == "10" and latest(tmp_path) == 10


def test_a_step_that_is_whole_but_untracked_counts_when_the_tracked_one_is_gone(tmp_path):
    shutil.rmtree(save(tmp_path, 5) / "actor")  # verl drops the oldest before it moves the tracker
    (tmp_path / "global_step_5" / "data.pt").unlink()
    save(tmp_path, 10, track=False)
    assert mend(tmp_path).step == 10


def test_a_tracked_step_that_is_gone_with_no_other_is_an_error_not_a_new_start(tmp_path):
    shutil.rmtree(save(tmp_path, 5))
    with pytest.raises(CheckpointError, match="step 5"):
        mend(tmp_path)
    assert (tmp_path / TRACKER).exists()
