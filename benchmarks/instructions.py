"""Microseconds of CPU time that follows() takes for a row, whatever instructions it has.

    python benchmarks/instructions.py [--rows 2000] [--words 300]

Responses are passages of the repository's pages, of about so many words, changed as instructions ask for; each row has
one to three of IF-Eval's 25 instructions. The best of five, of which the first alone reads the ground truths, as the
rollouts of one prompt share theirs.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from rewardkit import Batch, compile
from tests.rewardkit.terms.test_following import PAGES, instruction, response


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--words", type=int, default=300)
    given = parser.parse_args()
    rng = random.Random(0)
    passages = [p for page in PAGES for p in page.read_text().split("\n\n") if len(p) > 60 and "<" not in p]
    texts, truths = [], []
    for i in range(given.rows):
        text = ""
        while len(text.split()) < given.words:
            text += "\n\n" + response(rng, passages)
        chosen = [instruction(rng, text) for _ in range(rng.randint(1, 3))]
        texts.append(text)
        kwargs = [arguments for _, arguments in chosen]
        truths.append(json.dumps({"instruction_id_list": [n for n, _ in chosen], "kwargs": kwargs, "key": i}))
    for formula in ("follows()", "follows(pay='share', strict=False)"):
        program, best = compile(formula), float("inf")
        batch = Batch(texts, ground_truths=truths)
        for _ in range(5):
            began = time.process_time()
            program(batch)
            best = min(best, time.process_time() - began)
        size = sum(map(len, texts)) / given.rows
        print(f"{formula:40} {1e6 * best / given.rows:7.1f} us a row of {size:.0f} characters")


if __name__ == "__main__":
    main()
