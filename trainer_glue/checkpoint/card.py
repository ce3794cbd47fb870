"""The model card: which reward made this model, and how it went.

Written only where the launcher's ``run.json`` says so; a card without the formula would say nothing that the config
doesn't. Keys read: ``formula``, ``fingerprint``, ``versions``, ``seed``, ``config``; a ``rewards.png`` beside it is the
reward curve.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .layout import Layout
from .report import Report
from .writer import write_text

_CURVE = "rewards.png"


def write_card(folder: Path, layout: Layout, report: Report, base_model: str | None) -> bool:
    """Write ``README.md``, with the curve beside it. Returns whether there was a run to tell of."""
    run = layout.run
    if run is None or layout.run_folder is None:
        return False
    curve = layout.run_folder / _CURVE
    if curve.is_file():
        shutil.copyfile(curve, folder / _CURVE)
    write_text(folder / "README.md", render(run, report, base_model, curve=curve.is_file()))
    return True


def render(run: Mapping[str, Any], report: Report, base_model: str | None, *, curve: bool) -> str:
    """The card's text."""
    front: dict[str, Any] = {"library_name": "peft" if _is_adapter(report) else "transformers"}
    if report.value_head is None:
        front["pipeline_tag"] = "text-generation"
    front["tags"] = ["rewardkit", "verl", "reinforcement-learning"]
    if base_model:
        front["base_model"] = base_model
    # JSON values are YAML values: no quoting rules to get wrong.
    lines = ["---", *(f"{key}: {json.dumps(value)}" for key, value in front.items()), "---", ""]
    lines += [f"# {report.out.name}", ""]
    lines += ["Trained by reinforcement learning on the reward", ""]
    lines += [_fenced(str(run.get("formula", "(not recorded)"))), ""]
    if curve:
        lines += [f"![Reward over training steps]({_CURVE})", ""]
    facts: list[tuple[str, Any]] = [
        ("reward fingerprint", run.get("fingerprint")),
        ("base model", base_model),
        ("step", report.step),
        ("seed", run.get("seed")),
        ("ranks", report.world_size),
        ("parameters", f"{report.parameters:,}"),
        ("dtype", report.dtype),
    ]
    versions = run.get("versions")
    if isinstance(versions, Mapping):
        facts += [(str(name), version) for name, version in versions.items()]
    lines += ["| | |", "|---|---|"]
    lines += [f"| {name} | {_cell(value)} |" for name, value in facts if value is not None]
    if _is_adapter(report):
        lines += [
            "",
            "The folder holds the base model and a LoRA adapter beside it. transformers applies the adapter when "
            "`peft` is installed; a tool that does not know adapters sees the base model.",
        ]
    return "\n".join(lines) + "\n"


def _is_adapter(report: Report) -> bool:
    return report.lora is not None and not report.lora["merged"]


def _fenced(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}python\n{text}\n{fence}"


def _cell(value: Any) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")
