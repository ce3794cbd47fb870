"""The command line itself: help, version, exit codes, and what it imports."""

import pkgutil
import signal
import subprocess
import sys

import pytest

import rewardkit
from rewardkit import cli
from rewardkit.cli import config
from rewardkit.errors import ConfigError, RunError

HEAVY = ("numpy", "rich", "sympy", "regex", "torch", "ray", "verl", "omegaconf")
"""typer itself may import pydantic to read a subcommand's arguments."""

EVERY = (*cli.COMMANDS, *(f"config {name}" for name in config.LINES))


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=60)


@pytest.fixture
def command(monkeypatch):
    """A subcommand that does what the test says."""

    def install(action):
        module = type(sys)("rewardkit.cli.planted")
        module.app = cli.typer.Typer(**cli.PLAIN)
        module.app.command()(action)
        monkeypatch.setitem(sys.modules, "rewardkit.cli.planted", module)
        monkeypatch.setitem(cli.SECTIONS, "Planted", {"planted": "Planted by a test."})

    return install


def test_help_names_every_subcommand(capsys):
    assert cli.run(["--help"]) == 0
    text = capsys.readouterr().out
    for heading, lines in cli.SECTIONS.items():
        section = text.partition(f"\n{heading}:\n")[2].partition("\n\n")[0]
        assert [line.split()[0] for line in section.splitlines() if line[2] != " "] == list(lines)


def test_there_is_a_line_for_every_module_and_a_module_for_every_line(capsys):
    for package, lines in ((cli, cli.COMMANDS), (config, config.LINES)):
        modules = {m.name.replace("_", "-") for m in pkgutil.iter_modules(package.__path__) if m.name[0] != "_"}
        assert modules == set(lines)
    for name in EVERY:
        assert cli.run([*name.split(), "--help"]) == 0
        assert f"rewardkit {name}" in capsys.readouterr().out


@pytest.mark.parametrize("name", (*cli.MOVED, *cli.GONE))
def test_an_old_spelling_says_where_it_went_in_one_line(name, capsys):
    assert cli.run([name, "--option", "a file"]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1 and not captured.out
    if name in cli.MOVED:
        assert captured.err == f"rewardkit: `{name}` is now: rewardkit config {name} --option 'a file'\n"


def imported(*calls: list[str], watched: tuple[str, ...]) -> list[str]:
    """Which of the watched modules are there after each of some calls in one process, where there are any."""
    show = f"found = [m for m in {watched} if m in sys.modules]; print(*(['@', line, found] if found else []))"
    program = f"import sys; from rewardkit.cli import run\nfor line in {calls}: run(line); {show}"
    done = python("-c", program)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line.startswith("@ ")]


def test_help_and_version_import_nothing_heavy():
    assert not imported(["--help"], ["--version"], watched=(*HEAVY, "pydantic"))


def test_the_help_of_a_subcommand_imports_nothing_heavy():
    assert not imported(*([*name.split(), "--help"] for name in EVERY), watched=HEAVY)
    assert imported(["explain", "length()"], watched=HEAVY), "the reading of sys.modules finds nothing"


def test_version():
    done = python("-m", "rewardkit", "--version")
    assert (done.returncode, done.stdout) == (0, f"rewardkit {rewardkit.__version__}\n")


@pytest.mark.parametrize("arguments", [["trian"], ["--no-such-option"], ["train", "--no-such-option"]])
def test_wrong_usage_is_bad_input(arguments, capsys):
    assert cli.run(arguments) == 2
    captured = capsys.readouterr()
    assert "Error" in captured.err and not captured.out and "Traceback" not in captured.err


def test_an_error_of_the_users_is_one_message_and_exit_code_2(command, capsys):
    def fail() -> None:
        raise ConfigError("the key is 7; expected 8", hint="write 8")

    command(fail)
    assert cli.run(["planted"]) == 2
    captured = capsys.readouterr()
    assert captured.err == "rewardkit: the key is 7; expected 8\n  hint: write 8\n" and not captured.out


def test_a_run_that_died_is_exit_code_1(command, capsys):
    def fail() -> None:
        raise RunError("the run died")

    command(fail)
    assert cli.run(["planted"]) == 1
    assert capsys.readouterr().err == "rewardkit: the run died\n"


def test_a_bug_is_not_dressed_up(command):
    def fail() -> None:
        raise ZeroDivisionError

    command(fail)
    with pytest.raises(ZeroDivisionError):
        cli.run(["planted"])


def test_ctrl_c_is_exit_code_130(command, capsys):
    def wait() -> None:
        signal.signal(
            signal.SIGINT, signal.default_int_handler
        )  # ignored where a shell started pytest in the background
        signal.raise_signal(signal.SIGINT)

    command(wait)
    assert cli.run(["planted"]) == 130
    assert "Traceback" not in capsys.readouterr().err
