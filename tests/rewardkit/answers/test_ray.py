"""Formula grading inside Ray actors: workers start there, serve threads, and end with the actor."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.run

CASES = [
    (r"\boxed{\sin^2 x + \cos^2 x}", "1", 1.0),
    (r"\boxed{\log_2 8}", "3", 1.0),
    (r"\boxed{\sin 2x}", r"\sin x \cos x", 0.0),
    (r"\boxed{9^{9^{9^9}}}", "5", 0.0),
    (r"\boxed{(\sin^2 x + \cos^2 x)(a+b+c+d)^{60}}", "(a+b+c+d)^{60}", 0.0),
]


class Grader:
    """What the actor runs; reads no test module, so that Ray need not ship one."""

    def grade(self, cases: list[tuple[str, str, float]], method: str | None = None) -> tuple[list[float], list[int]]:
        """Values from four threads (or a child process) that must agree, and the pool's process ids."""
        import multiprocessing
        from concurrent.futures import ThreadPoolExecutor

        from rewardkit.answers import grade_math_many, shared_pool

        responses, truths = [r for r, _, _ in cases], [g for _, g, _ in cases]
        if method is not None:
            with multiprocessing.get_context(method).Pool(1) as children:
                grades = children.apply(grade_math_many, (responses, truths), {"cpu_seconds": 0.5})
                return [g.value for g in grades], []
        with ThreadPoolExecutor(4) as threads:
            runs = list(threads.map(lambda _: grade_math_many(responses, truths, cpu_seconds=0.5), range(4)))
        values = [[g.value for g in grades] for grades in runs]
        assert all(v == values[0] for v in values)
        return values[0], shared_pool().processes()


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    module = pytest.importorskip("ray")
    root = str(Path(__file__).resolve().parents[3])
    environment = {"env_vars": {"PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}}
    module.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=environment)
    yield module
    module.shutdown()


def _gone(pids: list[int], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


@pytest.mark.parametrize("method", [None, "fork", "spawn"])
def test_an_actor_grades_from_threads_and_children_and_leaves_no_process(ray: Any, method: str | None) -> None:
    actor = ray.remote(Grader).remote()
    values, pids = ray.get(actor.grade.remote(CASES, method), timeout=120)
    assert values == [expected for _, _, expected in CASES]
    assert bool(pids) == (method is None)
    ray.kill(actor)  # as a trainer's failure would end it: no atexit, no cleanup
    assert _gone(pids)
