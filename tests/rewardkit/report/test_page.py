"""The page: what a model wrote stays text, nothing is fetched, every picture has its place."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from rewardkit.report import report_on
from tests.rewardkit.report.dumps import ATTACKS, verl_dump, verl_row

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from rewardkit.report.page import page


class Tags(HTMLParser):
    """All that a browser would act on."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(html: str) -> Tags:
    tags = Tags()
    tags.feed(html)
    tags.close()
    return tags


KNOWN = {
    *(
        "html",
        "head",
        "meta",
        "link",
        "title",
        "style",
        "body",
        "h1",
        "h2",
        "p",
        "b",
        "small",
        "code",
        "ul",
        "li",
        "div",
    ),
    *("table", "tr", "th", "td", "img", "article", "pre", "details", "summary"),
}


def test_no_tag_or_attribute_comes_from_a_text(hostile_page: str) -> None:
    page = parsed(hostile_page)
    assert {tag for tag, _ in page.tags} <= KNOWN
    names = {name for _, attributes in page.tags for name in attributes}
    assert names <= {
        "lang",
        "charset",
        "http-equiv",
        "content",
        "name",
        "rel",
        "href",
        "id",
        "src",
        "alt",
        "class",
        "dir",
    }
    for attack in ATTACKS:
        assert attack in page.text


def test_nothing_is_fetched_from_anywhere(hostile_page: str) -> None:
    addresses = [a[k] for _, a in parsed(hostile_page).tags for k in ("src", "href") if k in a]
    assert addresses
    assert all(str(address).startswith("data:") for address in addresses)
    assert "default-src 'none'" in hostile_page


def test_the_page_can_be_written_and_shows_control_characters(hostile_page: str) -> None:
    hostile_page.encode("utf-8")
    assert "\x00" not in hostile_page
    assert "\x1b" not in hostile_page
    assert "\u2400\u241b[31m" in hostile_page


def pictures(html: str) -> dict[str, ET.Element]:
    by_id: dict[str, ET.Element] = {}
    for tag, attributes in parsed(html).tags:
        if tag == "img":
            data = str(attributes["src"]).partition("base64,")[2]
            by_id[str(attributes["id"])] = ET.fromstring(base64.b64decode(data))
    return by_id


def texts_of(svg: ET.Element) -> list[str]:
    return ["".join(node.itertext()).strip() for node in svg.iter() if node.tag.endswith("}text")]


def test_pictures_are_drawn_of_all_that_varies(plain_page: str) -> None:
    drawn = pictures(plain_page)
    names = ("steps", "groups", "spread", "relations", "length", "statuses")
    assert set(drawn) == {f"picture-{name}" for name in names}
    assert {"total", "gsm8k", "length", "length in words"} <= set(texts_of(drawn["picture-steps"]))
    assert "no_answer" in texts_of(drawn["picture-statuses"])
    assert plain_page.count('class="paid"') == 10
    assert "<script" not in plain_page


def test_names_in_pictures_are_neither_markup_nor_mathematics(hostile_page: str) -> None:
    for svg in pictures(hostile_page).values():
        assert not [node for node in svg.iter() if node.tag.rpartition("}")[2] in ("script", "foreignObject", "image")]
    assert "$x$" in texts_of(pictures(hostile_page)["picture-steps"])


def test_one_step_without_groups_or_terms_is_a_page_too(tmp_path: Path) -> None:
    row: dict[str, Any] = {"output": "x", "score": 1.0}
    html = page(report_on(verl_dump(tmp_path / "d", {1: [row]})))
    assert set(pictures(html)) == {"picture-spread"}
    assert "Nothing stands out." in html


def test_equal_reports_give_equal_pages(tmp_path: Path) -> None:
    report = report_on(verl_dump(tmp_path / "d", {1: [verl_row(1, 0, k, "x", float(k)) for k in range(3)]}))
    first = page(report)
    assert page(report) == first
    assert not re.search(r"\d\d:\d\d:\d\d", first)  # no time of day: a page can be compared with another one
