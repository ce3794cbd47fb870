"""Where a reward comes from: a formula's text, a Python file of the user's, or the name of a ready-made one.

A file's text travels with the run: :meth:`RewardSource.to_config` is plain data for a trainer's config, and
:func:`reward_from_config` builds the same reward from it in another process, where the file need not exist. No trainer
may enter.
"""

from __future__ import annotations

import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import re
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from rewardkit.algebra.expression import Expression, Reward, TokenReward
from rewardkit.algebra.json import fingerprint
from rewardkit.algebra.parse import parse
from rewardkit.algebra.term import Need, Term
from rewardkit.errors import ConfigError, FormulaError, RewardKitError, did_you_mean

DEFAULT_NAME: Final = "reward"
"""The variable that a reward file is expected to set."""

_FILE: Final = re.compile(r"(?P<path>.+\.py)(?::(?P<name>[A-Za-z_]\w*))?")
_READY_MADE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]*")


@dataclass(frozen=True)
class RewardSource:
    """A reward and what it was read from.

    Attributes:
        formula: the reward as text, as `repr` prints it.
        source: the text of the Python file it came from; None for a formula.
        name: the variable in that file, or None.
        origin: what the user wrote, for messages.
        reward: the node.
    """

    formula: str
    source: str | None
    name: str | None
    origin: str
    reward: Reward | TokenReward

    @property
    def fingerprint(self) -> str:
        """The reward's fingerprint."""
        return fingerprint(self.reward)

    @property
    def needs(self) -> frozenset[Need]:
        """The parts of a row that some term of the reward reads."""
        return needs(self.reward)

    def to_config(self) -> dict[str, str | None]:
        """Plain data that :func:`reward_from_config` reads. The source is left out where the formula says it all."""
        if all(n.term is None or n.term.builtin for n in self.reward.walk()):
            return {"formula": self.formula, "source": None, "name": None}
        return {"formula": self.formula, "source": self.source, "name": self.name}


def needs(reward: Expression) -> frozenset[Need]:
    """The parts of a row that some term of a formula reads."""
    return frozenset(need for node in reward.walk() if node.term is not None for need in node.term.needs(node))


def load_reward(text: str) -> RewardSource:
    """The reward that a user names by a formula, by ``FILE.py[:name]`` or by the name of a ready-made one.

    Raises:
        FormulaError: a formula that doesn't build.
        ConfigError: no such file or name, or a file that doesn't set a reward.
    """
    wanted = text.strip()
    match = _FILE.fullmatch(wanted)
    if match:
        return _from_file(Path(match["path"]).expanduser(), match["name"] or DEFAULT_NAME, wanted)
    if _READY_MADE.fullmatch(wanted):
        folder = ready_made_folder()
        path = folder / f"{wanted}.py"
        if path.is_file():
            return _from_file(path, DEFAULT_NAME, wanted)
        raise _unclear(wanted)
    try:
        reward = parse(wanted)
    except FormulaError as e:
        if "(" not in wanted:  # every formula but a number calls a term
            raise _unclear(wanted, e) from e
        raise
    return RewardSource(repr(reward), None, None, wanted, reward)


def file_value(text: str, default: str = DEFAULT_NAME) -> Any:
    """What ``FILE.py[:name]`` names, whatever it is; None where the text names no file, or the file no such thing.

    Args:
        text: what the user wrote.
        default: the name to look for where the text has none and the file sets no ``reward``.

    Raises:
        ConfigError: the file is missing or doesn't load.
    """
    match = _FILE.fullmatch(text.strip())
    if match is None:
        return None
    path = Path(match["path"]).expanduser()
    module = _module(_read(path, text.strip()), path.stem, str(path))
    if match["name"]:
        return getattr(module, match["name"], None)
    return getattr(module, DEFAULT_NAME, getattr(module, default, None))


def reward_file(text: str) -> Path | None:
    """The Python file that a user's naming of a reward reads; None for a formula."""
    wanted = text.strip()
    match = _FILE.fullmatch(wanted)
    if match is not None:
        return Path(match["path"]).expanduser()
    path = ready_made_folder() / f"{wanted}.py" if _READY_MADE.fullmatch(wanted) else None
    return path if path is not None and path.is_file() else None


def reward_from_config(config: Mapping[str, Any]) -> Reward | TokenReward:
    """The reward that :meth:`RewardSource.to_config` described, in whatever process this is.

    Raises:
        FormulaError: the formula doesn't parse.
        ConfigError: the source doesn't load, or no longer sets the reward that the formula says.
    """
    formula, source, name = config["formula"], config.get("source"), config.get("name")
    if source is None:
        return parse(formula)
    reward = _reward_in(_module(source, "reward"), name or DEFAULT_NAME, "the reward's source")
    if repr(reward) != formula:
        raise ConfigError(
            f"the reward's source sets {reward!r}; the config's formula is {formula}",
            hint="one of the two was edited: give the file again",
        )
    return reward


