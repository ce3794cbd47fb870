"""The supervisor, with processes that run away as Ray's do: sessions of their own, parents that end early."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from trainer_glue.verl.launch.child import Child

TREE = textwrap.dedent(
    """
    import os, signal, subprocess, sys, time
    from pathlib import Path

    out, ignores_sigterm, code = Path(sys.argv[1]), sys.argv[2] == "stubborn", sys.argv[3]
    if ignores_sigterm:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sleeper = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    daemon = subprocess.Popen([sys.executable, "-c", sleeper], start_new_session=True)
    # A grandchild with an empty environment in a session of its own, whose parent is gone at once.
    middle = (
        "import subprocess as s, sys;"
        "print(s.Popen([sys.executable, '-c', sys.argv[1]], start_new_session=True, env={}, stdout=s.DEVNULL).pid)"
    )
    orphan = subprocess.run([sys.executable, "-c", middle, sleeper], stdout=subprocess.PIPE, text=True).stdout
    (out / "pids.partial").write_text(f"{os.getpid()} {daemon.pid} {orphan}")
    (out / "pids.partial").rename(out / "pids")
    print("the tree is up", flush=True)
    if code != "stay":
        sys.exit(int(code))
    time.sleep(600)
    """
)

PARENT = textwrap.dedent(
    """
    import os, sys, time
    from pathlib import Path
    from trainer_glue.verl.launch.child import Child

    out = Path(sys.argv[1])
    scratch = out / "scratch"
    scratch.mkdir()
    child = Child(
        [sys.executable, str(out / "tree.py"), str(out), sys.argv[2], "stay"],
        environment=dict(os.environ), log=out / "log.txt", scratch=scratch, grace=0.5,
    )
    (out / "supervisor").write_text(str(child.pid))
    time.sleep(600)
    """
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tree.py").write_text(TREE)
    (tmp_path / "parent.py").write_text(PARENT)
    return tmp_path


def wait_for(condition, seconds: float = 15.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def pids_of(tree: Path) -> list[int]:
    assert wait_for((tree / "pids").exists), (tree / "log.txt").read_text()
    pids = [int(text) for text in (tree / "pids").read_text().split()]
    assert len(pids) == 3 and all(is_alive(pid) for pid in pids)
    return pids


def start(tree: Path, kind: str, code: str = "stay", **options) -> Child:
    command = [sys.executable, str(tree / "tree.py"), str(tree), kind, code]
    return Child(command, environment=dict(os.environ), log=tree / "log.txt", grace=0.5, **options)


@pytest.mark.parametrize("kind", ["gentle", "stubborn"])
def test_stopping_ends_the_whole_tree(tree: Path, kind: str) -> None:
    child = start(tree, kind)
    pids = pids_of(tree)
    code = child.stop()
    assert code == 128 + (signal.SIGKILL if kind == "stubborn" else signal.SIGTERM)
    assert not [pid for pid in pids if is_alive(pid)]
    assert "the tree is up" in (tree / "log.txt").read_text()


@pytest.mark.parametrize("code", [0, 3])
def test_what_outlives_the_command_is_ended_and_its_exit_code_kept(tree: Path, code: int) -> None:
    with start(tree, "gentle", str(code)) as child:
        assert child.poll(15) == code
    pids = [int(text) for text in (tree / "pids").read_text().split()]
    assert not [pid for pid in pids if is_alive(pid)]


def test_an_error_in_the_block_ends_the_tree(tree: Path) -> None:
    with pytest.raises(KeyboardInterrupt), start(tree, "stubborn"):
        pids = pids_of(tree)
        raise KeyboardInterrupt
    assert not [pid for pid in pids if is_alive(pid)]


@pytest.mark.parametrize("group", [False, True], ids=["the command", "its process group"])
@pytest.mark.parametrize("kind", ["gentle", "stubborn"])
def test_killing_the_command_ends_the_tree(tree: Path, kind: str, group: bool) -> None:
    parent = subprocess.Popen([sys.executable, str(tree / "parent.py"), str(tree), kind], start_new_session=True)
    try:
        pids = [*pids_of(tree), int((tree / "supervisor").read_text())]
    finally:
        (os.killpg if group else os.kill)(parent.pid, signal.SIGKILL)
        parent.wait()
    assert wait_for(lambda: not [pid for pid in pids if is_alive(pid)]), "something outlived the command"
    assert not (tree / "scratch").exists()


def test_killing_command_and_supervisor_ends_verl(tree: Path) -> None:
    parent = subprocess.Popen([sys.executable, str(tree / "parent.py"), str(tree), "stubborn"], start_new_session=True)
    verl, daemon, orphan = pids_of(tree)
    os.kill(parent.pid, signal.SIGKILL)
    os.kill(int((tree / "supervisor").read_text()), signal.SIGKILL)
    parent.wait()
    gone = wait_for(lambda: not is_alive(verl))
    for pid in (daemon, orphan):  # Ray's daemons follow verl by the same means; these here don't
        os.kill(pid, signal.SIGKILL)
    assert gone


def test_a_command_that_is_over_before_it_is_looked_at() -> None:
    """Its exit code is not lost: a supervisor that waits for it would wait for ever."""
    code = textwrap.dedent(
        """
        import os, subprocess, sys, time

        class Descheduled(subprocess.Popen):
            def __init__(self, *arguments, **options):
                super().__init__(*arguments, **options)
                time.sleep(1.0)

        subprocess.Popen = Descheduled
        from trainer_glue.verl.launch.supervisor import Supervisor

        reading, writing = os.pipe()
        print(Supervisor([sys.executable, "-c", "raise SystemExit(7)"], reading).run())
        """
    )
    root = Path(__file__).parents[4]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["7"], done.stderr
