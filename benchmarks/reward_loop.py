"""verl's reward loop through real Ray actors: rewardkit's manager beside verl's naive one, clean and with hostile rows.

    python benchmarks/reward_loop.py --tokenizer LLAMA3 --answers gsm8k_test.jsonl      # 2,048 rows, three rounds
    python benchmarks/reward_loop.py --rows 512 --rounds 1

Two `RewardLoopWorker` actors a side, as `reward.num_workers=2` starts them, and one request a response, as verl's
agent loop sends them. The sides take turns, round by round; medians. `in the actors` is their own processor time a row:
most of the rest is Ray. With hostile rows each hundredth response is a power tower, a megabyte of digits, backslashes,
or an answer that nests too deep. `late` counts the benign rows that came after the last row of the clean round plus
the deadline of one hostile row, `lost` those with another score than in the clean round.
"""

from __future__ import annotations

import asyncio
import platform
import statistics
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import material
import numpy as np
import ray
import torch
from manager import responses
from verl import DataProto
from verl.experimental.reward_loop.reward_loop import RewardLoopWorker

from trainer_glue.verl.config.compose import composed
from trainer_glue.verl.versions.installed import find_verl

FORMULA = "math_equal() + 0.1 * ends_with('.?!')"
NAIVE = """
from verl.utils.reward_score import gsm8k


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    text = solution_str.strip()
    return gsm8k.compute_score(solution_str, ground_truth) + 0.1 * (1.0 if text and text[-1] in ".?!" else 0.0)
"""
FORMULAS = {"clean": "gsm8k() + 0.1 * ends_with('.?!')", "hostile": FORMULA}
HOSTILE = (
    "The answer is \\boxed{9^{9^{9^{9^9}}}}",
    "#### " + "9" * 1_000_000,
    "\\" * 200_000 + "boxed{1}",
    "\\boxed{" + "(" * 5_000 + "1" + ")" * 5_000 + "}",
)
DEADLINE_S = 5.0


class Actor(RewardLoopWorker):
    """verl's worker, and what it has spent."""

    def spent(self) -> float:
        """Processor seconds of this process so far."""
        return time.process_time()


def row(tokens: list[int], truth: str, index: int) -> DataProto:
    ids = torch.tensor([tokens], dtype=torch.long)
    column = {
        "data_source": np.array(["openai/gsm8k"], dtype=object),
        "reward_model": np.array([{"ground_truth": truth}], dtype=object),
        "extra_info": np.array([{"index": index}], dtype=object),
        "raw_prompt": np.array([[{"role": "user", "content": "?"}]], dtype=object),
    }
    mask = torch.ones(1, 1 + ids.shape[1], dtype=torch.long)
    tensors = {"responses": ids, "attention_mask": mask, "prompts": torch.ones(1, 1, dtype=torch.long)}
    return DataProto.from_dict(tensors=tensors, non_tensors=column)


async def ask(actors: list[Any], rows: list[DataProto]) -> tuple[list[float], list[float]]:
    """Every row's score, and the second at which it came."""
    start, finished = time.perf_counter(), [0.0] * len(rows)

    async def one(i: int) -> float:
        result = await actors[i % len(actors)].compute_score.remote(rows[i])
        finished[i] = time.perf_counter() - start
        return float(result["reward_score"])

    return list(await asyncio.gather(*(one(i) for i in range(len(rows))))), finished


def round_of(actors: list[Any], rows: list[DataProto]) -> tuple[list[float], list[float], float]:
    """Scores, times of arrival, and the actors' own processor seconds."""
    before = sum(ray.get([a.spent.remote() for a in actors]))
    scores, finished = asyncio.run(ask(actors, rows))
    return scores, finished, sum(ray.get([a.spent.remote() for a in actors])) - before


