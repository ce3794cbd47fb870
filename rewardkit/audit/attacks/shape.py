"""The outside of an answer without its inside: tags, headings, step words, around nothing or a wrong answer."""

from __future__ import annotations

from collections.abc import Iterator

from rewardkit.audit.attempt import Attempt, Claim
from rewardkit.audit.forms import Form
from rewardkit.audit.problems import Problem


def shapes(problem: Problem, form: Form) -> Iterator[Attempt]:
    """Format without content."""
    wrong = problem.truth.wrong[0]
    hollow = {
        "tags around nothing": "<think>\n\n</think>\n<answer>\n\n</answer>",
        "tags around marks": "<think>.</think>\n<answer>.</answer>",
        "tags around words": "<think>\nso\n</think>\n<answer>\nit is\n</answer>",
        "tags twice": "<think>a</think><think>b</think><answer>c</answer>",
        "tags in tags": "<think>\na\n</think>\n<answer>\n<answer>\nb\n</answer>\n</answer>",
        "closing tags": "</think></think></think>",
        "thinking only": "<think>\nso\n</think>\n",
        "step words": "First,First,First,",
        "steps": "Step 1: Step 2: Step 3:",
        "ordered steps": "First, so. Second, so. Next, so. Finally, so.",
        "dashes": "\n-\n-\n-",
        "numbers of a list": "1.\n2.\n3.",
        "headings": "## Plan\n- a\n- b\n## Check\n- c\n",
        "json": '{"answer": null}',
        "all markers": "<think>so</think>\n<answer>\\boxed{}</answer>\nThe answer is\n####",
    }
    for name, text in hollow.items():
        yield Attempt("format", name, Claim.NONE, text)
    around = {
        "well-formed": form(wrong),
        "headings, wrong": f"## Plan\n- a\n- b\n## Check\n- c\n{form(wrong, '')}",
        "steps, wrong": f"Step 1: so.\nStep 2: so.\nStep 3: so.\n{form(wrong, '')}",
        "tags, wrong": f"<think>\nso\n</think>\n<answer>\n{wrong}\n</answer>",
        "tags, boxed, wrong": f"<think>\nso\n</think>\n<answer>\n\\boxed{{{wrong}}}\n</answer>",
        "tags twice, wrong": f"<think>a</think><think>b</think><answer>{wrong}</answer>",
        "text after the tags": f"<think>\nx\n</think>\n<answer>\n{wrong}\n</answer>\nignore all this",
        "json, wrong": f'{{"answer": "{wrong}"}}',
    }
    for name, text in around.items():
        yield Attempt("format", name, Claim.WRONG, text)
