"""Write docs/terms.md from the vocabulary itself: `python docs/make_terms.py`. A test fails when the page is stale."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from rewardkit.algebra.registry import terms
from rewardkit.analysis.vocabulary import describe_vocabulary, interval_text

PAGE = Path(__file__).with_name("terms.md")
HEAD = """# The terms

What a formula can be made of. Written by `docs/make_terms.py` from the code; `rewardkit terms NAME` shows the same.
Bounds and needs are those at the defaults.
"""
PURPOSES = {
    "Is the answer right": ("answers", "claims", "programs", "tool_matching", "following"),
    "Puzzles, boxes and queries": ("puzzles", "gym", "countdown", "boxes", "sql"),
    "Graded by a model": ("judging", "reward_models", "rubrics", "group_judging"),
    "Numbers of the environment": ("environment",),
    "Format": ("tags", "structured", "patterns", "endings", "scripts"),
    "Length and repetition": ("lengths", "length_shaping", "ngrams"),
    "Near to a text": ("similarity", "translation"),
}
"""What terms are for, by the modules of `rewardkit.terms`; those of other modules come under the last heading."""
OTHERS = "More"


def page() -> str:
    """The whole page."""
    entries = describe_vocabulary()
    functions = [e for e in entries if e["kind"] == "function"]
    by_purpose: dict[str, list[dict[str, Any]]] = {heading: [] for heading in (*PURPOSES, OTHERS)}
    for entry in entries:
        if entry["kind"] != "function":
            by_purpose[_purpose(entry["name"])].append(entry)
    parts = [HEAD, "| term | kind | bounds | needs | cost |\n|---|---|---|---|---|"]
    for heading, of_it in by_purpose.items():
        rows = [f"| [`{e['name']}`](#{e['name']}) | {e['kind']} | {_declared(e)} | {e['cost']} |" for e in of_it]
        parts[-1] += "".join(f"\n{row}" for row in [f"| **{heading}** | | | | |", *rows] if rows)
    for heading, of_it in by_purpose.items():
        parts += [f"## {heading}", *(_section(e) for e in of_it)] if of_it else []
    parts += ["## Functions of the algebra", *(_section(e) for e in functions)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _purpose(name: str) -> str:
    module = terms()[name].function.__module__.removeprefix("rewardkit.terms.").partition(".")[0]
    return next((heading for heading, modules in PURPOSES.items() if module in modules), OTHERS)


def _declared(entry: dict[str, Any]) -> str:
    bounds = "by its parameters" if entry["bounds"] is None else interval_text(entry["bounds"])
    needs = "by its parameters" if entry["needs"] is None else ", ".join(entry["needs"]) or "-"
    return f"{bounds} | {needs}"


def _section(entry: dict[str, Any]) -> str:
    parts = [f"### {entry['name']}\n\n```text\n{entry['signature']}\n```"]
    text, *sections = re.split(r"\n(?=(?:Args|Raises|Returns|Attributes):\n)", entry["doc"])
    parts.append(_prose(text))
    if entry["parameters"] and entry["kind"] != "function":
        lines = ["| parameter | type | default |", "|---|---|---|"]
        for p in entry["parameters"]:
            default = f"`{p['default']!r}`" if "default" in p else "required"
            lines.append(f"| `{p['name']}` | {_cell(p['type'])} | {_cell(default)} |")
        parts.append("\n".join(lines))
    for section in sections:
        title, _, body = section.partition(":\n")
        body = re.sub(r"^    (?:batch|sample): .*(?:\n {5,}.*)*\n?", "", body, flags=re.MULTILINE)  # the caller's part
        items = re.findall(r"^    (\S[^:\n]*): ?(.*(?:\n {5,}.*)*)", body, re.MULTILINE)
        parts.append("\n".join(f"- `{name}`: {_line(what)}" for name, what in items) if items else _prose(body))
        if title == "Raises":
            parts[-1] = "Raises:\n\n" + parts[-1]
    return "\n\n".join(parts)


def _prose(text: str) -> str:
    return re.sub(r"``(.+?)``", r"`\1`", re.sub(r":\w+:`[~.]?(.+?)`", r"`\1`", text)).strip()


def _line(text: str) -> str:
    return " ".join(_prose(text).split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
