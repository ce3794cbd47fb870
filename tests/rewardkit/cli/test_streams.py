"""Nothing that a command reads is overwritten, and nothing that it prints goes astray."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rewardkit.cli import run
from tests.rewardkit.cli.conftest import ROOT
from tests.rewardkit.report.dumps import hacked

ROW = json.dumps({"response": "6 * 7 = 42\n#### 42", "ground_truth": "42", "prompt": "6 * 7?"}) + "\n"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
REWARDKIT = f"{sys.executable} -m rewardkit"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "d.jsonl").write_text(ROW * 3)
    (tmp_path / "r.py").write_text("from rewardkit import gsm8k\nreward = gsm8k()\n")
    hacked(tmp_path / "dump")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shell(command: str) -> subprocess.CompletedProcess[str]:
    words = ["bash", "-c", command.replace("rewardkit", REWARDKIT)]
    return subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)


WRITES = (
    ("score r.py d.jsonl --out", ("d.jsonl", "r.py")),
    ("score r.py:reward d.jsonl --out", ("r.py",)),
    ("report dump --html", ("dump/1.jsonl",)),
    ("report dump/1.jsonl --html", ("dump/1.jsonl",)),
    ("report dump --reward r.py --html", ("r.py",)),
    ("audit r.py d.jsonl --html", ("d.jsonl", "r.py")),
    ("config recipes copy tiny --force --to", ("RECIPE",)),
    ("config migrate r.py --force --out", ("r.py",)),
)
SPELLINGS: dict[str, Callable[[Path], Path]] = {
    "itself": lambda path: path,
    "another path": lambda path: path.parent.absolute() / ".." / path.parent.absolute().name / path.name,
    "a link": lambda path: _linked(path, os.symlink),
    "a hard link": lambda path: _linked(path, os.link),
}


def _linked(path: Path, link: Callable[..., None]) -> Path:
    link(path.absolute(), "link")
    return Path("link")


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize(("command", "inputs"), WRITES)
def test_an_input_is_never_an_output(
    command: str, inputs: tuple[str, ...], spelling: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in inputs:
        if name == "RECIPE":
            recipes = pytest.importorskip("trainer_glue.verl.config.recipes")
            path = recipes.recipe("tiny").path
            if spelling == "a hard link":
                continue  # it may be on another file system
        else:
            path = Path(name)
        before = path.read_bytes()
        target = SPELLINGS[spelling](path)
        assert run([*command.split(), str(target)]) == 2
        assert "which is read; expected another file" in capsys.readouterr().err
        assert path.read_bytes() == before
        Path("link").unlink(missing_ok=True)


def test_a_data_set_is_not_written_over_its_source(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    (folder / "q.jsonl").write_text('{"question": "1?", "answer": "#### 1"}\n')
    assert run(["data", "gsm8k", "--from", "q.jsonl", "--out", "set", "--split", "train"]) == 0
    assert run(["data", "gsm8k", "--from", "set/train.parquet", "--out", "set"]) == 2
    assert "would replace set/train.parquet" in capsys.readouterr().err


def test_a_shell_s_own_file_is_an_output_too(folder: Path) -> None:
    done = shell("rewardkit score r.py d.jsonl >> d.jsonl")
    assert done.returncode == 2 and "standard output goes to d.jsonl, which is read" in done.stderr
    assert Path("d.jsonl").read_text() == ROW * 3


NOISY = """import os
from rewardkit import Sample, term
print("LOADING")
@term(bounds=(0, 1))
def noisy(sample: Sample) -> float:
    print("RUNNING")
    os.system("echo STARTING")
    return 1.0
