"""The report as one page that needs no network: pictures inside, no script. What a model wrote is only ever text.

Three things see to that, each alone enough: the template escapes every value, pictures are images and not markup, and
the page's own policy forbids scripts and requests.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from importlib import resources
from typing import Any, Final

from rewardkit.errors import MissingDependencyError
from rewardkit.report.result import TOTAL, WORDS, RolloutReport
from rewardkit.report.texts import encodable
from rewardkit.scoring.tally import Moments

_ALT: Final[Mapping[str, str]] = {
    "steps": "The mean of the total, of each term and of the length, step by step",
    "groups": "The share of dead groups and of rows without a usable answer, step by step",
    "spread": "How the total and each term are distributed",
    "relations": "The correlation of each term with each other, with the total and with the length",
    "length": "The score against the length of the response",
    "statuses": "The share of each status, by term",
}
_CONTROLS: Final = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"} | {127: 0x2421}
"""Control characters are shown, not obeyed."""


def require() -> None:
    """Say what is missing before a long dump is read.

    Raises:
        MissingDependencyError: matplotlib or jinja2 is not installed.
    """
    for name in ("matplotlib", "jinja2"):
        try:
            __import__(name)
        except ImportError:
            raise MissingDependencyError(
                f"--html needs {name}, which is not installed", hint="pip install 'rewardkit-rl[report]'"
            ) from None


def page(report: RolloutReport) -> str:
    """An HTML document.

    Raises:
        MissingDependencyError: matplotlib or jinja2 is not installed.
    """
    require()
    import jinja2

    from rewardkit.report.plots import draw

    environment = jinja2.Environment(
        autoescape=True, finalize=_shown, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"number": _number, "percent": lambda value: f"{value:.1%}"}
    template = environment.from_string(
        resources.files("rewardkit.report").joinpath("page.html.j2").read_text(encoding="utf-8")
    )
    return template.render(
        r=report,
        columns=[_column(report, name, m) for name, m in {TOTAL: report.total, **report.terms}.items()],
        words=_column(report, WORDS, report.words) if report.has_texts else None,
        pictures={name: (_data_uri(svg), _ALT[name]) for name, svg in draw(report).items()},
        timed=len(report.steps) > 1,
        first=report.steps.items()[0][0] if len(report.steps) else None,
        last=report.steps.items()[-1][0] if len(report.steps) else None,
    )


def _shown(value: Any) -> Any:
    """What goes into the page, before it is escaped."""
    if type(value) is str:
        return encodable(value).translate(_CONTROLS)
    return value


def _column(report: RolloutReport, name: str, moments: Moments) -> dict[str, Any]:
    first, last = report.first_and_last(name)
    # One of a term's statuses is plain; the total and the length have none of their own.
    shares = moments.shares() if name in report.terms else {}
    return {
        "name": name,
        "numbers": [moments.mean, moments.std, moments.low, moments.high] if moments.count else [math.nan] * 4,
        "first": first,
        "last": last,
        "statuses": ", ".join(f"{status} {share:.1%}" for status, share in shares.items() if status != "scored"),
    }


def _number(value: float) -> str:
    return "-" if not math.isfinite(value) else f"{value:.4g}"


def _data_uri(svg: str) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
