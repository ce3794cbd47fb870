"""Small dumps in each layout, written as their trainers write them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

PAD = "Let us double check every step once more to be completely sure that nothing at all was missed here. " * 2


def write_lines(file: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def verl_row(step: int, prompt: int, rollout: int, output: str, score: float, **extra: Any) -> dict[str, Any]:
    """A line as verl 0.9's trainer dumps it; with `extra`, as its older trainer and its validation do."""
    return {
        "input": f"user\nquestion {step} {prompt}\nassistant\n",
        "output": output,
        "gts": str(prompt),
        "score": score,
        "step": step,
        "uid": f"{step:x}-{prompt}_{rollout}_0",
        **extra,
    }


def by_term(name: str, value: float | None, status: int = 0) -> dict[str, Any]:
    """What the manager's extra info says of a term."""
    return {name: value, f"{name}/status": status, f"{name}/ms": 0.1}


def verl_dump(folder: Path, steps: Mapping[int, Sequence[Mapping[str, Any]]]) -> Path:
    folder.mkdir(exist_ok=True)
    for step, rows in steps.items():
        write_lines(folder / f"{step}.jsonl", rows)
    return folder


def hacked(folder: Path) -> Path:
    """Twelve steps of four prompts with four responses: from step 7 on the policy pads, and is paid for it."""
    steps: dict[int, list[dict[str, Any]]] = {}
    for step in range(1, 13):
        steps[step] = []
        for prompt in range(4):
            for k in range(4):
                pads = step > 6 and (k + step) % 4 != 0
                right = float((k + prompt) % 2 and not pads)
                words = 40 if pads else 5 + k
                text = PAD + "This is my final answer." if pads else f"word{step}{prompt}{k} " * words + f"#### {right}"
                total = right + 0.05 * words
                answer = by_term("gsm8k", right, 2 if pads else 0)
                steps[step].append(
                    verl_row(step, prompt, k, text, total, unscored=0.0, **answer, **by_term("length", 0.05 * words))
                )
    return verl_dump(folder, steps)


ATTACKS = [
    "<script>window.pwned = 1</script>",
    "</pre></article><script>window.pwned = 1</script>",
    '"><img src=x onerror="window.pwned = 1">',
    "<svg/onload=window.pwned=1>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
    "<!--<script>--></title></style><body onload=window.pwned=1>",
    "{{ 7 * 7 }}{% for x in y %}",
    "&lt;script&gt;window.pwned=1&lt;/script&gt;",
]


def hostile(folder: Path) -> Path:
    """Markup wherever a model, a data set or a formula can put some."""
    steps = {}
    for step in (1, 2, 3):
        rows = []
        for p, attack in enumerate(ATTACKS):
            for k in range(4):
                text = f"{attack} \x00\x1b[31m \ud800 \u202e padding words so that many are alike {attack}"
                row = verl_row(step, p, k, text, float(k), **by_term(attack, float(k * p)), **by_term("$x$", 1.0 * k))
                rows.append({**row, "input": attack, "gts": attack})
        for row in rows:
            for attack in ATTACKS:
                row.setdefault(attack, 0.5)
                row.setdefault(f"{attack}/status", 2)
        steps[step] = rows
    return verl_dump(folder, steps)
