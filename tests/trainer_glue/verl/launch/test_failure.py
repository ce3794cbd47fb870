"""The lines of a dead run's log that matter."""

import pytest

from trainer_glue.verl.launch.failure import explain, hint_for

WORKER_ERROR = """\
\x1b[36m(TaskRunnerV1 pid=71)\x1b[0m INFO: all fine
Training Progress:   0%|          | 0/40 [00:00<?, ?it/s]\rTraining Progress:   2%|2         | 1/40 [00:09<06:00]
\x1b[36m(AgentLoopWorkerTQ pid=88)\x1b[0m Traceback (most recent call last):
\x1b[36m(TaskRunnerV1 pid=71)\x1b[0m INFO: between the lines
\x1b[36m(AgentLoopWorkerTQ pid=88)\x1b[0m   File "/site/verl/agent_loop.py", line 10, in run
\x1b[36m(AgentLoopWorkerTQ pid=88)\x1b[0m     score(x)
\x1b[36m(AgentLoopWorkerTQ pid=88)\x1b[0m   File "/home/me/judge.py", line 3, in score
\x1b[36m(AgentLoopWorkerTQ pid=88)\x1b[0m     raise KeyError("gold")
\x1b[36m(AgentLoopWorkerTQ pid=88)\x1b[0m KeyError: 'gold' [repeated 3x across cluster] (Ray deduplicates.)
Error executing job with overrides: []
Traceback (most recent call last):
  File "/site/verl/trainer/main_ppo.py", line 90, in run_ppo
    ray.get(runner.run.remote(config))
ray.exceptions.RayTaskError(RuntimeError): ray::TaskRunnerV1.run() (pid=71, ip=10.0.0.1)
  File "/site/verl/trainer/base.py", line 77, in fit
    raise RuntimeError("no materializable trajectories")
RuntimeError: no materializable trajectories

Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.
"""


def test_the_first_error_comes_first_and_then_what_ended_the_run():
    lines = explain(WORKER_ERROR)
    assert lines[0] == "AgentLoopWorkerTQ pid=88: Traceback (most recent call last):"
    assert lines[5] == "KeyError: 'gold'"
    assert '  File "/home/me/judge.py", line 3, in score' in lines
    after = lines[lines.index("what ended the run:") :]
    assert '  File "/site/verl/trainer/base.py", line 77, in fit' in after
    assert after[-1] == "RuntimeError: no materializable trajectories"
    assert not [line for line in lines if "between the lines" in line or "\x1b" in line or "Progress" in line]


def test_an_error_alone_is_said_once():
    log = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nmy.pkg.OddError: it broke\nbye\n'
    assert explain(log) == log.splitlines()[:-1]


def test_long_traces_keep_the_frames_next_to_the_error():
    frames = "".join(f'  File "f{i}.py", line 1, in f\n    call()\n' for i in range(30))
    lines = explain(f"Traceback (most recent call last):\n{frames}ValueError: deep\n")
    assert len(lines) == 11 and lines[1] == "  ..."
    assert lines[-3] == '  File "f29.py", line 1, in f'


def test_of_a_chain_the_cause_comes_first():
    log = (
        'Traceback (most recent call last):\n  File "a.py", line 1\nOSError: no file\n\n'
        "The above exception was the direct cause of the following exception:\n\n"
        'Traceback (most recent call last):\n  File "b.py", line 1\nRuntimeError: no model\n'
    )
    lines = explain(log)
    assert lines.index("OSError: no file") < lines.index("RuntimeError: no model")


def test_without_a_traceback_the_last_lines_are_shown():
    log = "".join(f"line {i}\n\n" for i in range(100))
    assert explain(log) == [f"line {i}" for i in range(85, 100)]
    assert explain("") == []


@pytest.mark.parametrize(
    ("log", "word"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "micro_batch"),
        ("ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.", "memory was full"),
        ("OSError: [Errno 28] No space left on device", "disk"),
        ("Unauthenticated: RPC error: InvalidAuthToken: Authentication token is missing", "RAY_AUTH_MODE=token"),
    ],
)
def test_known_causes_have_a_hint(log, word):
    assert word in hint_for(log)


def test_an_unknown_cause_has_none():
    assert hint_for(WORKER_ERROR) is None
