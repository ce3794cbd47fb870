"""How much a server may be asked: at once, a minute, and in a whole run. The environment says it.

``REWARDKIT_LIMITS`` holds ``name=number`` by blanks. What stands before the first server holds for every server, each
counted apart; what stands behind a server, by its URL or its name, holds for that one:

    REWARDKIT_LIMITS="concurrency=64 https://api.openai.com requests_per_minute=500 requests=20000"
"""

from __future__ import annotations

import math
import os
from collections import deque
from dataclasses import dataclass, fields, replace
from typing import Final

from rewardkit.errors import ConfigError, did_you_mean
from rewardkit.processes.usage import Usage

VARIABLE: Final = "REWARDKIT_LIMITS"
MINUTE: Final = 60.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What one server may be asked."""

    concurrency: float = 32
    """Requests under way at once."""
    requests_per_minute: float = math.inf
    tokens_per_minute: float = math.inf
    """Read and written."""
    requests: float = math.inf
    """In a run, as the next two."""
    tokens: float = math.inf
    usd: float = math.inf
    usd_per_million_input: float = 0.0
    """Dollars for a million tokens that are read, for the two sums in dollars."""
    usd_per_million_output: float = 0.0

    def shared(self, processes: int) -> Limits:
        """The share of one of several processes that ask the same server."""
        prices = ("usd_per_million_input", "usd_per_million_output")
        shares = {f.name: getattr(self, f.name) / processes for f in fields(self) if f.name not in prices}
        return replace(self, **{**shares, "concurrency": max(1.0, shares["concurrency"] // 1)})

    def cost(self, read: int, written: int) -> float:
        """Dollars for so many tokens."""
        return (read * self.usd_per_million_input + written * self.usd_per_million_output) / 1e6


def limits_for(url: str, name: str = "") -> Limits:
    """The limits of a server.

    Args:
        url: any URL of it.
        name: what formulas call it.

    Raises:
        ConfigError: the list can't be read.
    """
    known = {f.name for f in fields(Limits)}
    given: dict[str, float] = {}
    here = True
    for item in os.environ.get(VARIABLE, "").replace(",", " ").split():
        key, separator, number = item.partition("=")
        if not separator:
            here = item == name or _same_server(item, url)
            continue
        if key not in known:
            hint = did_you_mean(key, known) or f"the limits are {', '.join(sorted(known))}"
            raise ConfigError(f"{VARIABLE} has the entry {item!r}: no limit is called {key!r}", hint=hint)
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not value > 0 and not (value == 0 and key.startswith("usd_per")):
            raise ConfigError(f"{VARIABLE} has the entry {item!r}: {number!r} is no number above 0")
        if here:
            given[key] = value
    return Limits(**given)


def _same_server(item: str, url: str) -> bool:
    base = item.rstrip("/")
    return url == base or url.startswith((f"{base}/", f"{base}:"))


class Spent(Exception):
    """What the run may spend on a server is spent."""


@dataclass(slots=True)
class Started:
    """A request that started."""

    when: float
    tokens: float
    recent: bool = True


class Meter:
    """What was asked of a server within the last minute and in the whole run. One event loop at a time uses it.

    Args:
        limits: of the server.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.total = Usage()
        self._recent: deque[Started] = deque()
        self._tokens = 0.0

    def wait(self, now: float, tokens: int) -> float:
        """Seconds until a request of about so many tokens may start; 0 where it may at once.

        Raises:
            Spent: none ever may.
        """
        self._check_budget()
        while self._recent and self._recent[0].when <= now - MINUTE:
            old = self._recent.popleft()
            old.recent = False
            self._tokens -= old.tokens
        if not self._recent:
            return 0.0  # also for a request that alone is larger than the limit
        waits = [0.0]
        surplus = len(self._recent) + 1 - self.limits.requests_per_minute
        if surplus > 0:
            waits.append(self._recent[min(len(self._recent), math.ceil(surplus)) - 1].when + MINUTE - now)
        over = self._tokens + tokens - self.limits.tokens_per_minute
        for started in self._recent if over > 0 else ():
            over -= started.tokens
            waits.append(started.when + MINUTE - now)
            if over <= 0:
                break
        return max(waits)

    def start(self, now: float, tokens: int) -> Started:
        """Count a request that starts; hand what comes back to :meth:`settle`."""
        started = Started(now, tokens)
        self._recent.append(started)
        self._tokens += tokens
        self.total.requests += 1
        return started

    def settle(self, started: Started, read: int, written: int) -> Usage:
        """Put what a request really took in the place of the estimate."""
        if started.recent:
            self._tokens += read + written - started.tokens
        started.tokens = read + written
        usage = Usage(1, read + written, self.limits.cost(read, written))
        self.total.tokens += usage.tokens
        self.total.usd += usage.usd
        return usage

    def _check_budget(self) -> None:
        for name in ("requests", "tokens", "usd"):
            most, spent = getattr(self.limits, name), getattr(self.total, name)
            if spent >= most:
                raise Spent(f"the run's budget is spent: {spent:,.6g} of {most:,.6g} {name} ({VARIABLE})")
