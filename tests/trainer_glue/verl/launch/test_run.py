"""A run from start to end, to death, and on again, with a stand-in for verl's process: the rest is the real thing."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from rewardkit.errors import ConfigError, RunError
from trainer_glue.verl.launch.plan import Plan, make_plan
from trainer_glue.verl.launch.run import Run, Terminated

pytest.importorskip("verl", reason="needs verl installed: pip install 'rewardkit-rl[verl]'")

VERL = textwrap.dedent(
    """
    # Trains as verl does, seen from outside: goes on from the tracker, logs a line a step, saves, may die.
    import json, os, sys, time, zipfile
    from pathlib import Path

    checkpoints, total, save_every, dies_at, waits_at, fills_at = Path(sys.argv[1]), *map(int, sys.argv[2:7])
    tracker = checkpoints / "latest_checkpointed_iteration.txt"
    step = int(tracker.read_text()) if tracker.exists() else 0
    print(f"Total training steps: {total}", flush=True)
    with open(os.environ["VERL_FILE_LOGGER_PATH"], "w") as log:
        while step < total:
            step += 1
            if step == dies_at:
                raise MemoryError("the stand-in is full")
            if step == fills_at:
                (checkpoints / f"global_step_{step}" / "actor").mkdir(parents=True)
                with open(checkpoints / f"global_step_{step}" / "actor" / "model_world_size_1_rank_0.pt", "wb") as file:
                    while True:
                        file.write(b"x" * 4096)
                        file.flush()
            if step == waits_at:
                time.sleep(600)
            if step % save_every == 0 or step == total:
                actor = checkpoints / f"global_step_{step}" / "actor"
                actor.mkdir(parents=True, exist_ok=True)
                for file in (actor / "model_world_size_1_rank_0.pt", actor.parent / "data.pt"):
                    zipfile.ZipFile(file, "w").writestr("x", "x")
                tracker.write_text(str(step))
            mean = {"reward/total/mean": 0.1 * step, "reward/length/mean": 0.1 * step, "response_length/mean": 9.0}
            row = {"step": step, "data": {"training/global_step": step, "timing_s/step": 2.0, **mean}}
            log.write(json.dumps(row) + "\\n")
            log.flush()
    """
)


def plan_in(
    folder: Path,
    *,
    steps: int = 7,
    dies_at: int = 0,
    waits_at: int = 0,
    fills_at: int = 0,
    reward: str = "length(0.1)",
    out: Path | None = None,
) -> Plan:
    script = folder / "verl.py"
    script.write_text(VERL)
    plan = make_plan("tiny", [f"trainer.total_training_steps={steps}"], reward=reward, out=out or folder / "run")
    arguments = (str(plan.folder.checkpoints), *map(str, (steps, 5, dies_at, waits_at, fills_at)))
    verl = replace(plan.verl, argv=(sys.executable, str(script), *arguments))
    return replace(plan, verl=verl, resolved=replace(plan.resolved, assets=None))


def run(plan: Plan) -> str:
    output = io.StringIO()
    try:
        Run(plan, Console(file=output, width=100), ("rewardkit", "train")).run()
    finally:
        print(output.getvalue())
    return output.getvalue()


def numbers(text: str) -> list[str]:
    return [line.split()[0] for line in text.splitlines() if "/7 " in line]


def record(plan: Plan) -> dict:
    return json.loads(plan.folder.record.read_text())


def test_a_run_leaves_its_record_curve_metrics_and_log(tmp_path):
    plan = plan_in(tmp_path)
    text = run(plan)
    assert numbers(text) == [f"{n}/7" for n in range(1, 8)]
    assert "checkpoint" in text and "global_step_7" in text and "+0.6000" in text
    left = {p.name for p in plan.folder.path.iterdir()}
    assert left == {".lock", "checkpoints", "config.yaml", "log.txt", "metrics.jsonl", "rewards.png", "run.json"}
    recorded = record(plan)
    assert (recorded["state"], recorded["steps"], recorded["total_steps"]) == ("finished", 7, 7)
    assert recorded["checkpoint"] == "checkpoints/global_step_7"
    assert recorded["formula"] == "length(0.1)" and recorded["fingerprint"] == plan.resolved.reward.fingerprint
    assert {"python", "rewardkit", "verl", "torch", "ray", "transformers"} <= set(recorded["versions"])
    assert recorded["config"]["trainer"]["total_training_steps"] == 7 and recorded["seed"] == plan.resolved.seed
    (attempt,) = recorded["attempts"]
    assert attempt["state"] == "finished" and attempt["started"] <= attempt["ended"]
    assert "Total training steps: 7" in plan.folder.log.read_text()


def test_a_dead_run_shows_the_cause_and_goes_on_from_its_checkpoint(tmp_path):
    with pytest.raises(RunError) as caught:
        run(plan_in(tmp_path, dies_at=7))
    assert "MemoryError: the stand-in is full" in str(caught.value) and "log.txt" in str(caught.value)
    plan = plan_in(tmp_path)
    assert record(plan)["state"] == "failed" and record(plan)["steps"] == 6
    text = run(plan)
    assert "going on from the checkpoint of step 5" in text and numbers(text) == ["6/7", "7/7"]
    assert "step 1" in text and "step 7" in text, "the table is of the whole run"
    assert [a["from_step"] for a in record(plan)["attempts"]] == [0, 5]
    steps = [json.loads(line)["step"] for line in plan.folder.metrics.read_text().splitlines()]
    assert steps == [1, 2, 3, 4, 5, 6, 7]


@pytest.fixture
def small_disk(tmp_path):
    """A file system of a megabyte."""
    mount = tmp_path / "small"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(mount)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root")
    yield mount
    subprocess.run(["umount", str(mount)], check=True)


def test_a_full_disk_is_one_error_that_says_what_is_left_and_how_to_go_on(tmp_path, small_disk):
    out = small_disk / "run"
    with pytest.raises(RunError) as caught:
        run(plan_in(tmp_path, fills_at=7, out=out))
    text = str(caught.value)
    assert "the disk is full" in text and "goes on from step 5" in text
    again = run(plan_in(tmp_path, out=out))
    assert "going on from the checkpoint of step 5" in again and numbers(again) == ["6/7", "7/7"]


def test_a_disk_that_is_full_from_the_start_leaves_what_was_there(tmp_path, small_disk):
    out = small_disk / "run"
    with pytest.raises(RunError):
        run(plan_in(tmp_path, dies_at=7, out=out))
    half = out / "checkpoints" / "global_step_6" / "actor"
    half.mkdir(parents=True)
    filler = small_disk / "other"
    with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
        while True:
            file.write(b"x" * 4096)
    with pytest.raises(RunError) as caught:
        run(plan_in(tmp_path, out=out))
    assert "the disk is full" in str(caught.value) and "goes on from step 5" in str(caught.value)
    filler.unlink()
    assert "going on from the checkpoint of step 5" in run(plan_in(tmp_path, out=out))


def test_a_finished_run_is_not_run_again_and_goes_on_when_asked_for_more(tmp_path):
    run(plan_in(tmp_path, steps=5))
    text = run(plan_in(tmp_path, steps=5))
    assert "all of its 5 steps are done" in text and "checkpoint" in text
    plan = plan_in(tmp_path, steps=7)
    assert numbers(run(plan)) == ["6/7", "7/7"]
    assert len(record(plan)["attempts"]) == 2


def test_a_run_killed_after_its_last_save_is_finished(tmp_path):
    plan = plan_in(tmp_path, steps=5)
    run(plan)
    plan.folder.record.write_text(plan.folder.record.read_text().replace('"state": "finished"', '"state": "running"'))
    lines = plan.folder.metrics.read_text().splitlines(keepends=True)
    plan.folder.metrics.write_text("".join(lines[:-1]))  # verl saves a step before it logs it
    assert "all of its 5 steps are done" in run(plan_in(tmp_path, steps=5))
    assert (record(plan)["state"], record(plan)["steps"]) == ("finished", 5)
    assert [a["state"] for a in record(plan)["attempts"]] == ["finished"]


def test_a_run_that_is_not_to_resume_does_not_say_so(tmp_path):
    def again(plan: Plan) -> Plan:
        config = {**plan.resolved.config, "trainer": {**plan.resolved.config["trainer"], "resume_mode": "disable"}}
        return replace(plan, resolved=replace(plan.resolved, config=config))

    run(plan_in(tmp_path, steps=5))
    text = run(again(plan_in(tmp_path, steps=7)))
    assert "going on" not in text
    assert [a["from_step"] for a in record(plan_in(tmp_path))["attempts"]] == [0, 0]


def test_another_reward_or_setting_is_refused_and_named(tmp_path):
    run(plan_in(tmp_path))
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "run").rglob("*")}
    with pytest.raises(ConfigError, match=r"the reward: was 'length\(0\.1\)', now 'length\(0\.2\)'"):
        plan_in(tmp_path, reward="length(0.2)")
    with pytest.raises(ConfigError, match=r"rollout\.n: was 8, now 4") as caught:
        make_plan("tiny", ["rollout.n=4", "trainer.total_training_steps=7"], reward="length(0.1)", out=tmp_path / "run")
    assert "--out" in caught.value.hint
    assert before == {p: p.stat().st_mtime_ns for p in (tmp_path / "run").rglob("*")}


def test_a_run_under_other_versions_goes_on_with_a_warning(tmp_path):
    run(plan_in(tmp_path, steps=5))
    path = tmp_path / "run" / "run.json"
    path.write_text(path.read_text().replace('"verl": "', '"verl": "0.0.'))
    text = run(plan_in(tmp_path))
    assert "warning: this run began with verl 0.0." in text and numbers(text) == ["6/7", "7/7"]


def test_the_steps_of_a_run_by_epochs_are_read_from_its_log(tmp_path):
    plan = plan_in(tmp_path)
    config = {**plan.resolved.config, "trainer": {**plan.resolved.config["trainer"], "total_training_steps": None}}
    text = run(replace(plan, resolved=replace(plan.resolved, config=config)))
    assert numbers(text)[-1] == "7/7"


def test_a_killed_verl_is_said_to_be_killed(tmp_path):
    plan = plan_in(tmp_path)
    kill = "import os, signal; print('last words', flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    with pytest.raises(RunError, match=r"137[\s\S]*last words[\s\S]*memory"):
        run(replace(plan, verl=replace(plan.verl, argv=(sys.executable, "-c", kill))))


def test_a_moved_run_goes_on(tmp_path):
    (tmp_path / "a").mkdir()
    run(plan_in(tmp_path / "a", steps=5))
    (tmp_path / "a").rename(tmp_path / "b")
    assert "from the checkpoint of step 5" in run(plan_in(tmp_path / "b", steps=7))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_it_with_the_record_closed(tmp_path, number):
    # As in a terminal: a shell that starts pytest in the background, or nohup, would have it ignored.
    signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    plan = plan_in(tmp_path, waits_at=7)
    script = f"""
