"""The line a step, in a pipe and on a terminal."""

import io
import math
import re

import pytest
from rich.console import Console

from trainer_glue.verl.launch.metrics import Step
from trainer_glue.verl.launch.progress import Progress, Table, duration, status, time_left


def step(number: int, seconds: float = 4.0, total: float = 0.5, **extra: float) -> Step:
    values = {"reward/total/mean": total, "reward/length/mean": 0.4, "reward/ends_with('.?!')/mean": 0.1}
    return Step(number, {**values, "timing_s/step": seconds, **extra})


def test_values_stand_under_their_names():
    table = Table(step(1), 40)
    header, line = table.header(), table.line(step(7, seconds=12.34), left=61)
    assert header.split() == ["step", "reward", "length", "ends_with('.?!')", "s/step", "left"]
    assert line.split() == ["7/40", "0.5000", "0.4000", "0.1000", "12.3", "1:01"]
    for name, value in zip(header.split(), line.split(), strict=True):
        assert header.index(name) + len(name) == line.index(value) + len(value)


def test_a_share_without_a_score_is_said_and_an_unknown_total_left_out():
    table = Table(step(1), None)
    assert table.line(step(7, **{"reward/unscored": 0.25}), None).endswith("25% unscored")
    assert table.line(step(7), None).split()[0] == "7"


def test_validation_stands_behind_its_step():
    line = Table(step(1), None).line(step(2, **{"val-core/a/acc/mean@1": 0.5, "val-core/b/acc/mean@1": 0.25}), None)
    assert line.endswith("validation 0.3750")


@pytest.mark.parametrize(
    ("times", "total", "expected"),
    [
        ([20.0], 10, 180.0),
        ([20.0, 4.0, 4.0, 4.0, 4.0, 6.0], 10, 16.0),  # the slow first step no longer counts
        ([4.0, math.nan], 4, 8.0),
        ([4.0], None, None),
        ([math.nan], 5, None),
    ],
)
def test_the_time_left_is_that_of_recent_steps(times, total, expected):
    steps = [step(i + 1, seconds=t) for i, t in enumerate(times)]
    assert time_left(steps, total) == expected


@pytest.mark.parametrize(("seconds", "text"), [(7, "0:07"), (59.6, "1:00"), (750, "12:30"), (3723, "1:02:03")])
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_the_status_says_what_is_waited_for():
    assert status([], 3, 65) == "verl is starting, then the first step: 1:05"
    assert status([step(1)], 3, 3) == "step 2: 0:03, about 0:05 left"
    assert status([step(1)], 3, 100) == "step 2: 1:40, about 0:00 left"
    assert status([step(1)], None, 3) == "step 2: 0:03"
    assert status([step(3)], 3, 2) == "all steps are done, verl is closing: 0:02"


def shown(total, steps, **console):
    output = io.StringIO()
    with Progress(Console(file=output, width=40, **console), total) as progress:
        progress.tick()
        for s in steps:
            progress.show(s)
            progress.tick()
    return output.getvalue()


def test_in_a_pipe_each_step_is_one_plain_line_however_wide():
    text = shown(3, [step(1), step(2), step(3)])
    assert len(text.splitlines()) == 4
    assert "\x1b" not in text and "\r" not in text
    assert [line.split()[0] for line in text.splitlines()] == ["step", "1/3", "2/3", "3/3"]


def test_on_a_terminal_a_status_line_runs_below(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    text = shown(3, [step(1)], force_terminal=True)
    assert "1/3" in text and "\x1b[?25l" in text and text.count("\x1b[?25l") == text.count("\x1b[?25h")


def test_no_color_is_heard(monkeypatch):
    colours = re.compile(r"\x1b\[[\d;]*3\d[\d;]*m")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert colours.search(shown(3, [step(1)], force_terminal=True))
    monkeypatch.setenv("NO_COLOR", "1")
    assert not colours.search(shown(3, [step(1)], force_terminal=True))
