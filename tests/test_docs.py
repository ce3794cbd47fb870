"""The pages that are made from the code say what the code says, and every page is in the site."""

from __future__ import annotations

import runpy
from pathlib import Path

import yaml

DOCS = Path(__file__).parent.parent / "docs"


def test_the_page_of_the_terms_is_not_stale() -> None:
    page = runpy.run_path(str(DOCS / "make_terms.py"))["page"]()
    assert (DOCS / "terms.md").read_text(encoding="utf-8") == page, "run `python docs/make_terms.py`"


def test_every_page_has_its_place() -> None:
    site = yaml.safe_load((DOCS.parent / "mkdocs.yml").read_text())

    def pages(entries: list[dict]) -> set[str]:
        found = set()
        for entry in entries:
            (target,) = entry.values()
            found |= {target} if isinstance(target, str) else pages(target)
        return found

    assert pages(site["nav"]) == {path.name for path in DOCS.glob("*.md")}
