"""The model card."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from trainer_glue.checkpoint import convert

from .conftest import Made

RUN = {
    "formula": "gsm8k() - 0.1 * repetition(n=4)",
    "fingerprint": "rk1:abcdef",
    "versions": {"verl": "0.9.1", "torch": "2.11"},
    "seed": 7,
    "config": {"actor_rollout_ref": {"model": {"path": "meta-llama/Llama-3 | x"}}},
}
CASE = "fsdp2:untied:fp32:2"


def test_card_of_a_run(copy: Callable[[str], Made], tmp_path: Path) -> None:
    from huggingface_hub import ModelCard

    made = copy(CASE)
    (made.run / "run.json").write_text(json.dumps(RUN))
    (made.run / "rewards.png").write_bytes(b"\x89PNG")
    convert(made.run, tmp_path / "my-model")
    text = (tmp_path / "my-model" / "README.md").read_text()
    card = ModelCard(text)
    assert card.data.library_name == "transformers"
    assert card.data.base_model == "meta-llama/Llama-3 | x"
    assert "```python\ngsm8k() - 0.1 * repetition(n=4)\n```" in text
    for row in ("| reward fingerprint | rk1:abcdef |", "| step | 7 |", "| seed | 7 |", "| verl | 0.9.1 |"):
        assert row in text
    assert "| base model | meta-llama/Llama-3 \\| x |" in text
    assert "![Reward over training steps](rewards.png)" in text
    assert (tmp_path / "my-model" / "rewards.png").read_bytes() == b"\x89PNG"


def test_formula_with_a_fence_and_no_curve(copy: Callable[[str], Made], tmp_path: Path) -> None:
    made = copy("fsdp2:lora:fp32:2")
    (made.run / "run.json").write_text(json.dumps({"formula": "matches('```')"}))
    convert(made.run, tmp_path / "out")
    text = (tmp_path / "out" / "README.md").read_text()
    assert "````python\nmatches('```')\n````" in text
    assert "rewards.png" not in text
    assert "None" not in text
    assert 'library_name: "peft"' in text


def test_no_card_without_a_run(made: Callable[[str], Made], tmp_path: Path) -> None:
    convert(made(CASE).run, tmp_path / "out")
    assert not (tmp_path / "out" / "README.md").exists()
