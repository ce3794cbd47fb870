"""Which servers a term may ask, and which keys it may send them: the environment's to say, never a formula's.

A formula travels: in configs, in files, over the network. What it names can cost money and give keys away, so a name in
it does nothing by itself. ``REWARDKIT_ENDPOINTS`` lists what is allowed, by blanks or commas:

    REWARDKIT_ENDPOINTS="https://judge.example.com=JUDGE_KEY http://10.0.0.5:8000"

An entry is a server (scheme, host and port; a path behind them doesn't count), and behind ``=`` the environment
variable whose value may be sent to it as a key. OpenAI's server with its own ``OPENAI_API_KEY``, and servers on this
machine without any key, need no entry.

An entry may begin with a name, by which formulas then call the server wherever it is: ``grader=http://10.0.0.5:8000``,
``grader=https://judge.example.com/v1=JUDGE_KEY``. Before the URL may stand which engine serves there
(``sglang+http://...``; vLLM where nothing does), behind it the folder of a reward model's tokenizer
(``http://...#FOLDER``), and in place of a URL a model that is loaded here: ``grader=hf:/models/reward``. A trainer
names the servers that it starts itself: verl's reward model is ``verl``.
"""

from __future__ import annotations

import importlib
import ipaddress
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Protocol

from rewardkit.errors import ConfigError, MissingDependencyError
from rewardkit.terms.optional import optional

VARIABLE: Final = "REWARDKIT_ENDPOINTS"
OPENAI_KEY: Final = "OPENAI_API_KEY"
_ALWAYS: Final = f"https://api.openai.com={OPENAI_KEY}"


@dataclass(frozen=True, slots=True)
class Permission:
    """What may be done at one server.

    Attributes:
        origin: scheme, host and port, as text.
        keys: names of environment variables whose values may be sent there.
    """

    origin: str
    keys: frozenset[str]


def permission(url: str, *, wanted_by: str) -> Permission:
    """What the environment allows at a URL's server.

    Args:
        url: an http or https URL.
        wanted_by: the term that wants to ask it.

    Raises:
        ConfigError: nothing is allowed there, or the list can't be read.
        ValueError: not such a URL.
    """
    origin, host = _origin(url, wanted_by)
    keys: set[str] = set()
    allowed = _is_this_machine(host)
    for entry in (_entry(_ALWAYS), *_entries()):
        if entry.is_local:
            continue
        try:
            allowed_origin, _ = _origin(entry.url, wanted_by)
        except ValueError as e:
            raise ConfigError(f"{VARIABLE} has the entry {entry.text!r}: {e}", hint=f"write {_ALWAYS}") from None
        if allowed_origin == origin:
            allowed = True
            keys.update([entry.key] if entry.key else [])
    if not allowed:
        raise ConfigError(
            f"{wanted_by} may not ask {origin}: a formula alone can't choose where texts and keys go",
            hint=f"if you trust that server, allow it in the environment: {VARIABLE}={origin} "
            f"({origin}=NAME where it needs the key in the variable NAME)",
        )
    return Permission(origin, frozenset(keys))


def key_for(url: str, variable: str, *, wanted_by: str) -> str | None:
    """The key to send to a URL's server: the variable's value, or None where it isn't set or is another server's.

    Raises:
        ConfigError: the server, or sending it this variable, is not allowed. ``OPENAI_API_KEY``, a default, is not an
            error there: it is not sent.
        ValueError: not an http or https URL.
    """
    allowed = permission(url, wanted_by=wanted_by)
    if variable in allowed.keys:
        return os.environ.get(variable) or None
    if variable == OPENAI_KEY:
        return None
    raise ConfigError(
        f"{wanted_by} may not send the variable {variable!r} to {allowed.origin}",
        hint=f"if that is its key, allow it in the environment: {VARIABLE}={allowed.origin}={variable}",
    )


Messages = Sequence[Mapping[str, str]]
"""A conversation: mappings with ``role`` and ``content``."""


class LocalModel(Protocol):
    """A reward model that runs in this process."""

    def scores(self, chats: Sequence[Messages]) -> list[float]:
        """The raw score of each conversation."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server that a term may ask.

    Attributes:
        name: how the formula calls it, for messages.
        url: http or https; empty for a model in this process.
        engine: ``vllm`` or ``sglang``: which of the two's protocols it speaks where they differ.
        key: what is sent to it as a key.
        model: the name of what it serves, where that is known.
        render: from a conversation to what the reward model reads, text or token ids, by its own chat template; None
            where the server has to do it.
        local: the model in this process.
    """

    name: str
    url: str = ""
    engine: str = "vllm"
    key: str | None = None
    model: str | None = None
    render: Callable[[Messages], str | list[int]] | None = None
    local: LocalModel | None = None

    @property
    def chat_url(self) -> str:
        """Where it takes OpenAI's chat completions."""
        base = self.url.rstrip("/")
        return f"{base}{'' if base.count('/') > 2 else '/v1'}/chat/completions"

    @property
    def root(self) -> str:
        """Where the engine's own endpoints are."""
        return self.url.rstrip("/").removesuffix("/v1")


