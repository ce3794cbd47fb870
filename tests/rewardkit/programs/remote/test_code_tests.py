"""`code_tests()` at a remote sandbox: the verdicts of this machine's, and no verdict where the sandbox is no good."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rewardkit import Batch, Status, compile, parse
from rewardkit.errors import RewardKitError, UnscoredError
from rewardkit.programs.remote import client
from tests.rewardkit.programs.remote.faults import FAULTS
from tests.rewardkit.programs.remote.servers import serving
from trainer_glue.adapters.trl import RewardFunction

PRINTED = json.dumps({"inputs": ["1 2\n", "3 4\n"], "outputs": ["3\n", "7\n"]})
CALLED = json.dumps({"inputs": ["[1, 2]\n3", "[]\n0"], "outputs": ["[1, 2, 3]", "[0]"], "fn_name": "put"})
ASSERTED = json.dumps(["assert top([1, 5]) == 5", "assert top((2, 1)) == 2"])
HUMAN = json.dumps(
    {
        "test": "def check(candidate):\n    for i in range(3):\n        assert candidate([i, 9 - i]) == 9 - i\n",
        "entry_point": "top",
        "prompt": "def top(xs):\n",
    }
)
ROWS = [
    ("print(sum(map(int, input().split())))", PRINTED, 1.0),
    ("print(3)", PRINTED, 0.0),
    ("import os; os._exit(0)", PRINTED, 0.0),
    ("def put(a, b):\n    a.append(b)\n    return a", CALLED, 1.0),
    ("class Same(list):\n    __eq__ = lambda *_: True\ndef put(a, b): return Same()", CALLED, 0.0),
    ("def top(xs): return max(xs)", ASSERTED, 1.0),
    ("def top(xs): return xs[1]", ASSERTED, 0.0),
    ("def top(xs): return max(xs)", HUMAN, 1.0),
    ("def top(xs): return xs[0]", HUMAN, 0.0),
    ("import os\ndef top(xs): os._exit(0)", HUMAN, 0.0),
]


def batch() -> Batch:
    return Batch(
        [f"```python\n{program}\n```" for program, _, _ in ROWS], ground_truths=[truth for _, truth, _ in ROWS]
    )


@pytest.mark.parametrize("service", ["SandboxFusion", "Piston"])
def test_the_verdicts_are_those_of_this_machine(service: str) -> None:
    expected = [paid for _, _, paid in ROWS]
    with serving(service) as (url, seen):
        there = compile(f"code_tests(sandbox_url={url!r}, concurrency=2)")(batch())
    assert there.total.tolist() == expected
    assert compile("code_tests()")(batch()).total.tolist() == expected
    assert seen.most <= 2


def test_what_is_expected_does_not_travel_with_a_program() -> None:
    truth = json.dumps({"inputs": ["[1]", "[2]"], "outputs": ['"expected-1"', '"expected-2"'], "fn_name": "f"})
    with serving("SandboxFusion") as (url, seen):
        compile(f"code_tests(sandbox_url={url!r})")(
            Batch(["```python\ndef f(x): return x\n```"], ground_truths=[truth])
        )
    assert seen.bodies and not any("expected-" in body for body in seen.bodies)


@pytest.mark.parametrize(
    "fault", ["dies", "503", "web page", "empty object", "half an answer", "output cut", "another's"]
)
def test_a_sandbox_that_is_no_good_leaves_every_row_unscored(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.01)
    break_it, words = FAULTS[fault]
    with serving("SandboxFusion", break_it) as (url, _):
        scores = compile(f"1 - code_tests(sandbox_url={url!r})")(batch())
    assert (scores.status == Status.ERROR).all() and np.isnan(scores.total).all()
    reasons = next(iter(scores.reasons.values()))
    assert len(reasons) == len(ROWS) and all(words in why or "not asked" in why for why in reasons.values()), reasons


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("code_tests(sandbox_url='http://10.1.2.3/run_code')", "may not ask http://10.1.2.3:80"),
        ("code_tests(sandbox_url='http://localhost/')", "whole address of a sandbox"),
        ("code_tests(sandbox_url='http://localhost/run_code', isolation='rlimits')", "are for this machine"),
        ("code_tests(sandbox_url='http://localhost/run_code', packages=('numpy',))", "are for this machine"),
    ],
)
def test_addresses_that_are_refused(text: str, says: str) -> None:
    with pytest.raises(RewardKitError, match=says.replace("(", "\\(")):
        parse(text)


def test_the_run_is_stopped_by_its_unscored_share(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.01)
    with serving("Piston", FAULTS["503"][0]) as (url, _):
        reward = RewardFunction(f"code_tests(sandbox_url={url!r})")
        with pytest.raises(UnscoredError, match="100% of 10 responses") as raised:
            reward(
                prompts=["?"] * len(ROWS),
                completions=list(batch().responses),
                ground_truth=[truth for _, truth, _ in ROWS],
            )
    assert "answered 503" in str(raised.value) + capsys.readouterr().err
