"""What dynamic sampling does where most groups agree: two runs of the recipe `tiny`, and both curves in one picture.

    python benchmarks/dynamic_sampling.py --steps 40

The reward is a closed last sentence, which the fresh model writes seldom: in most groups all rows are paid 0. Shown is
the mean over all rows that were generated, for the run with dynamic sampling before any group is thrown away.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from trainer_glue.verl.launch.folder import RunFolder
from trainer_glue.verl.launch.metrics import read_steps

FORMULA = "ends_with('.?!', min_words=0)"
RUNS = {"plain": [], "dynamic sampling": ["algorithm.filter_groups.enable=true"]}
SETTINGS = ["trainer.save_freq=-1", "trainer.test_freq=-1", "data.max_response_length=16", "rollout.n=4"]


def train(folder: Path, steps: int, arguments: list[str]) -> None:
    command = [sys.executable, "-m", "rewardkit", "train", "tiny", "--reward", FORMULA, "--out", str(folder)]
    subprocess.run([*command, f"trainer.total_training_steps={steps}", *SETTINGS, *arguments], check=True)


def curve(folder: Path) -> tuple[list[int], list[float]]:
    """The steps, and the mean reward of all rows that came."""
    steps = [step for step in read_steps(RunFolder(folder, folder / "checkpoints")) if step.is_training]
    return [s.number for s in steps], [s.values.get("reward/groups/mean", s.total) for s in steps]


def draw(curves: dict[str, tuple[list[int], list[float]]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    for (name, (steps, means)), style in zip(curves.items(), ("--", "-"), strict=True):
        axes.plot(steps, means, label=name, color="black", linestyle=style, linewidth=1.6)
    axes.set_xlabel("training step")
    axes.set_ylabel("mean reward of all rows generated")
    axes.set_title(FORMULA, fontsize=10)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--out", type=Path, default=Path("build/effect"))
    given = parser.parse_args()
    for name, arguments in RUNS.items():
        train(given.out / name, given.steps, arguments)
    curves = {name: curve(given.out / name) for name in RUNS}
    draw(curves, given.out / "dynamic-sampling.png")
    for name, (steps, means) in curves.items():
        print(f"{name}: {means[0]:.3f} in step {steps[0]}, {means[-1]:.3f} in step {steps[-1]}")


if __name__ == "__main__":
    main()
