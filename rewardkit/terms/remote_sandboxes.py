"""A remote sandbox for terms: which servers may be asked, and with which key, is the environment's to say.

``REWARDKIT_ENDPOINTS="http://10.0.0.5:8080"`` allows a server, ``...=SANDBOX_KEY`` sends it the value of that variable
as a key. :mod:`rewardkit.terms.endpoints` has the rules.
"""

from __future__ import annotations

import os
from functools import lru_cache

from rewardkit.errors import ConfigError
from rewardkit.programs.remote import RemoteSandbox
from rewardkit.programs.remote.services import service_of
from rewardkit.terms.endpoints import OPENAI_KEY, permission
from rewardkit.terms.optional import optional


def checked_address(url: str, *, wanted_by: str) -> str:
    """The address of a sandbox, if it is one and may be asked.

    Raises:
        MissingDependencyError: httpx is not installed.
        ConfigError: the environment doesn't allow that server.
        ValueError: not the address of a sandbox.
    """
    httpx = optional("httpx", wanted_by=wanted_by, extra="code")
    permission(url, wanted_by=wanted_by)
    service_of(httpx.URL(url).path)
    return url


def remote_sandbox(url: str, *, size: int, rate: float | None, wanted_by: str) -> RemoteSandbox:
    """The sandbox at an address: one for a process, so that its bounds hold over all formulas.

    Args:
        url: the whole address, such as ``http://HOST:PORT/run_code``.
        size: programs that run there at a time.
        rate: requests that may begin in a second; None: as many as there are.
        wanted_by: the term that wants it.

    Raises:
        MissingDependencyError, ConfigError, ValueError: as :func:`checked_address`.
    """
    checked_address(url, wanted_by=wanted_by)
    names = sorted(permission(url, wanted_by=wanted_by).keys - {OPENAI_KEY})
    if len(names) > 1:
        raise ConfigError(
            f"REWARDKIT_ENDPOINTS has {len(names)} keys for {url}: {', '.join(names)}", hint="leave one of them"
        )
    key = os.environ.get(names[0]) if names else None
    return _sandbox(url, size, rate, key, os.getpid())


@lru_cache(maxsize=16)
def _sandbox(url: str, size: int, rate: float | None, key: str | None, process: int) -> RemoteSandbox:
    return RemoteSandbox(url, headers={"Authorization": f"Bearer {key}"} if key else {}, size=size, rate=rate)
