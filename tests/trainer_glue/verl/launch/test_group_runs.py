"""Real runs of GRPO's relatives: the trainer reads the program's rewards, and makes of them what the papers say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("verl", reason="needs verl installed: pip install 'rewardkit-rl[verl]'")

from rewardkit import compile, parse
from rewardkit.comparison.advantages import drgrpo, grpo
from rewardkit.engine.detokenizer import Decoder
from tests.trainer_glue.verl.launch.test_dense_run import ROOT, tensor

pytestmark = [pytest.mark.run, pytest.mark.long]

ENDS = "ends_with('.?!', min_words=0)"
RUNS = {
    "dapo": (f"{ENDS} + 0.2 * group_rank({ENDS})", ["algorithm.filter_groups.enable=true"]),
    "gdpo": (
        f"group_zscore({ENDS}) + 0.5 * group_zscore(length(0.1, cap=1.5))",
        ["algorithm.norm_adv_by_std_in_grpo=false"],
    ),
    "drgrpo": (
        f"length(0.1, cap=1.5) + {ENDS} + when(group_max({ENDS}) < 1, length(0.1, cap=0.5), 0)",
        [
            "algorithm.norm_adv_by_std_in_grpo=false",
            "actor_rollout_ref.actor.loss_agg_mode=seq-mean-token-sum-norm",
        ],
    ),
}
STEPS = 3


@pytest.fixture(scope="module", params=list(RUNS))
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Three steps of the recipe ``tiny``."""
    formula, arguments = RUNS[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}",
        "VERL_USE_EXTERNAL_MODULES": "tests.trainer_glue.verl.launch.spy",
        "SPY_FILE": str(folder / "spy.jsonl"),
        "SPY_ESTIMATOR": "grpo",
    }
    settings = [f"trainer.total_training_steps={STEPS}", "trainer.save_freq=-1", "data.max_response_length=24"]
    command = [sys.executable, "-m", "rewardkit", "train", "tiny", "--reward", formula, *settings, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    return request.param, folder


def test_the_trainer_reads_the_program_token_by_token_and_makes_the_paper_s_advantages(run: tuple[str, Path]) -> None:
    from transformers import AutoTokenizer

    name, folder = run
    decoder = Decoder(AutoTokenizer.from_pretrained(folder / "runs/tiny/assets/model"))
    program = compile(parse(RUNS[name][0]))
    steps = [json.loads(line) for line in (folder / "spy.jsonl").read_text().splitlines()]
    assert len(steps) == STEPS
    for number, step in enumerate(steps, start=1):
        expected = tensor(program, decoder, step, number)
        for i, line in enumerate(step["scores"]):
            assert line == pytest.approx(expected[i, : len(line)].tolist(), abs=1e-6)
        given = np.asarray(step["rewards"]).sum(axis=1)
        assert sorted(given) == pytest.approx(sorted(expected.sum(axis=1)), abs=1e-5)
        codes = np.unique(step["index"], return_inverse=True)[1]
        made = np.asarray(step["advantages"])
        paid = grpo(given, codes) if name == "dapo" else drgrpo(given, codes)
        np.testing.assert_allclose(made[np.arange(len(made)), np.abs(made).argmax(axis=1)], paid, atol=1e-4)
        if name == "gdpo":  # the z-scores of a group sum to nothing, so the advantage is the formula itself
            np.testing.assert_allclose(paid, given, atol=1e-5)
        if name == "dapo":
            assert all(np.ptp(given[codes == code]) > 1e-6 for code in set(codes)), "no group that teaches nothing"


def test_the_log_says_how_many_groups_were_thrown_away(run: tuple[str, Path]) -> None:
    name, folder = run
    log = (folder / "runs/tiny/log.txt").read_text()
    assert ("reward/groups/thrown_away" in log) == (name == "dapo")
