"""Which servers a term may ask, and which keys it may send them: the environment's to say, never a formula's.

A formula travels: in configs, in files, over the network. What it names can cost money and give keys away, so a name in
it does nothing by itself. ``REWARDKIT_ENDPOINTS`` lists what is allowed, by blanks or commas:

    REWARDKIT_ENDPOINTS="https://judge.example.com=JUDGE_KEY http://10.0.0.5:8000"

An entry is a server (scheme, host and port; a path behind them doesn't count), and behind ``=`` the environment
variable whose value may be sent to it as a key. OpenAI's server with its own ``OPENAI_API_KEY``, and servers on this
machine without any key, need no entry.
"""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from typing import Any, Final

from rewardkit.errors import ConfigError
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
    for entry in [_ALWAYS, *os.environ.get(VARIABLE, "").replace(",", " ").split()]:
        server, _, key = entry.partition("=")
        try:
            allowed_origin, _ = _origin(server, wanted_by)
        except ValueError as e:
            raise ConfigError(f"{VARIABLE} has the entry {entry!r}: {e}", hint=f"write {_ALWAYS}") from None
        if allowed_origin == origin:
            allowed = True
            keys.update([key] if key else [])
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
