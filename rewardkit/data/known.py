"""The data sets that `rewardkit data` knows, each in a line: for help, which imports nothing of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

KNOWN: Final[Mapping[str, str]] = {
    "gsm8k": "Problems in GSM8K form: a question, and an answer that ends in `#### NUMBER`.",
    "math": "Problems of MATH: a problem, and an answer or a solution that boxes it.",
    "dapo-math-17k": "DAPO-Math-17k: verl's rows; each problem once, where the hub's file has it a hundred times.",
    "numina": "NuminaMath: a problem, and an answer or a solution that boxes it; no proofs.",
    "ifeval": "IF-Eval, RLVR-IFeval: a prompt, and the instructions that a response must follow.",
    "bfcl": "BFCL: questions of one turn with their functions, and the file of accepted answers.",
    "countdown": "Countdown: `nums` and the `target` that an expression of them must reach.",
    "humaneval": "HumanEval: a function to complete, and its test.",
    "mbpp": "MBPP: a task in words, and its assertions.",
    "apps": "APPS, TACO: a task, with inputs and outputs of a program or a function.",
    "codecontests": "CodeContests: a task, with public, private and generated tests.",
}
"""By the name of the data set's shape."""
