"""The batched reward manager beside verl's own two, on the batch of the Llama-3 recipe.

    python benchmarks/manager.py --tokenizer LLAMA3 --answers gsm8k_test.jsonl      # 8,192 rows, five rounds
    python benchmarks/manager.py --rows 1024 --rounds 3

1,024 prompts x 8 responses of 100 to 1,024 tokens, made of GSM8K's own solutions. verl's managers get a hand-written
`compute_score` for the same reward, its own gsm8k grader in it. All sides are called in turn in one process, round by
round; the table shows medians. "unique": no two rows are equal; "repeated": each text eight times. `decoding` is this
package's decoder alone, `rest` what the whole call costs above it, per row. Memory is what Python and numpy allocated
at the peak of one call beyond the tensor that it returns, as a multiple of the decoded text in memory.
"""

from __future__ import annotations

import os
import platform
import random
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import material
import numpy as np
import torch
from verl import DataProto
from verl.utils.reward_score import gsm8k as verl_gsm8k
from verl.workers.reward_manager import BatchRewardManager, NaiveRewardManager

from rewardkit.engine.detokenizer import Decoder
from trainer_glue.verl import RewardManager

PROMPT = 8
GROUP = 8


def words_and_mark(data_source: str, solution_str: str, ground_truth: str, extra_info: Any = None) -> float:
    """What people write for `length(0.1) + ends_with('.?!')`."""
    text = solution_str.strip()
    return 0.1 * len(text.split()) + (1.0 if text and text[-1] in ".?!" else 0.0)


def graded_and_mark(data_source: str, solution_str: str, ground_truth: str, extra_info: Any = None) -> float:
    """What people write for `gsm8k() + 0.1 * ends_with('.?!')`, with verl's own grader."""
    text = solution_str.strip()
    right = verl_gsm8k.compute_score(solution_str, ground_truth)
    return right + 0.1 * (1.0 if text and text[-1] in ".?!" else 0.0)


REWARDS: dict[str, Callable[..., float]] = {
    "length(0.1) + ends_with('.?!')": words_and_mark,
    "gsm8k() + 0.1 * ends_with('.?!')": graded_and_mark,
}


def in_batches(score: Callable[..., float]) -> Callable[..., list[float]]:
    """verl's batched manager calls with lists."""

    def scores(data_sources: Any, solution_strs: Any, ground_truths: Any, extra_infos: Any, **_: Any) -> list[float]:
        rows = zip(data_sources, solution_strs, ground_truths, strict=True)
        return [score(source, text, truth) for source, text, truth in rows]

    return scores


def responses(tokenizer: Any, answers: Sequence[str], rows: int, *, unique: bool) -> list[list[int]]:
    """Token ids; the end of each text is the end of a real solution, `#### N` and all."""
    rng = random.Random(0)
    solutions = [answer.partition("\n####")[0] for answer in answers]
    steps = [tokenizer.encode(f"{text}\n", add_special_tokens=False) for text in solutions]
    ends = [tokenizer.encode(answer, add_special_tokens=False) for answer in answers]
    lines: list[list[int]] = []
    seen: set[tuple[int, ...]] = set()
    while len(lines) < (rows if unique else rows // GROUP):
        length, line = rng.randint(100, 1024), ends[rng.randrange(len(ends))]
        while len(line) < length:
            line = steps[rng.randrange(len(steps))] + line
        line = line[-length:]
        if tuple(line) not in seen:
            seen.add(tuple(line))
            lines.append(line)
    return lines if unique else [line for line in lines for _ in range(GROUP)]


def batch(lines: list[list[int]], truths: Sequence[str]) -> DataProto:
    rows, width = len(lines), max(map(len, lines))
    ids = torch.zeros(rows, width, dtype=torch.long)
    mask = torch.zeros(rows, PROMPT + width, dtype=torch.long)
    mask[:, :PROMPT] = 1
    for i, line in enumerate(lines):
        ids[i, : len(line)] = torch.tensor(line)
        mask[i, PROMPT : PROMPT + len(line)] = 1
    column = {
        "data_source": np.array(["openai/gsm8k"] * rows, dtype=object),
        "reward_model": np.array([{"ground_truth": truths[i % len(truths)]} for i in range(rows)], dtype=object),
        "extra_info": np.array([{"index": i} for i in range(rows)], dtype=object),
        "uid": np.array([f"p{i // GROUP}" for i in range(rows)], dtype=object),
    }
    tensors = {"responses": ids, "attention_mask": mask, "prompts": torch.ones(rows, PROMPT, dtype=torch.long)}
    return DataProto.from_dict(tensors=tensors, non_tensors=column)


def seconds(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def peak_bytes(action: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        action()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def main() -> None:
    parser = material.parser(__doc__, rounds=5)
    parser.add_argument("--rows", type=int, default=8192)
    args = parser.parse_args()
    tokenizer, answers, truths = material.load(args)
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, torch {torch.__version__}"
    )
    print(f"verl {version('verl')}, transformers {version('transformers')}; medians of {args.rounds} rounds\n")
    heads = ("reward", "rows", "naive r/s", "batch r/s", "ours r/s", "/naive", "/batch", "decoding", "rest", "memory")
    print("{:34}{:>9}{:>10}{:>10}{:>10}{:>8}{:>8}{:>12}{:>10}{:>8}".format(*heads))
    for kind in ("unique", "repeated"):
        lines = responses(tokenizer, answers, args.rows, unique=kind == "unique")
        data = batch(lines, truths)
        for formula, score in REWARDS.items():
            print(f"{formula:34}{kind:>9}{row_of_table(tokenizer, lines, data, formula, score, args.rounds)}")


def row_of_table(
    tokenizer: Any, lines: list[list[int]], data: DataProto, formula: str, score: Callable[..., float], rounds: int
) -> str:
    """All sides in turn, round by round."""
    ours = RewardManager(tokenizer=tokenizer, reward=formula)
    naive = NaiveRewardManager(tokenizer=tokenizer, num_examine=0, compute_score=score)
    batched = BatchRewardManager(tokenizer=tokenizer, num_examine=0, compute_score=in_batches(score))
    decoder = Decoder(tokenizer)
    arrays = [np.asarray(line) for line in lines]
    result = ours(data)
    compare(result, naive(data), formula)
    sides: dict[str, Callable[[], Any]] = {
        "naive": lambda: naive(data),
        "batch": lambda: batched(data),
        "ours": lambda: ours(data),
        "decoding": lambda: decoder(arrays),
    }
    times: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(rounds):
        for side, action in sides.items():
            times[side].append(seconds(action))
    took = {side: statistics.median(values) / len(lines) for side, values in times.items()}
    extra = peak_bytes(sides["ours"]) - result.numel() * result.element_size()
    text = sum(map(sys.getsizeof, decoder(arrays)))
    rates = "".join(f"{1 / took[side]:10,.0f}" for side in ("naive", "batch", "ours"))
    ratios = "".join(f"{took[side] / took['ours']:7.1f}x" for side in ("naive", "batch"))
    rest = f"{took['decoding'] * 1e6:9.1f} us{(took['ours'] - took['decoding']) * 1e6:7.1f} us"
    return rates + ratios + rest + f"{extra / text:7.2f}x"


def compare(ours: torch.Tensor, verls: torch.Tensor, formula: str) -> None:
    """Both sides pay the same rows, but for what the graders see differently."""
    a, b = ours.sum(-1), verls.sum(-1)
    different = int((~torch.isclose(a, b, atol=1e-4)).sum())
    print(f"# {formula}: {len(a) - different} of {len(a)} rows are paid the same")


if __name__ == "__main__":
    main()
