"""The batched manager inside the versions of verl that call it so: their own DataProto, their own way to build one.

Only `verl.protocol` and the reward managers of a wheel are loaded; what a whole run of it needs is not installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("verl")

from tests.trainer_glue.verl.tokenizers import byte_tokenizer

pytestmark = pytest.mark.matrix

ROOT = Path(__file__).parents[3]
VERSIONS = ("0.3.0.post1", "0.4.1", "0.5.0", "0.6.1", "0.7.0")
"""The last release of each series that hands whole batches to its manager."""

PROGRAM = """
import json, sys
from pathlib import Path

import numpy as np
import torch
import verl
from transformers import AutoTokenizer
from verl import DataProto
from verl.workers.reward_manager import NaiveRewardManager

from trainer_glue.verl import RewardManager

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
texts = ["one two three.", "", "four #### 4", "a b c d e f g"]
ids = [tokenizer.encode(text, add_special_tokens=False) for text in texts]
prompt = tokenizer.encode("a b c d", add_special_tokens=False)
width, left = max(map(len, ids)), len(prompt)
responses = torch.zeros(4, width, dtype=torch.long)
mask = torch.zeros(4, left + width, dtype=torch.long)
mask[:, :left] = 1
for i, line in enumerate(ids):
    responses[i, : len(line)] = torch.tensor(line, dtype=torch.long)
    mask[i, left : left + len(line)] = 1
column = lambda values: np.array(values, dtype=object)
data = DataProto.from_dict(
    tensors={"responses": responses, "prompts": torch.tensor([prompt] * 4), "attention_mask": mask},
    non_tensors={
        "data_source": column(["openai/gsm8k"] * 4),
        "reward_model": column([{"ground_truth": "4", "style": "rule"}] * 4),
        "uid": column(["a", "a", "b", "b"]),
    },
    meta_info={"global_steps": 3},
)
built = {"tokenizer": tokenizer, "num_examine": 1, "compute_score": None, "reward_fn_key": "data_source"}
ours = RewardManager(**built, reward=sys.argv[2])
found = ours(data, return_dict=True)
naive = NaiveRewardManager(
    tokenizer=tokenizer,
    num_examine=0,
    compute_score=lambda data_source, solution_str, ground_truth, extra_info=None: float(len(solution_str)),
)(data)
print(json.dumps({
    "version": (Path(verl.__file__).parent / "version/version").read_text().strip(),
    "file": verl.__file__,
    "texts": texts,
    "rewards": found["reward_tensor"].tolist(),
    "extra": found["reward_extra_info"],
    "places": (naive != 0).tolist(),
    "dtype": str(found["reward_tensor"].dtype),
}))
"""


@pytest.fixture(scope="module")
def tokenizer_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    byte_tokenizer().save_pretrained(folder)
    return folder


@pytest.mark.parametrize("version", VERSIONS)
def test_the_batched_manager(version: str, tmp_path: Path, tokenizer_folder: Path) -> None:
    wheels = [f"verl=={version}", "setuptools<81"]  # 0.4 imports pkg_resources
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", tmp_path, *wheels], check=True)
    for wheel in tmp_path.glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    formula = "length(0.1) + ends_with('.?!') + gsm8k() + group_rank(length()) - copy_share(n=2)"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tokenizer_folder), formula],
        env={**os.environ, "PYTHONPATH": f"{tmp_path / 'site'}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout.splitlines()[-1])
    assert printed["version"] == version
    assert printed["file"].startswith(str(tmp_path))
    assert "[prompt] a b c d" in done.stdout
    assert printed["dtype"] == "torch.float32"
    assert not any(printed["extra"]["unscored"])
    expected = program_totals(formula, printed["texts"])
    assert [sum(line) for line in printed["rewards"]] == pytest.approx(expected, abs=1e-6)
    placed = [[value != 0 for value in line] for line in printed["rewards"]]
    for text, ours, naive in zip(printed["texts"], placed, printed["places"], strict=True):
        assert ours == naive or not text, "paid where verl's own manager pays"


def program_totals(formula: str, texts: list[str]) -> list[float]:
    from rewardkit import Batch, compile, parse

    batch = Batch(texts, ground_truths=["4"] * 4, prompts=["a b c d"] * 4, groups=["a", "a", "b", "b"])
    totals = compile(parse(formula))(batch).total.tolist()
    return [total if text else 0.0 for total, text in zip(totals, texts, strict=True)]
