"""`rewardkit convert`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rewardkit.cli import run
from trainer_glue.checkpoint import convert

from .conftest import Made

Make = Callable[[str], Made]


def test_every_option_reaches_the_converter(made: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = made("fsdp2:lora:fp32:2").run
    arguments = ["--step", "7", "--dtype", "bf16", "--max-shard-size", "30KB", "--merge-lora", "--lora-alpha", "5"]
    assert run(["convert", str(source), str(tmp_path / "a"), *arguments, "--verify", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    expected = convert(
        source,
        tmp_path / "b",
        step=7,
        dtype="bf16",
        max_shard_size="30KB",
        merge_lora=True,
        lora_alpha=5,
        verify_result=True,
    ).as_dict()
    for key in ("out", "seconds"):
        del report[key], expected[key]
    assert report == json.loads(json.dumps(expected))
    assert report["lora"] == {"r": 3, "lora_alpha": 5.0, "merged": True}


def test_critic_and_base(made: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = made("fsdp2:value:fp32:2").run
    base = str(made("fsdp2:untied:fp32:2").actor / "huggingface")
    assert run(["convert", str(source), str(tmp_path / "a"), "--critic", "--base", base]) == 0
    assert "from 2 ranks (fsdp=2)" in capsys.readouterr().out


def test_errors_are_one_message(made: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(made("fsdp2:untied:fp32:2").run)
    assert run(["convert", source, str(tmp_path / "a"), "--step", "8"]) == 2
    assert "steps that are there: 7" in capsys.readouterr().err
    assert run(["convert", source, str(tmp_path / "a"), "--step", "last"]) == 2
    assert run(["convert", source, str(tmp_path / "a"), "--dtype", "int8"]) == 2
    assert "expected one of keep, bf16, fp16, fp32" in capsys.readouterr().err
    assert not (tmp_path / "a").exists()
