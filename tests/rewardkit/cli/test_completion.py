"""Completion in a shell, by the protocol that the shells' scripts use, and the scripts that are printed for them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest

from rewardkit.cli import COMMANDS
from rewardkit.cli.config import LINES as CONFIG
from tests.rewardkit.cli.conftest import Done

SHELLS = ("bash", "zsh", "fish")


Complete = Callable[..., list[str]]


@pytest.fixture
def complete(rewardkit: Callable[..., Done]) -> Complete:
    def complete(line: str, shell: str = "bash") -> list[str]:
        """What a shell would offer at the end of a command line."""
        words = line.split(" ")
        asked = {
            "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)},
            "zsh": {"_TYPER_COMPLETE_ARGS": line},
            "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
        }[shell]
        done = rewardkit(_REWARDKIT_COMPLETE=f"complete_{shell}", **asked)
        assert done.returncode == 0 and not done.stderr, done
        return [line.split("\t")[0] for line in done.stdout.split("\n") if line]

    return complete


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_the_subcommands(complete: Complete, shell: str) -> None:
    assert complete("rewardkit ", shell) == list(COMMANDS)
    assert complete("rewardkit re", shell) == ["rewards", "report"]
    assert complete("rewardkit config ", shell) == list(CONFIG)


def test_zsh_gets_their_lines_of_the_help_too(complete: Complete) -> None:
    (only,) = complete("rewardkit sco", "zsh")
    assert "score" in only and COMMANDS["score"].split()[0] in only


def test_options_and_their_values(complete: Complete) -> None:
    assert complete("rewardkit --v") == ["--version"]
    assert complete("rewardkit train --d") == ["--dry-run"]
    assert complete("rewardkit audit x y --fail-on ") == ["error", "warning", "note", "never"]
    assert complete("rewardkit data g") == ["gsm8k"]


def test_recipes_and_terms(complete: Complete) -> None:
    pytest.importorskip("omegaconf")
    for command in ("train", "doctor", "config validate", "config recipes copy"):
        assert complete(f"rewardkit {command} ll") == [
            "llama3-8b-code",
            "llama3-8b-dapo",
            "llama3-8b-gsm8k",
            "llama3-8b-gsm8k-2nodes",
            "llama3-8b-gsm8k-lora",
            "llama3-8b-gsm8k-reward-model",
        ], command
    assert complete("rewardkit terms len") == ["length", "length_target"]


PROGRAM = "from rewardkit.cli import main; main()"


def test_the_names_of_subcommands_are_completed_without_importing_one() -> None:
    show = (
        "import sys, atexit; atexit.register(lambda: print("
        "[m for m in sys.modules if m.startswith('rewardkit.cli.') and '._' not in m]))"
    )
    environment = {"_REWARDKIT_COMPLETE": "complete_bash", "COMP_WORDS": "rewardkit s", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", f"{show}\n{PROGRAM}"], env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.stdout.splitlines() == ["score", "simulate", "serve", "[]"]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_for_each_shell(rewardkit: Callable[..., Done], shell: str) -> None:
    script = rewardkit(_REWARDKIT_COMPLETE=f"source_{shell}").stdout
    assert "_REWARDKIT_COMPLETE" in script and f"complete_{shell}" in script
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=script, text=True, capture_output=True).returncode == 0
