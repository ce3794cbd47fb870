"""Another reward for the rollouts of a run that is over: what would it have paid, and whom?

    python examples/score_dump.py                       # a small dump, made here
    python examples/score_dump.py runs/first/rollouts "gsm8k() + 0.1 * ends_with('.?!')"

A dump is what verl writes with `trainer.rollout_data_dir`: a file of JSON lines for each step.
"""

import json
import sys
import tempfile
from pathlib import Path

from rewardkit import compile
from rewardkit.scoring import score_file


def make_dump(folder: Path) -> None:
    """Three steps in which answers become longer, not better."""
    for step in (1, 2, 3):
        rows = [
            {
                "input": "6 * 7?",
                "output": f"{'well, ' * 10 * step}#### {ground_truth}",
                "gts": "42",
                "score": 1.0 * step,
                "step": step,
            }
            for ground_truth in (42, 41, 42, 40)
        ]
        (folder / f"{step}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


with tempfile.TemporaryDirectory() as scratch:
    dump = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(scratch)
    formula = sys.argv[2] if len(sys.argv) > 2 else "gsm8k() - 0.2 * length(0.05, cap=1)"
    if len(sys.argv) < 2:
        make_dump(dump)
    program = compile(formula)
    print(f"{formula}\n  step     paid then  would pay")
    for file in sorted(dump.glob("*.jsonl"), key=lambda path: int(path.stem)):
        then = [json.loads(line)["score"] for line in file.open(encoding="utf-8")]
        tally = score_file(program, file, lambda text: None)
        print(f"  {file.stem:>4} {sum(then) / len(then):13.2f} {tally.total.mean:10.2f}")
