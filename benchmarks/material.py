"""The tokenizer and the real solutions that several benchmarks are made of; run by itself it does nothing."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

DATA = Path(os.environ.get("REWARDKIT_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


def parser(description: str | None, *, rounds: int) -> argparse.ArgumentParser:
    """The arguments that say where the material is, and how often to measure."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tokenizer", type=Path, default=DATA / "llama3_tokenizer")
    options.add_argument("--answers", type=Path, default=DATA / "gsm8k_test.jsonl", help="lines with `answer`")
    options.add_argument("--rounds", type=int, default=rounds)
    return options


def load(args: argparse.Namespace) -> tuple[Any, list[str], list[str]]:
    """The tokenizer, the solutions and their ground truths; exits where they are not there."""
    for path in (args.tokenizer, args.answers):
        if not path.exists():
            sys.exit(f"{path} is not there; give --tokenizer DIR and --answers FILE.jsonl (GSM8K's test file)")
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast.from_pretrained(args.tokenizer)
    answers = [json.loads(line)["answer"] for line in args.answers.open(encoding="utf-8")]
    return tokenizer, answers, [answer.rpartition("#### ")[2] for answer in answers]
