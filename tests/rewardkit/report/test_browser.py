"""The page in a real browser: it renders, says nothing in the console, fetches nothing, and runs nothing."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.rewardkit.report.dumps import ATTACKS

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright, which drives the browser")
pytestmark = pytest.mark.browser
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PWNED = (
    "() => [window.pwned, ...[...document.querySelectorAll('iframe')].map(f => f.contentWindow.pwned)].some(Boolean)"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    path = next((launched for name in NAMES if (launched := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"needs a Chromium on the path ({', '.join(NAMES)}); Debian has it as `chromium`")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium's sandbox refuses root
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=path, args=arguments)
        yield launched
        launched.close()


@dataclass
class Seen:
    """What a browser did with a page."""

    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Any]:
    opened = []

    def visit(html: str) -> Seen:
        file = tmp_path / f"page{len(opened)}.html"
        file.write_text(html, encoding="utf-8")
        tab = browser.new_page(viewport={"width": 1100, "height": 900})
        opened.append(tab)
        seen = Seen(tab)
        tab.on("console", lambda message: seen.said.append(f"{message.type}: {message.text}"))
        tab.on("pageerror", lambda error: seen.said.append(str(error)))
        tab.on("dialog", lambda dialog: (seen.said.append(dialog.message), dialog.dismiss()))
        tab.on("request", lambda request: seen.asked.append(request.url))
        tab.goto(file.as_uri(), wait_until="load")
        tab.wait_for_timeout(200)  # what an injected handler would need
        seen.asked = [url for url in seen.asked if url != file.as_uri() and not url.startswith("data:")]
        return seen

    yield visit
    for tab in opened:
        tab.close()


def test_the_page_renders_and_asks_for_nothing(visit: Any, plain_page: str) -> None:
    seen = visit(plain_page)
    assert (seen.said, seen.asked) == ([], [])
    assert seen.page.locator("h2").count() >= 9
    sizes = seen.page.eval_on_selector_all(
        "img", "all => all.map(i => [i.naturalWidth, i.getBoundingClientRect().width])"
    )
    assert len(sizes) == 6
    assert all(drawn > 100 and shown > 100 for drawn, shown in sizes)
    assert "near-duplicates under 24 prompts" in seen.page.locator("ul.notes").inner_text()
    wide = seen.page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth")
    assert wide <= 0  # nothing sticks out
    prompt = seen.page.locator("pre.prompt").first
    assert not prompt.is_visible()
    seen.page.locator("summary").first.click()
    assert prompt.is_visible()


def test_it_fits_a_narrow_window(visit: Any, plain_page: str) -> None:
    seen = visit(plain_page)
    seen.page.set_viewport_size({"width": 420, "height": 800})
    assert seen.page.evaluate("() => document.documentElement.scrollWidth") <= 420


def without_policy(html: str) -> str:
    bare, removed = re.subn(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html)
    assert removed == 1
    return bare


@pytest.mark.parametrize("policy", [True, False], ids=["with its policy", "by escaping alone"])
def test_scripts_in_responses_prompts_ground_truths_and_names_do_not_run(
    visit: Any, hostile_page: str, policy: bool
) -> None:
    seen = visit(hostile_page if policy else without_policy(hostile_page))
    assert seen.page.evaluate(PWNED) is False
    assert seen.page.evaluate("() => document.scripts.length") == 0
    assert (seen.said, seen.asked) == ([], [])
    shown = " ".join(seen.page.locator("pre.response").all_inner_texts())
    assert any(attack in shown for attack in ATTACKS)


@pytest.mark.parametrize("attack", ATTACKS[:5])
def test_the_same_attacks_do_run_where_they_are_not_escaped(visit: Any, plain_page: str, attack: str) -> None:
    html = without_policy(plain_page)
    planted = html.replace('<pre class="response" dir="auto">', f'<pre class="response" dir="auto">{attack}', 1)
    assert planted != html
    seen = visit(planted)
    assert seen.page.evaluate(PWNED) is True