ENGINES: Final = ("vllm", "sglang")
NAME: Final = re.compile(r"[A-Za-z][\w.-]*")
"""What a server can be called."""
_LOCAL: Final = "hf:"
_LOADER: Final = "trainer_glue.reward_models"
"""Imported by its name alone: this package never depends on torch."""
_named: Final[dict[str, Server]] = {}


def serve(server: Server) -> None:
    """Let formulas call a server by its name in this process, over what the environment calls so."""
    _named[server.name] = server


def server(base: str, *, wanted_by: str, key_variable: str = OPENAI_KEY) -> Server:
    """The server that a formula names, by a name or a URL.

    Args:
        base: what stands in the formula.
        wanted_by: the term that wants to ask it.
        key_variable: the variable with the key of a URL; a name's key is the environment's to say.

    Raises:
        ConfigError: nothing is named so here, or the URL or its key is not allowed.
        MissingDependencyError: a local model's packages are not installed.
    """
    if is_url(base):
        engine, url = _engine(base)
        return Server(base, url, engine, key_for(url, key_variable, wanted_by=wanted_by))
    if base in _named:
        return _named[base]
    for entry in _entries():
        if entry.name == base and entry.is_local:
            return Server(base, local=_local(entry.url.removeprefix(_LOCAL)), model=entry.url.removeprefix(_LOCAL))
        if entry.name == base:
            key = os.environ.get(entry.key) if entry.key else None
            render = _loader(entry.text).chat_renderer(entry.tokenizer) if entry.tokenizer else None
            return Server(base, entry.url, entry.engine, key, render=render)
    hint = f"{VARIABLE}={base}=http://host:port says what it is, {VARIABLE}={base}=hf:FOLDER that it is a model here"
    if base == "verl":
        hint = f"verl's reward model is on: reward.reward_model.enable=true; outside verl, {hint}"
    raise ConfigError(f"{wanted_by} asks the server {base!r}, and no server is called so here", hint=hint)


def is_url(base: str) -> bool:
    """Whether it is a URL rather than a server's name."""
    return "://" in base


def checked(base: str, *, wanted_by: str) -> str:
    """A server's name, or a URL that may be asked.

    Raises:
        ConfigError: nothing is allowed at the URL.
        ValueError: neither.
    """
    if is_url(base):
        permission(_engine(base)[1], wanted_by=wanted_by)
    elif not NAME.fullmatch(base):
        raise ValueError("expected a URL such as https://host:port, or a server's name")
    return base


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry of the environment's list."""

    text: str
    name: str
    engine: str
    url: str
    tokenizer: str
    key: str

    @property
    def is_local(self) -> bool:
        return self.url.startswith(_LOCAL)


def _entries() -> Iterator[_Entry]:
    return map(_entry, os.environ.get(VARIABLE, "").replace(",", " ").split())


def _entry(text: str) -> _Entry:
    name, separator, rest = text.partition("=")
    if not separator or not NAME.fullmatch(name):
        name, rest = "", text
    base, _, key = (rest, "", "") if rest.startswith(_LOCAL) else rest.partition("=")
    engine, url = _engine(base)
    url, _, tokenizer = url.partition("#")
    return _Entry(text, name, engine, url, tokenizer, key)


def _engine(base: str) -> tuple[str, str]:
    engine, plus, url = base.partition("+")
    return (engine, url) if plus and engine in ENGINES else (ENGINES[0], base)


@lru_cache(maxsize=4)
def _local(path: str) -> LocalModel:
    model: LocalModel = _loader(f"hf:{path}").LocalRewardModel(path)
    return model


def _loader(entry: str) -> Any:
    try:
        return importlib.import_module(_LOADER)
    except ModuleNotFoundError as e:
        raise MissingDependencyError(
            f"{entry} needs {e.name}, which is not installed", hint="pip install torch transformers"
        ) from e


def _origin(url: str, wanted_by: str) -> tuple[str, str]:
    httpx: Any = optional("httpx", wanted_by=wanted_by, extra="judge")  # the parser that the request goes by, too
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as e:
        raise ValueError(f"not a URL: {e}") from None
    if parsed.scheme not in ("http", "https") or not parsed.host or parsed.userinfo or "\\" in url:
        raise ValueError("expected a URL such as https://host:port, without a user name")
    host = parsed.host.lower().rstrip(".")
    port = parsed.port or {"http": 80, "https": 443}[parsed.scheme]
    shown = f"[{host}]" if ":" in host else host
    return f"{parsed.scheme}://{shown}:{port}", host


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
