"""The run's folder: one writer, and files that are whole."""

import subprocess
import sys

import pytest

from rewardkit.errors import ConfigError
from trainer_glue.verl.launch.folder import RunFolder, locked, write_whole

HOLDER = """
import subprocess, sys, time
from pathlib import Path
from trainer_glue.verl.launch.folder import RunFolder, locked
path = Path(sys.argv[1])
with locked(RunFolder(path, path)) as fd:
    if sys.argv[2] == "hand over":
        command = [sys.executable, "-c", "import time; time.sleep(1)"]
        subprocess.Popen(command, pass_fds=(fd,), stdout=subprocess.DEVNULL)
        print("held", flush=True)
    else:
        print("held", flush=True)
        sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path):
    return RunFolder(tmp_path, tmp_path / "checkpoints")


def hold(folder, how):
    command = [sys.executable, "-c", HOLDER, str(folder.path), how]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_run_in_the_folder_is_refused_at_once(folder):
    with hold(folder, "until told") as process:
        with pytest.raises(ConfigError, match="another run"), locked(folder, wait=60):
            pass
        process.stdin.close()
    with locked(folder, wait=0):
        pass


def test_what_a_killed_command_left_is_waited_for(folder):
    process = hold(folder, "hand over")
    process.stdin.close()
    process.stdout.read()
    process.wait()
    with pytest.raises(ConfigError), locked(folder, wait=0):
        pass
    with locked(folder, wait=30):
        pass


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    below = tmp_path / "file" / "run"
    with pytest.raises(ConfigError, match="can't write to"), locked(RunFolder(below, below)):
        pass


def test_a_file_is_replaced_whole_or_left(tmp_path):
    path = tmp_path / "a.json"
    write_whole(path, b"one")
    with pytest.raises(TypeError):
        write_whole(path, "not bytes")
    assert path.read_bytes() == b"one" and [p.name for p in tmp_path.iterdir()] == ["a.json"]
