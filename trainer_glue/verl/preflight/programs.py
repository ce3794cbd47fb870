"""Where the formula's programs will run: whether this machine can shut them in, by trying to break out."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from rewardkit.diagnostics import Severity
from rewardkit.errors import RewardKitError
from rewardkit.programs.breakout import break_out
from rewardkit.programs.sandbox import choose
from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.preflight.graders import REACH_S
from trainer_glue.verl.preflight.subject import Subject

_REWARD: Final = "rewardkit.reward"
_SHOWN: Final = 4
"""Ways out that a message names."""


def check_programs(subject: Subject) -> Iterator[ConfigDiagnostic]:
    """Every sandbox that the formula runs programs in; none where the run is on another machine."""
    reward = subject.resolved.reward
    if reward is None or subject.elsewhere:
        return
    seen: set[tuple[Any, ...]] = set()
    for node in reward.reward.walk():
        if node.term is None or node.term.name != "code_tests" or not node.term.builtin:
            continue
        params = {name: node.param(name) for name in ("sandbox_url", "isolation", "packages")}
        key = (params["sandbox_url"], params["isolation"], tuple(params["packages"]))
        if key not in seen:
            seen.add(key)
            yield from _remote(subject, params["sandbox_url"]) if params["sandbox_url"] else _local(subject, params)


def _remote(subject: Subject, url: str) -> Iterator[ConfigDiagnostic]:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), timeout=REACH_S).close()
    except OSError as e:
        message = f"code_tests runs programs at {url}, and nothing answers there ({e}): no row would be scored"
        yield subject.diagnostic("RKD706", _REWARD, message, "start the sandbox, or mend sandbox_url")


def _local(subject: Subject, params: Mapping[str, Any]) -> Iterator[ConfigDiagnostic]:
    try:
        sandbox = choose(params["isolation"], tuple(params["packages"]))
    except RewardKitError as e:
        yield subject.diagnostic("RKD709", _REWARD, e.message, e.hint)
        return
    attempts = break_out(sandbox, quick=True)
    through = [attempt.name for attempt in attempts if not attempt.held]
    if not through:
        return
    more = f" and {len(through) - _SHOWN} more" if len(through) > _SHOWN else ""
    message = (
        f"programs run in {sandbox.name}, and {len(through)} of {len(attempts)} ways out are open: "
        f"{', '.join(through[:_SHOWN])}{more}"
    )
    fix = "isolation='auto' with Landlock or bubblewrap, or sandbox_url=...; only programs that you trust may run so"
    severity = Severity.WARNING if sandbox.name == "rlimits" else Severity.ERROR
    yield subject.diagnostic("RKD710", _REWARD, message, fix, severity)
