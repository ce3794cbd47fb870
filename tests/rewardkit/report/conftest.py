"""Pages that several tests look at; drawing one takes a second."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewardkit.report import report_on
from tests.rewardkit.report.dumps import hacked, hostile


@pytest.fixture(scope="session")
def plain_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a run that learns to pad."""
    return _page(hacked(tmp_path_factory.mktemp("hacked")))


@pytest.fixture(scope="session")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a dump that is full of markup."""
    return _page(hostile(tmp_path_factory.mktemp("hostile")))


def _page(folder: Path) -> str:
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    from rewardkit.report.page import page

    return page(report_on(folder))
