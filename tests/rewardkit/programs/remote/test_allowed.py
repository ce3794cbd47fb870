"""Which sandboxes a term may ask, and with which key."""

from __future__ import annotations

import pytest

from rewardkit.errors import ConfigError
from rewardkit.programs.limits import Limits
from rewardkit.terms.remote_sandboxes import checked_address, remote_sandbox
from tests.rewardkit.programs.remote.servers import Answer, Handler, Seen, serving

pytest.importorskip("httpx")


def test_a_server_that_the_environment_does_not_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "https://sandbox.example.com/run_code"
    with pytest.raises(ConfigError, match="may not ask https://sandbox.example.com:443"):
        checked_address(url, wanted_by="code_tests")
    monkeypatch.setenv("REWARDKIT_ENDPOINTS", "https://sandbox.example.com")
    assert checked_address(url, wanted_by="code_tests") == url
    with pytest.raises(ValueError, match="whole address"):
        checked_address("https://sandbox.example.com/", wanted_by="code_tests")


def test_the_key_that_the_environment_names_is_sent_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str | None] = []

    def keep(handler: Handler, answer: Answer, seen: Seen) -> Answer:
        sent.append(handler.headers["Authorization"])
        return answer

    monkeypatch.setenv("OPENAI_API_KEY", "not for them")
    monkeypatch.setenv("SANDBOX_KEY", "s3cret")
    with serving("Piston", keep) as (url, _):
        remote_sandbox(url, size=2, rate=None, wanted_by="code_tests").run("", "", Limits())
        monkeypatch.setenv("REWARDKIT_ENDPOINTS", f"{url}=SANDBOX_KEY")
        remote_sandbox(url, size=2, rate=None, wanted_by="code_tests").run("", "", Limits())
        monkeypatch.setenv("REWARDKIT_ENDPOINTS", f"{url}=SANDBOX_KEY {url}=OTHER")
        with pytest.raises(ConfigError, match="2 keys"):
            remote_sandbox(url, size=2, rate=None, wanted_by="code_tests")
    assert sent == [None, "Bearer s3cret"]


def test_one_sandbox_for_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "http://127.0.0.1:9/run_code"
    assert remote_sandbox(url, size=2, rate=None, wanted_by="a") is remote_sandbox(
        url, size=2, rate=None, wanted_by="b"
    )