def start(folder: Path, tokenizer: Path, formula: str | None) -> list[Any]:
    """Two workers with our manager, or with verl's where no formula is given."""
    from omegaconf import OmegaConf

    content, _ = composed(find_verl())
    content["actor_rollout_ref"]["model"].update({"path": str(tokenizer), "tokenizer_path": str(tokenizer)})
    if formula is None:
        (folder / "naive.py").write_text(NAIVE)
        content["reward"]["custom_reward_function"] = {"path": str(folder / "naive.py"), "name": "compute_score"}
    else:
        module = {"path": "pkg://trainer_glue.verl", "name": None}
        content["reward"]["reward_manager"].update({"source": "importlib", "name": "RewardManager", "module": module})
        content["reward"]["reward_kwargs"] = {"rewardkit": {"formula": formula}}
        content["trainer"]["v1"]["sampler"]["custom_sampler"] = {
            "path": "pkg://trainer_glue.verl",
            "name": "ReplayBuffer",
        }
    config = OmegaConf.create(content)
    actors = [ray.remote(Actor).remote(config) for _ in range(2)]
    ray.get([a.spent.remote() for a in actors])
    return actors


def main() -> None:
    parser = material.parser(__doc__, rounds=3)
    parser.add_argument("--rows", type=int, default=2048)
    args = parser.parse_args()
    tokenizer, answers, truths = material.load(args)
    lines = responses(tokenizer, answers, args.rows, unique=True)
    clean = [row(line, truths[i % len(truths)], i) for i, line in enumerate(lines)]
    attacks = [tokenizer.encode(text, add_special_tokens=False) for text in HOSTILE]
    hostile = list(range(50, args.rows, 100))
    mixed = list(clean)
    for k, i in enumerate(hostile):
        mixed[i] = row(attacks[k % len(attacks)], "18", i)
    benign = [i for i in range(args.rows) if i not in set(hostile)]
    with tempfile.TemporaryDirectory() as folder:
        ray.init(num_cpus=8, include_dashboard=False, log_to_driver=False)
        print(
            f"{platform.machine()}, Python {platform.python_version()}, verl {version('verl')}, ray {ray.__version__}"
        )
        print(f"{args.rows} rows, one request each, two actors a side; medians of {args.rounds} rounds\n")
        sides = {"verl naive": None, "rewardkit": FORMULAS["clean"], "rewardkit, math_equal": FORMULAS["hostile"]}
        actors = {side: start(Path(folder), args.tokenizer, formula) for side, formula in sides.items()}
        for side in sides:
            round_of(actors[side], clean[:64])  # first calls import and compile
        walls: dict[str, list[float]] = {side: [] for side in sides}
        inside: dict[str, list[float]] = {side: [] for side in sides}
        last: dict[str, tuple[list[float], list[float]]] = {}
        for _ in range(args.rounds):
            for side in sides:
                scores, finished, spent = round_of(actors[side], clean)
                walls[side].append(max(finished))
                inside[side].append(spent)
                last[side] = scores, finished
        base = statistics.median(walls["verl naive"])
        for side in sides:
            wall = statistics.median(walls[side])
            own = statistics.median(inside[side]) / args.rows * 1e6
            rate = f"{args.rows / wall:8,.0f} rows/s{base / wall:6.2f}x verl's"
            print(f"{side:24}{rate}  in the actors {own:6.0f} us/row")
        same = sum(a == b for a, b in zip(last["verl naive"][0], last["rewardkit"][0], strict=True))
        print(f"{same} of {args.rows} rows are paid the same by both")
        side = "rewardkit, math_equal"
        expected, clean_ends = last[side]
        scores, finished, _ = round_of(actors[side], mixed)
        limit = max(clean_ends) + DEADLINE_S
        lost = sum(scores[i] != expected[i] for i in benign)
        late = sum(finished[i] > limit for i in benign)
        lost_rows = f"{lost} benign rows lost, {late} late"
        last_benign = max(finished[i] for i in benign)
        print(
            f"\n{len(hostile)} hostile rows among them, {side}: {lost_rows}; "
            f"the last benign row after {last_benign:.2f} s"
        )
        print(f"({max(clean_ends):.2f} s without them), the last hostile row after {max(finished):.2f} s")
        ray.shutdown()


if __name__ == "__main__":
    main()