import sys, time, threading, os, signal
from pathlib import Path
metrics = Path({str(plan.folder.live_metrics)!r})
while not metrics.exists() or '"step": 6' not in metrics.read_text():
    time.sleep(0.05)
time.sleep(0.5)
os.kill({os.getpid()}, {int(number)})
"""
    with subprocess.Popen([sys.executable, "-c", script]) as killer, pytest.raises((KeyboardInterrupt, Terminated)):
        run(plan)
    assert killer.returncode == 0
    assert record(plan)["state"] == "stopped" and record(plan)["steps"] == 6
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_kill_at_step_7_goes_on_from_5_and_leaves_no_process(tmp_path):
    killed = f"""
from pathlib import Path
from tests_run import plan_in, run
run(plan_in(Path({str(tmp_path)!r}), waits_at=7))
"""
    (tmp_path / "tests_run.py").write_text(Path(__file__).read_text())
    process = subprocess.Popen(
        [sys.executable, "-c", killed],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[4]}"},
        start_new_session=True,
    )
    metrics = tmp_path / "run" / ".metrics.live.jsonl"
    deadline = time.monotonic() + 60
    while not metrics.exists() or '"step": 6' not in metrics.read_text():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()

    plan = plan_in(tmp_path)  # waits for the killed run's processes to be gone
    assert record(plan)["state"] == "running"
    text = run(plan)
    assert "going on from the checkpoint of step 5" in text and numbers(text) == ["6/7", "7/7"]
    assert [a["state"] for a in record(plan)["attempts"]] == ["running", "finished"]
    commands = [p.read_bytes() for p in Path("/proc").glob("[0-9]*/cmdline") if p.exists()]
    assert not [c for c in commands if str(tmp_path / "verl.py").encode() in c]


def test_ray_has_a_folder_of_its_own_that_is_gone_afterwards(tmp_path, monkeypatch):
    monkeypatch.delenv("RAY_TMPDIR", raising=False)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    plan = plan_in(tmp_path, steps=1)
    show = "import os, pathlib; p = pathlib.Path(os.environ['RAY_TMPDIR']); print('RAY', p, p.is_dir())"
    run(replace(plan, verl=replace(plan.verl, argv=(sys.executable, "-c", show))))
    _, folder, existed = next(
        line for line in plan.folder.log.read_text().splitlines() if line.startswith("RAY")
    ).split()
    assert existed == "True" and not Path(folder).exists()
    socket = "ray/session_2026-01-01_00-00-00_000000_1234567/sockets/plasma_store"
    assert len(f"{folder}/{socket}") <= 107


def test_a_cluster_that_is_there_keeps_its_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    monkeypatch.delenv("RAY_TMPDIR", raising=False)
    plan = plan_in(tmp_path, steps=1)
    show = "import os; print('RAY', os.environ.get('RAY_TMPDIR'))"
    run(replace(plan, verl=replace(plan.verl, argv=(sys.executable, "-c", show))))
    assert "RAY None" in plan.folder.log.read_text()


def test_a_cluster_is_told_what_its_processes_cannot_inherit(tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    plan = plan_in(tmp_path, steps=1)
    ray_init = plan.verl.config["ray_kwargs"]["ray_init"]
    told = ray_init["runtime_env"]["env_vars"]
    assert told["VERL_FILE_LOGGER_PATH"] == str(plan.folder.live_metrics)
    assert "trainer_glue.verl.cpu.plugin" in told["VERL_USE_EXTERNAL_MODULES"]
    assert not {"num_cpus", "num_gpus"} & set(ray_init), "Ray refuses them where it joins"
    monkeypatch.delenv("RAY_ADDRESS")
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    alone = plan_in(tmp_path, steps=1).verl.config["ray_kwargs"]["ray_init"]
    assert "env_vars" not in alone["runtime_env"] and "num_cpus" in alone


def test_an_export_of_a_run_that_saves_nothing_is_refused_before_it_starts(tmp_path):
    plan = make_plan("tiny", ["trainer.save_freq=-1"], reward="length(0.1)", out=tmp_path / "run")
    with pytest.raises(ConfigError, match=r"save_freq=-1 saves none"):
        Run(plan, Console(file=io.StringIO()), ("rewardkit", "train"), exports=True).run()
    assert not (tmp_path / "run").exists()
