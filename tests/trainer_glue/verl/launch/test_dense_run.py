"""What verl's trainer is paid in a real run is the program's own tensor, token by token."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("verl", reason="needs verl installed: pip install 'rewardkit-rl[verl]'")

from rewardkit import Batch, compile, parse
from rewardkit.engine.detokenizer import Decoder

pytestmark = [pytest.mark.run, pytest.mark.long]

ROOT = Path(__file__).parents[4]
FORMULA = "length(0.02, cap=1).spread() + ends_with('.?!', min_words=0).on('[.?!]') + 0.1 * group_zscore(length())"
ARGUMENTS = (
    "trainer.total_training_steps=2",
    "trainer.save_freq=-1",
    "algorithm.adv_estimator=reinforce_plus_plus",
    "data.max_response_length=24",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two steps of the recipe ``tiny`` with a dense, group-relative formula and an estimator that reads tokens."""
    folder = tmp_path_factory.mktemp("dense")
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}",
        "VERL_USE_EXTERNAL_MODULES": "tests.trainer_glue.verl.launch.spy",
        "SPY_FILE": str(folder / "spy.jsonl"),
    }
    command = [sys.executable, "-m", "rewardkit", "train", "tiny", "--reward", FORMULA, *ARGUMENTS]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_trainer_reads_the_program_s_tensor(run: Path) -> None:
    from transformers import AutoTokenizer

    decoder = Decoder(AutoTokenizer.from_pretrained(run / "runs/tiny/assets/model"))
    program = compile(parse(FORMULA))
    steps = [json.loads(line) for line in (run / "spy.jsonl").read_text().splitlines()]
    assert len(steps) == 2
    for number, step in enumerate(steps, start=1):
        expected = tensor(program, decoder, step, number)
        assert np.count_nonzero(expected, axis=1).max() > 1, "some response is paid on more than one token"
        for i, line in enumerate(step["scores"]):
            assert line == pytest.approx(expected[i, : len(line)].tolist(), abs=1e-6)
            assert not expected[i, len(line) :].any()


def test_the_estimator_is_given_what_the_trainer_read(run: Path) -> None:
    for line in (run / "spy.jsonl").read_text().splitlines():
        step = json.loads(line)
        padded = [scores + [0.0] * (len(step["rewards"][0]) - len(scores)) for scores in step["scores"]]
        assert sorted(step["rewards"]) == sorted(padded)


def tensor(program: Any, decoder: Decoder, step: dict[str, Any], number: int) -> np.ndarray:
    """The program's rewards for the responses that the trainer read, shape (n, T)."""
    tokens = [ids[: len(mask)] for ids, mask in zip(step["tokens"], step["mask"], strict=True)]
    batch = Batch(decoder(tokens), groups=step["uid"], tokens=tokens, step=number)
    width = max(map(len, step["mask"]))
    mask = np.asarray([line + [0] * (width - len(line)) for line in step["mask"]], dtype=bool)
    return program(batch).token_rewards(mask, token_ends=lambda i: decoder.token_ends(tokens[i]))
