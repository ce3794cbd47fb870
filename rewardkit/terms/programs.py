"""Programs as answers: whether they pass their tests. How tests are read and run: :mod:`rewardkit.unit_tests`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, Field, ValidationInfo

from rewardkit.algebra.define import term
from rewardkit.algebra.term import Params
from rewardkit.algebra.values import TermColumn
from rewardkit.batch import Batch
from rewardkit.processes.budget import current_budget
from rewardkit.programs.limits import Limits
from rewardkit.programs.sandbox import Sandbox, choose
from rewardkit.terms.remote_sandboxes import checked_address, remote_sandbox
from rewardkit.unit_tests.cases import Rules
from rewardkit.unit_tests.compare import TextRule
from rewardkit.unit_tests.grade import Pay, grade_programs

Isolation = Literal["auto", "landlock", "bubblewrap", "rlimits"]


def _checked_url(url: str, info: ValidationInfo) -> str:
    if info.data.get("p_isolation", "auto") != "auto" or info.data.get(
        "p_packages"
    ):  # as the model of parameters has it
        raise ValueError("programs run there; `isolation` and `packages` are for this machine")
    return checked_address(url, wanted_by="code_tests")


SandboxUrl = Annotated[str, Field(pattern=r"^https?://[^\s/]+"), AfterValidator(_checked_url)]


def _pays_all(p: Params) -> bool:
    return bool(p["pay"] == "all")


@term(verdict=_pays_all, needs=("ground_truth",), batched=True, cost="worker")
def code_tests(
    batch: Batch,
    *,
    language: Literal["python"] = "python",
    pay: Pay = "all",
    compare: TextRule = "tokens",
    tolerance: Annotated[float, Field(ge=0, le=1)] = 1e-6,
    fenced: bool = True,
    cpu_seconds: Annotated[float, Field(gt=0, le=600)] = 5.0,
    memory_mb: Annotated[int, Field(ge=128, le=65_536)] = 1024,
    isolation: Isolation = "auto",
    packages: Sequence[str] = (),
    sandbox_url: SandboxUrl | None = None,
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 16,
    rate: Annotated[float, Field(gt=0)] | None = None,
) -> TermColumn:
    """1 where the response's program passes all tests of the ground truth, else 0; or the share that it passes.

    The program is the last closed code block behind the reasoning. It runs in a sandbox: no network, no files but its
    own, no other processes. It is given inputs and gives back plain data or text; what is expected never enters its
    process, and is compared outside. A wrong result, an exception and a syntax error are plain failures of a test.
    Without a code block a row is NO_ANSWER. Where a test ran into the time limit it is TIMEOUT, and LIMIT where it ran
    into another; with ``pay='share'`` only where no test was passed. Tests that can't be read are BAD_GOLD; a sandbox
    that fails is ERROR, unscored, never 0.

    With ``pay='all'`` it is a verdict, which ``when`` takes as a condition: ``when(code_tests(), 1 - 0.2 *
    repetition(), 0)``. With ``pay='share'`` it is a number from 0 to 1.

    Source of the task: APPS (Hendrycks et al. 2021, arXiv 2105.09938), HumanEval (Chen et al. 2021, arXiv 2107.03374).

    Args:
        batch: the responses and their tests, in the shapes of :mod:`rewardkit.unit_tests.ground_truth`.
        language: what programs are written in.
        pay: ``all``: the first failure ends a row; ``share``: all tests are run, but none after three that ran into the
            time limit, which count as failed.
        compare: how printed text is compared: ``tokens``, ``lines`` or ``exact``; :func:`rewardkit.unit_tests.compare.
            same_text`. What a row's own `checker` says comes first.
        tolerance: how far a number may lie from an expected decimal fraction, absolutely below 1, else as a share.
            Assertions compare as Python does.
        fenced: whether the program must stand in a code block; False: without one, the whole text is the program.
        cpu_seconds: CPU time of one test.
        memory_mb: memory of one test, the interpreter's included.
        isolation: what keeps programs in: ``landlock``, ``bubblewrap``, or ``rlimits``, which keeps no file and no
            network from them; ``auto``: the first of the first two that this machine has.
        packages: distributions that programs may import, beside the standard library.
        sandbox_url: a sandbox on another machine, which runs the programs in the place of this one: the whole address,
            ``http://HOST:PORT/run_code`` of SandboxFusion or ``http://HOST:PORT/api/v2/execute`` of Piston. It is given
            programs and inputs. Another machine's must be allowed in the environment:
            ``REWARDKIT_ENDPOINTS="http://10.0.0.5:8080"``. What it keeps from programs is its own affair. Temporary
            failures are tried again, four times in all; a sandbox that then still fails is ERROR.
        concurrency: programs that run there at a time.
        rate: requests to it that may begin in a second; None: as many as there are.
    """
    assert batch.ground_truths is not None  # declared as a need
    limits = Limits(cpu_seconds=cpu_seconds, wall_seconds=3 * cpu_seconds + 5, memory_mb=memory_mb)

    def sandbox() -> Sandbox:
        if sandbox_url is None:
            return choose(isolation, packages)
        return remote_sandbox(sandbox_url, size=concurrency, rate=rate, wanted_by="code_tests")

    verdicts = grade_programs(
        batch.responses,
        batch.ground_truths,
        sandbox=sandbox,
        limits=limits,
        pay=pay,
        rules=Rules(compare, tolerance),
        fenced=fenced,
        budget_seconds=current_budget(),
    )
    return TermColumn(
        np.array([v.score.value for v in verdicts], dtype=np.float64),
        np.array([v.score.status for v in verdicts], dtype=np.int8),
        {i: v.score.reason for i, v in enumerate(verdicts) if v.score.reason},
    )
