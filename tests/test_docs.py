"""The pages that are made from the code say what the code says, and every page is in the site."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
import yaml

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize("name", ["terms", "errors", "design"])
def test_a_page_that_is_made_is_not_stale(name: str) -> None:
    if name == "errors":
        pytest.importorskip("torch")  # an example comes from the converter
    page = runpy.run_path(str(DOCS / f"make_{name}.py"))["page"]()
    assert (DOCS / f"{name}.md").read_text(encoding="utf-8") == page, f"run `python docs/make_{name}.py`"


def test_the_law_of_imports() -> None:
    imports = runpy.run_path(str(DOCS / "make_design.py"))["imports"]()
    for package, (at_once, later) in imports.items():
        if package.startswith("rewardkit"):
            assert not (at_once | later) & {"torch", "transformers", "ray", "verl", "vllm", "trl", "trainer_glue"}, (
                package
            )
    assert imports["rewardkit.cli"][0] == {"rich", "typer"}  # rich by one module that a command loads
    assert "torch" in imports["trainer_glue.checkpoint"][0], "the reading of imports finds nothing"


def test_every_option_of_convert_is_on_its_page() -> None:
    from typer.main import get_command

    from rewardkit.cli.convert import app

    page = (DOCS / "converting.md").read_text(encoding="utf-8")
    options = {o for p in get_command(app).params for o in p.opts if o.startswith("--")}
    assert len(options) > 5
    assert not {option for option in options if option not in page}


def test_every_page_has_its_place() -> None:
    site = yaml.safe_load((DOCS.parent / "mkdocs.yml").read_text())

    def pages(entries: list[dict]) -> set[str]:
        targets = set()
        for entry in entries:
            (target,) = entry.values()
            targets |= {target} if isinstance(target, str) else pages(target)
        return targets

    assert pages(site["nav"]) == {path.name for path in DOCS.glob("*.md")}
