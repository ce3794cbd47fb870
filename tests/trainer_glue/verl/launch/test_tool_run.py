"""A real run in which a tool writes a part of every response: what the trainer is paid is for the policy's own text."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("verl", reason="needs verl installed: pip install 'rewardkit-rl[verl]'")

from rewardkit import Batch, Program, compile, parse
from rewardkit.engine.detokenizer import Decoder
from tests.trainer_glue.verl.launch.tool_loop import TOOL, register, turn_score

pytestmark = [pytest.mark.run, pytest.mark.long]

ROOT = Path(__file__).parents[4]
FORMULA = (
    "length(0.02, cap=1).spread() + ends_with('.?!', min_words=0).on('[.?!]') + 0.1 * group_zscore(length())"
    " + 0.2 * column('turn_scores', low=0, high=1, reduce='sum')"
)
ARGUMENTS = (
    "trainer.total_training_steps=2",
    "trainer.save_freq=-1",
    "algorithm.adv_estimator=reinforce_plus_plus",
    "data.max_response_length=32",
)
STEPS = 2


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two steps of the recipe ``tiny`` with a tool in the agent loop and an estimator that reads tokens."""
    folder = tmp_path_factory.mktemp("tool")
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}",
        "VERL_USE_EXTERNAL_MODULES": "tests.trainer_glue.verl.launch.spy",
        "SPY_FILE": str(folder / "spy.jsonl"),
    }
    command = [sys.executable, "-m", "rewardkit", "train", "tiny", "--reward", FORMULA, *ARGUMENTS, *register(folder)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def steps(run: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (run / "spy.jsonl").read_text().splitlines()]
    assert len(lines) == STEPS
    return lines


@pytest.fixture(scope="module")
def decoder(run: Path) -> Decoder:
    from transformers import AutoTokenizer

    return Decoder(AutoTokenizer.from_pretrained(run / "runs/tiny/assets/model"))


def test_the_trainer_reads_the_program_s_rewards_of_the_policy_s_own_text(
    steps: list[dict[str, Any]], decoder: Decoder
) -> None:
    program = compile(parse(FORMULA))
    for number, step in enumerate(steps, start=1):
        expected = rewards(program, decoder, step, number)
        for own, scores, line in zip(step["mask"], step["scores"], expected, strict=True):
            assert (own[0], min(own), own[-1]) == (1, 0, 1), "a tool wrote between two turns of the policy"
            assert scores == pytest.approx(line[: len(scores)].tolist(), abs=1e-6)
            assert not any(score for score, written in zip(scores, own, strict=True) if not written)
        assert np.count_nonzero(expected, axis=1).min() > 1, "every response is paid on more than one token"


def test_the_estimator_is_given_what_the_trainer_read(steps: list[dict[str, Any]]) -> None:
    for step in steps:
        width = len(step["rewards"][0])
        assert sorted(step["rewards"]) == sorted(line + [0.0] * (width - len(line)) for line in step["scores"])


def test_the_environment_s_scores_are_in_the_metrics(run: Path, steps: list[dict[str, Any]], decoder: Decoder) -> None:
    rows = [json.loads(line) for line in (run / "runs/tiny/metrics.jsonl").read_text().splitlines()]
    metrics = {row["step"]: row["data"] for row in rows}
    for number, step in enumerate(steps, start=1):
        scores = [sum(turn_score(stop - start) for start, stop in turns(own)) for own in step["mask"]]
        assert len(set(scores)) > 1
        assert metrics[number]["reward/column/mean"] == pytest.approx(np.mean(scores))
        assert metrics[number]["reward/column/status/scored"] == 1.0
        words = [len(text.split()) for text in scored_texts(decoder, step)]
        assert metrics[number]["reward/length/mean"] == pytest.approx(np.mean([min(0.02 * n, 1) for n in words]))
        assert not [text for text in scored_texts(decoder, step) if TOOL.strip() in text]


def turns(own: list[int]) -> list[tuple[int, int]]:
    """Where the policy's turns stand."""
    spans, start = [], 0
    for written, tokens in itertools.groupby(own):
        stop = start + len(list(tokens))
        spans += [(start, stop)] if written else []
        start = stop
    return spans


def scored_turn(decoder: Decoder, tokens: list[int], own: list[int]) -> tuple[int, int]:
    """Where the policy's last turn stands that says something."""
    spoken = [span for span in turns(own) if decoder([tokens[slice(*span)]])[0].strip()]
    return (spoken or turns(own))[-1]


def scored_texts(decoder: Decoder, step: dict[str, Any]) -> list[str]:
    rows = zip(step["tokens"], step["mask"], strict=True)
    return decoder([tokens[slice(*scored_turn(decoder, tokens, own))] for tokens, own in rows])


def rewards(program: Program, decoder: Decoder, step: dict[str, Any], number: int) -> np.ndarray:
    """The program's rewards for the responses that the trainer read, shape (n, T)."""
    spans = [scored_turn(decoder, *row) for row in zip(step["tokens"], step["mask"], strict=True)]
    tokens = [ids[slice(*span)] for ids, span in zip(step["tokens"], spans, strict=True)]
    infos = [{"turn_scores": [turn_score(stop - start) for start, stop in turns(own)]} for own in step["mask"]]
    batch = Batch(decoder(tokens), groups=step["uid"], tokens=tokens, extra_infos=infos, step=number)
    width = max(map(len, step["mask"]))
    mask = np.asarray([own + [0] * (width - len(own)) for own in step["mask"]], dtype=bool)
    scored = np.zeros_like(mask)
    for row, span in zip(scored, spans, strict=True):
        row[slice(*span)] = True
    return program(batch).token_rewards(mask, token_ends=lambda i: decoder.token_ends(tokens[i]), scored=scored)