reward = noisy()
"""


def test_what_a_user_prints_goes_to_standard_error(folder: Path) -> None:
    (folder / "noisy.py").write_text(NOISY)
    done = shell("rewardkit score noisy.py d.jsonl")
    assert [json.loads(line)["score"] for line in done.stdout.splitlines()] == [1.0] * 3
    for word in ("LOADING", "RUNNING", "STARTING"):
        assert word in done.stderr
    for command in ("audit noisy.py d.jsonl --json --fail-on never --budget 0", "explain noisy.py --json"):
        assert json.loads(shell(f"rewardkit {command}").stdout)
    said = shell("rewardkit data check d.jsonl --reward noisy.py --json").stdout
    assert [json.loads(line)["code"] for line in said.splitlines()] == ["repeated-row"]


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_rows_reach_standard_output_by_each_of_its_names(name: str, folder: Path) -> None:
    """While a user's code runs its number is standard error's, and the rows once went there."""
    (folder / "noisy.py").write_text(NOISY)
    done = shell(f"rewardkit score noisy.py d.jsonl --out {name} > rows.jsonl")
    assert [json.loads(line)["score"] for line in (folder / "rows.jsonl").read_text().splitlines()] == [1.0] * 3
    assert "RUNNING" in done.stderr and '"score"' not in done.stderr
    assert not (folder / "-").exists()


@pytest.mark.parametrize("command", ["score r.py", "report", "data check --reward gsm8k()"])
def test_a_message_names_no_thousands_of_fields(command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "wide.jsonl").write_text(json.dumps({f"field_{i}": i for i in range(20_000)}) + "\n")
    assert run([*command.split(), "wide.jsonl"]) == 2
    said = capsys.readouterr().err
    assert "`field_19` and 19,980 more" in said and len(said) < 2_000


@pytest.mark.parametrize("end", ["raise SystemExit(0)", "import sys; sys.exit()", "raise GeneratorExit", "1 / 0"])
def test_a_reward_file_that_ends_the_process_is_an_error(
    end: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "ends.py").write_text(f"x = 1\n{end}\n")
    for command in ("score ends.py d.jsonl", "explain ends.py", "audit ends.py d.jsonl", "test ends.py"):
        assert run(command.split()) == 2
        assert "ends.py doesn't load: line 2: " in capsys.readouterr().err


def test_a_function_that_ends_the_process_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "f.py").write_text(
        "import sys\ndef compute_score(data_source, solution_str, ground_truth, extra_info):\n    sys.exit(0)\n"
    )
    assert run(["audit", "f.py", "d.jsonl", "--budget", "0"]) == 2
    assert "f.py:3 called sys.exit(0)" in capsys.readouterr().err


FULL = {
    "rewardkit score r.py big.jsonl > /dev/full": (2, "No space left on device"),
    "rewardkit score r.py d.jsonl > /dev/full": (2, "No space left on device"),
    "rewardkit terms > /dev/full": (2, "No space left on device"),
    "rewardkit report dump --json > /dev/full": (2, "No space left on device"),
    "rewardkit score r.py d.jsonl --out /dev/full": (2, "can't write /dev/full: No space left on device"),
    "rewardkit score r.py d.jsonl >&-": (2, "can't write all to standard output"),
    "rewardkit score r.py big.jsonl | head -1; exit ${PIPESTATUS[0]}": (141, "it was closed"),
    "rewardkit terms --json | { exec <&-; }; exit ${PIPESTATUS[0]}": (141, "it was closed"),
}


@pytest.mark.parametrize("command", FULL)
def test_a_standard_output_that_takes_no_more_is_one_line(command: str, folder: Path) -> None:
    (folder / "big.jsonl").write_text(ROW * 20_000)
    code, words = FULL[command]
    done = shell(command)
    assert done.returncode == code, done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("rewardkit: ")]
    assert len(errors) == 1 and words in errors[0]
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr


def test_a_closed_standard_output_is_not_taken_for_a_file(folder: Path) -> None:
    done = shell("rewardkit score r.py d.jsonl --out o.jsonl >&- 2>&- <&-")
    assert done.returncode == 0 and len(Path("o.jsonl").read_text().splitlines()) == 3


CONTROLS = "\x1b[31mred\x9b2J\x07\ud800"


def test_control_characters_of_data_are_shown_and_not_sent(folder: Path) -> None:
    (folder / "c.jsonl").write_text(json.dumps({CONTROLS: 1, "ground_truth": CONTROLS}) + "\n")
    dump = {"input": CONTROLS, "output": CONTROLS, "score": 1.0, "step": 1, CONTROLS: 1.0, "gts": CONTROLS}
    (folder / "e.jsonl").write_text((json.dumps(dump) + "\n") * 2)
    commands = (
        "rewardkit score r.py c.jsonl",
        "rewardkit score r.py c.jsonl --on-bad-row=skip",
        "rewardkit data check c.jsonl --reward r.py",
        "rewardkit report e.jsonl",
        "rewardkit report e.jsonl --json",
        "rewardkit audit 'exact()' e.jsonl --budget 0",
    )
    for command in commands:
        done = shell(command)
        assert "Traceback" not in done.stderr
        said = done.stdout + done.stderr
        assert "red" in said and not {"\x1b", "\x9b", "\x07"} & set(said), command


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
@pytest.mark.parametrize("command", ["score", "audit"])
def test_a_signal_leaves_no_partial_file(command: str, number: signal.Signals, folder: Path) -> None:
    (folder / "slow.py").write_text(
        "import time\nfrom rewardkit import Sample, term\n@term(bounds=(0, 1))\n"
        "def slow(sample: Sample) -> float:\n    time.sleep(60)\n    return 1.0\nreward = slow()\n"
    )
    before = sorted(folder.iterdir())
    process = start(command, "slow.py", "d.jsonl", "--out" if command == "score" else "--html", "o")
    wait_for(lambda: list(folder.glob("*.partial")))
    process.send_signal(number)
    assert process.wait(timeout=60) == 128 + number
    assert sorted(folder.iterdir()) == before


def test_a_signal_that_is_ignored_stays_so(folder: Path) -> None:
    (folder / "waits.py").write_text(
        "import pathlib, time\nfrom rewardkit import gsm8k\npathlib.Path('begun').touch()\n"
        "while not pathlib.Path('go').exists(): time.sleep(0.01)\nreward = gsm8k()\n"
    )
    process = start("score", "waits.py", "d.jsonl", "--out", "o", before="trap '' HUP; ")
    wait_for(lambda: Path("begun").exists())
    process.send_signal(signal.SIGHUP)
    Path("go").touch()
    assert process.wait(timeout=60) == 0 and Path("o").exists()


def start(*words: str, before: str = "") -> subprocess.Popen[bytes]:
    command = ["bash", "-c", f'{before}exec {REWARDKIT} "$@"', "rewardkit", *words]
    return subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.DEVNULL)


def wait_for(event: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 60
    while not event() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert event()
