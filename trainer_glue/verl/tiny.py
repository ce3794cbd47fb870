"""The tiny recipe's model and data, made locally in seconds: no download, and the same seed gives the same bytes.

The model has the Llama architecture, a byte-level BPE tokenizer and the Llama-3 chat format. A random policy would
never write a sentence that ends, so it gets a few seconds of supervised warm-up on short answers, most of them a few
words without an end mark: a policy that can climb, and has not yet. torch, transformers and tokenizers are imported
lazily.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rewardkit.data.parquet import verl_row, write_parquet
from rewardkit.data.rows import Problem
from trainer_glue.verl.chat_templates import chat_template
from trainer_glue.verl.tiny_corpus import short_answers, word_problems

TRAIN_ROWS: Final = 512
VAL_ROWS: Final = 64
DATA_SOURCE: Final = "rewardkit/word-problems"

_SPECIAL: Final = (
    "<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>",
    "<|finetune_right_pad_id|>",
)  # fmt: skip
_VOCABULARY: Final = 640
_POSITIONS: Final = 1024
_WARM_UP_STEPS: Final = 120
_WARM_UP_BATCH: Final = 32
_WARM_UP_RATE: Final = 3e-3


@dataclass(frozen=True)
class TinyAssets:
    """What :func:`make_tiny` leaves in its folder."""

    model: Path
    train: Path
    val: Path

    @classmethod
    def under(cls, folder: Path) -> TinyAssets:
        """The paths below a folder, whether they exist or not."""
        return cls(folder / "model", folder / "train.parquet", folder / "val.parquet")


def make_tiny(out: Path, seed: int) -> TinyAssets:
    """Make the tiny model and its data in a folder, or find them there from an earlier call.

    The folder appears whole or not at all.

    Args:
        out: the folder; its parents are made.
        seed: same seed, same bytes (on the same versions of torch and tokenizers).

    Raises:
        ImportError: torch, transformers, tokenizers or pyarrow is not installed.
    """
    assets = TinyAssets.under(out)
    if all(p.exists() for p in (assets.model, assets.train, assets.val)):
        return assets
    out.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".partial", dir=out.parent))
    try:
        problems = word_problems(TRAIN_ROWS + VAL_ROWS, seed)
        parts = TinyAssets.under(building)
        write_parquet(
            {
                parts.train: _rows(problems[:TRAIN_ROWS], "train"),
                parts.val: _rows(problems[TRAIN_ROWS:], "test"),
            }
        )
        _make_model(parts.model, problems[:TRAIN_ROWS], seed)
        building.chmod(0o755)
        if out.is_dir() and not any(out.iterdir()):
            out.rmdir()
        building.rename(out)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    return assets


def _rows(problems: Sequence[Problem], split: str) -> list[dict[str, Any]]:
    return [verl_row(p, data_source=DATA_SOURCE, ability="math", split=split, index=i) for i, p in enumerate(problems)]


def _make_model(folder: Path, problems: Sequence[Problem], seed: int) -> None:
    import torch
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

    answers = short_answers(_WARM_UP_STEPS * _WARM_UP_BATCH, seed)
    tokenizer = _train_tokenizer([_user(p) for p in problems] + answers)
    ids = {
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=192,
        num_hidden_layers=3,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,  # the smallest that CPU attention kernels of inference engines support
        max_position_embeddings=_POSITIONS,
        tie_word_embeddings=False,
        **ids,
    )
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the order of floating-point sums must not depend on the machine's load or size
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = LlamaForCausalLM(config)
            _warm_up(model, tokenizer, problems, answers)
    finally:
        torch.set_num_threads(threads)
    model.save_pretrained(folder)
    GenerationConfig(**ids).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _user(problem: Problem) -> str:
    return problem.prompt[-1]["content"]


def _train_tokenizer(texts: Sequence[str]) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=_VOCABULARY,
        special_tokens=list(_SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator([*texts, "user", "assistant", "system"], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        bos_token="<|begin_of_text|>",
        eos_token="<|eot_id|>",
        pad_token="<|finetune_right_pad_id|>",
        model_max_length=_POSITIONS,
        chat_template=chat_template("llama-3"),
    )


def _warm_up(model: Any, tokenizer: Any, problems: Sequence[Problem], answers: Sequence[str]) -> None:
    """Teach the short answers by next-token prediction on the answer's tokens alone."""
    import torch

    prompts = [
        tokenizer.apply_chat_template(
            [{"role": "user", "content": _user(p)}], add_generation_prompt=True, tokenize=True, return_dict=False
        )
        for p in problems
    ]
    optimizer = torch.optim.AdamW(model.parameters(), lr=_WARM_UP_RATE, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, _WARM_UP_RATE, total_steps=_WARM_UP_STEPS)
    model.train()
    for step in range(_WARM_UP_STEPS):
        rows, labels = [], []
        for i in range(step * _WARM_UP_BATCH, (step + 1) * _WARM_UP_BATCH):
            prompt = prompts[i % len(prompts)]
            answer = [*tokenizer.encode(answers[i], add_special_tokens=False), tokenizer.eos_token_id]
            rows.append(prompt + answer)
            labels.append([-100] * len(prompt) + answer)
        width = max(map(len, rows))
        ids = torch.tensor([r + [tokenizer.pad_token_id] * (width - len(r)) for r in rows])
        mask = torch.tensor([[1] * len(r) + [0] * (width - len(r)) for r in rows])
        target = torch.tensor([x + [-100] * (width - len(x)) for x in labels])
        loss = model(input_ids=ids, attention_mask=mask, labels=target).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    model.eval()
