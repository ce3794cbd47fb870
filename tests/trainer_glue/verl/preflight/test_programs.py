"""Where programs run is tried before the run, and what this machine can't hold is said."""

from __future__ import annotations

import pytest

pytest.importorskip("verl", reason="needs verl installed: pip install 'rewardkit-rl[verl]'")

from rewardkit.errors import ConfigError
from rewardkit.programs.breakout import Attempt
from tests.rewardkit.programs.remote.servers import serving
from tests.trainer_glue.verl.preflight.runs import codes, found
from trainer_glue.verl.preflight import programs

FORMULA = "when(code_tests(), 1 - 0.2 * repetition(), 0)"


def test_a_machine_that_holds_programs_has_no_diagnostic() -> None:
    assert codes(reward=FORMULA) == []


def test_limits_alone_are_a_warning_that_names_what_got_through() -> None:
    (one,) = found(reward="code_tests(isolation='rlimits')")
    assert (one.code, one.severity) == ("RKD710", "warning")
    assert "read a file of this machine" in one.message and "programs run in rlimits" in one.message


def test_a_sandbox_with_a_hole_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = [Attempt("read a file", False, "got through"), Attempt("open a socket", True, "raised")]
    monkeypatch.setattr(programs, "break_out", lambda sandbox, quick: attempts)
    (one,) = found(reward=FORMULA)
    assert (one.code, one.severity) == ("RKD710", "error") and "1 of 2 ways out are open: read a file" in one.message


def test_a_machine_without_isolation_is_an_error_unless_the_run_is_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ConfigError("programs can't be shut in on this machine", hint="use a remote sandbox")

    monkeypatch.setattr(programs, "choose", refuse)
    (one,) = found(reward=f"{FORMULA} + 0 * code_tests()")
    assert (one.code, one.severity, one.hint) == ("RKD709", "error", "use a remote sandbox")
    assert codes(reward=FORMULA, present=False) == []
    assert codes(reward="gsm8k()") == []


def test_a_remote_sandbox_is_looked_for() -> None:
    with serving("Piston") as (url, seen):
        formula = f"when(code_tests(sandbox_url={url!r}), 1 - 0.2 * repetition(), 0)"
        assert codes(reward=formula) == []
    assert [f.code for f in found(reward=formula)] == ["RKD706"]
    assert codes(reward=formula, present=False) == []
    assert seen.bodies == []
