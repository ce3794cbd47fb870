"""`rewardkit train` with verl, Ray and a model that learns: minutes on a laptop."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("verl", reason="needs verl installed: pip install 'rewardkit-rl[verl]'")
pytestmark = pytest.mark.run

TERMS = ("reward/length/mean", "reward/ends_with/mean", "reward/total/std", "reward/length/status/scored")


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    root = Path(__file__).parents[4]
    return subprocess.Popen(
        [sys.executable, "-m", "rewardkit", "train", "tiny", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{root}:{os.environ.get('PYTHONPATH', '')}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def processes_of(run: Path) -> list[str]:
    """What still runs for a run: each of verl's and Ray's processes has the path of its metrics in its environment."""
    command_lines = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if str(run).encode() in (entry / "environ").read_bytes() and int(entry.name) != os.getpid():
                command_lines.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return command_lines


def wait_until_gone(run: Path, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while processes_of(run):
        assert time.monotonic() < deadline, processes_of(run)
        time.sleep(0.2)


def steps_in(run: Path) -> dict[int, dict[str, float]]:
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return {row["step"]: row["data"] for row in rows}


def test_three_steps_from_nothing(tmp_path):
    process = start(tmp_path, "trainer.total_training_steps=3", "trainer.logger=[console,tensorboard]", "--export")
    text, _ = process.communicate(timeout=900)
    print(text)
    assert process.returncode == 0
    run = tmp_path / "runs" / "tiny"
    assert [line.split()[0] for line in text.splitlines() if "/3 " in line] == ["1/3", "2/3", "3/3"]
    assert len(text.splitlines()) < 40, "verl's and Ray's output belongs into the log"
    steps = steps_in(run)
    assert list(steps) == [1, 2, 3]
    for values in steps.values():
        assert not [name for name in TERMS if name not in values]
        total = values["reward/length/mean"] + values["reward/ends_with/mean"]
        assert values["reward/total/mean"] == pytest.approx(total)
        assert values["critic/score/mean"] == pytest.approx(total, abs=1e-4), "what verl was paid"
    assert curves(run / "tensorboard") == {
        name: {step: pytest.approx(values[name]) for step, values in steps.items()} for name in TERMS
    }
    assert list((run / "checkpoints" / "global_step_3" / "actor").glob("model_world_size_1_rank_0.pt"))
    record = json.loads((run / "run.json").read_text())
    assert (record["state"], record["steps"], record["checkpoint"]) == ("finished", 3, "checkpoints/global_step_3")
    assert (run / "rewards.png").read_bytes().startswith(b"\x89PNG")
    assert [p.name for p in tmp_path.iterdir()] == ["runs"], "nothing else in the working folder"
    wait_until_gone(run)
    model = run / "export" / "step_3"
    assert (model / "README.md").read_text().count(record["fingerprint"])
    generated = generate(model, "How many eggs?")
    assert generated.startswith("How many eggs?")
    assert len(generated) > len("How many eggs?")


def curves(folder: Path) -> dict[str, dict[int, float]]:
    """The curves of the terms as TensorBoard shows them."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder))
    events.Reload()
    return {name: {e.step: e.value for e in events.Scalars(name)} for name in TERMS}


def generate(model: Path, prompt: str) -> str:
    """What a model folder makes of a prompt, by what anybody would load it with."""
    from transformers import pipeline

    (answer,) = pipeline("text-generation", model=str(model), device="cpu")(prompt, max_new_tokens=8, min_new_tokens=8)
    return answer["generated_text"]


@pytest.mark.long
def test_a_killed_run_goes_on_and_leaves_no_process(tmp_path):
    arguments = ("trainer.total_training_steps=4", "trainer.save_freq=2")
    run = tmp_path / "runs" / "tiny"
    process = start(tmp_path, *arguments)
    assert process.stdout is not None
    for line in process.stdout:
        print(line, end="")
        if line.split()[:1] == ["3/4"]:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert processes_of(run), "Ray's processes are found while they are there"
    wait_until_gone(run)
    text, _ = (again := start(tmp_path, *arguments)).communicate(timeout=900)
    print(text)
    assert again.returncode == 0
    assert "going on from the checkpoint of step 2" in text
    assert [line.split()[0] for line in text.splitlines() if "/4 " in line] == ["3/4", "4/4"]
    assert list(steps_in(run)) == [1, 2, 3, 4]
    record = json.loads((run / "run.json").read_text())
    assert [a["from_step"] for a in record["attempts"]] == [0, 2]
    assert (record["state"], record["steps"]) == ("finished", 4)
    wait_until_gone(run)
