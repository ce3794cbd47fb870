"""Every line of every console block runs, in the order of its page, and says what the page shows.

A page is a session: its commands share a folder with the files that the pages name (material.py), and what a page says
to save is saved. rewardkit's commands run in this process, by the entry point that a shell would call. What can't run
here is listed with the reason in instead.py.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("verl", reason="the pages train: pip install 'rewardkit-rl[verl]'")

from rewardkit.cli import run
from tests.pages import material
from tests.pages.blocks import Block, Command, blocks, shows
from tests.pages.instead import INSTEAD, instead

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = {page.name: blocks(page) for page in PAGES}
CONSOLE = {name: [b for b in found if b.kind == "console"] for name, found in BLOCKS.items()}
ELSEWHERE = {"pycon": "test_readme.py", "text": "an output or a signature"}
"""Kinds of blocks that are no part of a session."""
LOOKED_AT = [
    ("README.md", "yaml"),
    ("adding.md", "python"),
    ("adding.md", "json"),
    ("configuration.md", "bash"),
    ("groups.md", "yaml"),
]
"""Blocks that a test of their own looks at: test_readme.py, test_adding.py, test_judge.py, test_group_settings.py."""
PYTHON = {"python": [], "pytest": ["-m", "pytest", "-q", "-p", "no:cacheprovider"]}
FOUND = {
    ("README.md", "rewardkit audit"): 1,
    ("auditing.md", "rewardkit audit"): 1,
    ("testing.md", "rewardkit test"): 0,
}
"""Commands that end otherwise than with 0 because of what they find in what the page gives them."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("pages") / "home"
    with pytest.MonkeyPatch.context() as patched:
        material.make(made, patched)
    yield made


@pytest.fixture
def session(page: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which a page's commands run, and the reader's environment: no GPU, no hub, a home of its own."""
    shutil.copytree(home / "folder", tmp_path / "here")
    if (own := home / "pages" / page).is_dir():
        shutil.copytree(own, tmp_path / "here", dirs_exist_ok=True)
    for name in ("user", "trained", "trained-lora", "rollouts"):
        shutil.copytree(home / name, tmp_path / name)
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    for name in ("HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path / "here"


def execute(page: str, command: Command, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a command, or what stands for it; what it wrote."""
    entry = instead(command.words)
    words = command.words if entry is None else entry.run(command.words)
    if words is None:
        return ""
    words = [os.path.expanduser(word) if word.startswith("~/") else word for word in words]
    capfd.readouterr()
    with monkeypatch.context() as patched:
        for name, value in command.variables.items():
            patched.setenv(name, value)
        if words[0] == "rewardkit":
            code = run(words[1:])
        else:
            assert words[0] in PYTHON, f"{command.text}: what runs it? See instead.py"
            code = subprocess.run([sys.executable, *PYTHON[words[0]], *words[1:]], check=False, timeout=100).returncode
    came = capfd.readouterr()
    expected = FOUND.get((page, " ".join(command.words[:2])), 0)
    assert code == expected, f"{command.text}: exit code {code}\n{came.out}{came.err}"
    assert "Traceback" not in came.err, came.err
    if entry is not None:
        entry.leaves(command.words)
    return came.out + came.err


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(name, marks=pytest.mark.isolation if name == "code.md" else ())
        for name, blocks in CONSOLE.items()
        if blocks
    ],
)
def test_the_commands_of_a_page(
    page: str, session: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for block in BLOCKS[page]:
        if block.file is not None:
            Path(block.file).write_text(block.body)
        if block.kind != "console":
            continue
        came = "".join(execute(page, command, capfd, monkeypatch) for command in block.commands)
        assert block.commands, block.name
        if block.shown is not None:
            assert not (why := shows(block.shown, came)), f"{block.name}: {why}"


def test_no_block_is_left_out() -> None:
    left = [
        block.name
        for blocks in BLOCKS.values()
        for block in blocks
        if block.kind not in ("console", *ELSEWHERE)
        and block.file is None
        and (block.page, block.kind) not in LOOKED_AT
    ]
    assert not left, f"say before it `Save this as NAME:`, so that it is used: {left}"
    assert all(CONSOLE[name] for name, blocks in BLOCKS.items() if any(b.file for b in blocks))


def test_how_many_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    blocks: list[Block] = [block for of_page in CONSOLE.values() for block in of_page]
    commands = [command for block in blocks for command in block.commands]
    by_other = [command for command in commands if instead(command.words) is not None]
    compared = sum(block.shown is not None for block in blocks)
    with capsys.disabled():
        print(
            f"\n{len(blocks)} console blocks, {len(commands)} commands: {len(commands) - len(by_other)} as they stand, "
            f"{len(by_other)} by what instead.py names; the output of {compared} blocks is compared"
        )
    used = {id(instead(command.words)) for command in by_other}
    idle = [entry.begins for entry in INSTEAD if id(entry) not in used]
    assert not idle, f"no page has such a command any more: {idle}"