def ready_made_folder() -> Path:
    """The folder of ready-made rewards: inside the installed package, or beside it in a source checkout.

    Raises:
        ConfigError: the installation has none.
    """
    package = Path(__file__).resolve().parents[1]
    installed, checkout = package / "rewards", package.parent / "rewards"
    if installed.is_dir():
        return installed
    if checkout.is_dir() and (package.parent / "pyproject.toml").is_file():
        return checkout
    raise ConfigError("this installation of rewardkit has no ready-made rewards", hint="install it again")


def ready_made() -> dict[str, Path]:
    """The ready-made rewards by name."""
    return {p.stem: p for p in sorted(ready_made_folder().glob("*.py")) if not p.stem.startswith("_")}


def _unclear(text: str, error: FormulaError | None = None) -> ConfigError:
    names = ready_made()
    as_formula = error.message.splitlines()[0] if error else "it calls no term, such as length(0.1) does"
    as_file = f"a file's name ends in .py{f'; {text}.py exists' if Path(f'{text}.py').is_file() else ''}"
    swapped = f"{text} is a file that is there: the reward comes before the data" if Path(text).is_file() else None
    return ConfigError(
        f"the reward {text!r} is not clear. As a formula: {as_formula}. As a file: {as_file}. "
        f"As a name: none of {', '.join(names)}",
        hint=swapped
        or did_you_mean(text, names)
        or "write a formula such as \"length(0.1) + ends_with('.?!')\", or FILE.py[:name]",
    )


def _from_file(path: Path, name: str, origin: str) -> RewardSource:
    source = _read(path, origin)
    reward = _reward_in(_module(source, path.stem, str(path)), name, str(path))
    return RewardSource(repr(reward), source, name, origin, reward)


def _read(path: Path, origin: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        known = ", ".join(ready_made())
        raise ConfigError(
            f"the reward {origin!r}: no file {path}", hint=f"a formula, a file that exists, or one of {known}"
        ) from None
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigError(f"the reward {origin!r}: can't read {path}: {e}") from e


def _reward_in(module: ModuleType, name: str, where: str) -> Reward | TokenReward:
    value = getattr(module, name, None)
    if isinstance(value, Reward | TokenReward):
        return value
    rewards = [k for k, v in vars(module).items() if isinstance(v, Reward | TokenReward)]
    if value is None and not hasattr(module, name):
        message = f"{where} sets no {name!r}"
    else:
        message = f"{where}: {name!r} is a {type(value).__name__}; expected a reward"
        if isinstance(value, Expression):
            message += ", and when(condition, 1, 0) makes one of a condition"
    if isinstance(value, Term):
        hint = f"call it: {name} = {value.name}{'(...)' if value.parameters else '()'}"
    elif rewards:
        hint = f"it sets {', '.join(rewards)}: choose one by FILE.py:{rewards[0]}"
    elif callable(getattr(module, "compute_score", None)):
        hint = (
            f"write its compute_score as a formula; `rewardkit compare {where} FORMULA ROWS` shows what they pay apart"
        )
    else:
        hint = f"write `{name} = ...` in it"
    raise ConfigError(message, hint=hint)


class _TextLoader(importlib.abc.SourceLoader):
    """Loads a module from text, and gives the text to `inspect`, so that a user's term has a source in any process."""

    def __init__(self, text: str, filename: str) -> None:
        self._text = text
        self._filename = filename

    def get_filename(self, fullname: str) -> str:
        return self._filename

    def get_data(self, path: str | bytes) -> bytes:
        return self._text.encode()


def _module(source: str, stem: str, filename: str | None = None) -> ModuleType:
    """The module that a text makes; the same text under the same name is loaded once a process."""
    digest = hashlib.sha256(source.encode()).hexdigest()[:12]
    name = f"rewardkit_user_{re.sub(r'[^0-9A-Za-z_]', '_', stem)}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    shown = filename or f"{name}.py"
    loader = _TextLoader(source, shown)
    module = importlib.util.module_from_spec(importlib.machinery.ModuleSpec(name, loader, origin=shown))
    module.__file__ = shown
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException as e:
        del sys.modules[name]
        if isinstance(e, KeyboardInterrupt):
            raise
        raise ConfigError(  # of whatever kind: SystemExit, or a panic of Rust's, would end the process in its name
            f"{shown} doesn't load: {_where(e, shown)}{type(e).__name__}: {e}",
            hint="a reward file stands alone: it may import installed packages, not its neighbours"
            if isinstance(e, ImportError) and not isinstance(e, RewardKitError)
            else None,
        ) from e
    return module


def _where(error: BaseException, filename: str) -> str:
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == filename]
    return f"line {lines[-1]}: " if lines else ""
