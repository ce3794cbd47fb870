"""`rewardkit rewards` as a user runs it."""

from __future__ import annotations

import json

from rewardkit.cli import run
from rewardkit.engine.loading import load_reward, ready_made


def test_it_lists_every_ready_made_reward_with_its_formula_and_purpose(rewardkit):
    done = rewardkit("rewards")
    assert done.returncode == 0 and not done.stderr and "\x1b" not in done.stdout
    lines = done.stdout.splitlines()
    for name, path in ready_made().items():
        at = lines.index(name)
        assert lines[at + 1].strip() == load_reward(name).formula
        assert lines[at + 2].strip().replace("`", "") in path.read_text().replace("`", "")


def test_json(capsys):
    assert run(["rewards", "--json"]) == 0
    listed = {r["name"]: r for r in json.loads(capsys.readouterr().out)}
    assert set(listed) == set(ready_made())
    assert listed["gsm8k"]["fingerprint"] == load_reward("gsm8k()").fingerprint
    assert all(r["summary"] for r in listed.values())


def test_an_argument_is_refused(capsys):
    assert run(["rewards", "gsm8k"]) == 2
    assert not capsys.readouterr().out
