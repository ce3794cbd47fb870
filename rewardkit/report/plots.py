"""The pictures of a report, as SVG by matplotlib. Each says one thing, in one colour, with its numbers beside it.

A page embeds them as images, where no script can run; what stands in them is never read as markup or as mathematics.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rewardkit.batch import Floats, Status
from rewardkit.report.result import TOTAL, WORDS, RolloutReport
from rewardkit.report.steps import Point, caused_of, dead_of, term_of, total_of, words_of
from rewardkit.scoring.tally import Moments

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS: Final = 18
"""Terms that are drawn; the table has all."""
_FEW: Final = 12
"""Different values that are drawn one by one."""
_BLUE, _RED, _GREY, _INK = "#2b5c9e", "#b3432f", "#9aa3ad", "#22272e"
_STATUS_COLOURS: Final = {
    Status.SCORED: "#c9d6e8",
    Status.NOT_APPLICABLE: "#e6e8eb",
    Status.NO_ANSWER: "#e0a33e",
    Status.AMBIGUOUS: "#c97b2c",
    Status.BAD_GOLD: "#8d6bb0",
    Status.LIMIT: "#b98b6b",
    Status.TIMEOUT: "#7d8c99",
    Status.ERROR: "#b3432f",
}
_STYLE: Final[dict[str, Any]] = {
    "font.family": "sans-serif",
    "font.size": 9,
    "svg.fonttype": "none",  # text stays text: small, and in the reader's fonts
    "svg.hashsalt": "rewardkit",
    "text.parse_math": False,  # a term may be called $x$
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": _GREY,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.titlecolor": _INK,
    "xtick.color": "#57606a",
    "ytick.color": "#57606a",
    "axes.labelcolor": "#57606a",
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#e8eaed",
    "axes.axisbelow": True,
}


def draw(report: RolloutReport) -> dict[str, str]:
    """All pictures of a report that have something to show: from a name to an SVG document."""
    import matplotlib as mpl

    makers = {
        "steps": _over_steps,
        "groups": _dead_groups,
        "spread": _distributions,
        "relations": _correlations,
        "length": _by_length,
        "statuses": _statuses,
    }
    pictures = {}
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # measured without it, drawn by the reader's fonts
        for name, make in makers.items():
            figure = make(report)
            if figure is not None:
                pictures[name] = _svg(figure)
    return pictures


def _panels(n: int, width: float = 3.3, height: float = 2.0) -> tuple[Figure, list[Any]]:
    from matplotlib.figure import Figure

    columns = min(3, n)
    figure = Figure(figsize=(width * columns, height * math.ceil(n / columns)), layout="constrained")
    axes = figure.subplots(math.ceil(n / columns), columns, squeeze=False).ravel()
    for unused in axes[n:]:
        unused.set_visible(False)
    return figure, list(axes[:n])


def _names(report: RolloutReport) -> list[str]:
    return list(report.terms)[:PANELS]


def _over_steps(r: RolloutReport) -> Figure | None:
    if len(r.steps) < 2:
        return None
    curves = {TOTAL: r.steps.curve(total_of)}
    curves |= {name: r.steps.curve(term_of(name)) for name in _names(r)}
    if r.has_texts:
        curves["length in words"] = r.steps.curve(words_of)
    curves = {name: curve for name, curve in curves.items() if curve}
    figure, axes = _panels(len(curves))
    whole = {TOTAL: r.total, **r.terms}
    for ax, (name, curve) in zip(axes, curves.items(), strict=True):
        _curve(ax, curve, whole.get(name, r.words), _INK if name == TOTAL else _BLUE)
        ax.set_title(_label(name), fontweight="bold" if name == TOTAL else "normal")
    _step_labels(axes)
    return figure


def _curve(ax: Any, curve: Sequence[Point], whole: Moments, colour: str) -> None:
    steps = [p.step for p in curve]
    low = [max(p.mean - p.std, whole.low) for p in curve]  # no value lies beyond
    high = [min(p.mean + p.std, whole.high) for p in curve]
    ax.fill_between(steps, low, high, color=colour, alpha=0.12, linewidth=0)
    ax.plot(steps, [p.mean for p in curve], color=colour, linewidth=1.6, marker="o" if len(curve) < 3 else None)


def _dead_groups(r: RolloutReport) -> Figure | None:
    shares = r.steps.shares(dead_of)
    failing = {name: r.steps.shares(caused_of(name)) for name in _names(r)}
    failing = {
        name: line_points
        for name, line_points in failing.items()
        if len(line_points) > 1 and any(p.mean for p in line_points)
    }
    panels = {"dead groups": (shares, _RED)} if len(shares) > 1 else {}
    panels |= {
        f"{name}: no usable answer": (line_points, _STATUS_COLOURS[Status.AMBIGUOUS])
        for name, line_points in failing.items()
    }
    if not panels:
        return None
    figure, axes = _panels(len(panels))
    for ax, (name, (points, colour)) in zip(axes, panels.items(), strict=True):
        ax.fill_between([p.step for p in points], [p.mean for p in points], color=colour, alpha=0.25, linewidth=0)
        ax.plot([p.step for p in points], [p.mean for p in points], color=colour, linewidth=1.6)
        ax.set_ylim(0, 1)
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        ax.set_title(_label(name))
    _step_labels(axes)
    return figure


def _distributions(r: RolloutReport) -> Figure:
    columns = {TOTAL: r.numbers.column(TOTAL), **{name: r.numbers.column(name) for name in _names(r)}}
    columns = {name: finite for name, values in columns.items() if len(finite := values[np.isfinite(values)])}
    figure, axes = _panels(len(columns))
    for ax, (name, values) in zip(axes, columns.items(), strict=True):
        _bars(ax, values, _INK if name == TOTAL else _BLUE)
        ax.axvline(values.mean(), color=_RED, linewidth=1.2)
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        ax.set_title(_label(name), fontweight="bold" if name == TOTAL else "normal")
    return figure


def _bars(ax: Any, values: Floats, colour: str) -> None:
    """Of few different values each gets a bar of its own."""
    different, counts = np.unique(values, return_counts=True)
    reach = float(different[-1] - different[0])
    gap = float(np.diff(different).min()) if len(different) > 1 else 1.0
    if len(different) <= _FEW and gap >= reach / 40:
        ax.bar(different, counts / len(values), 0.4 * gap, color=colour, alpha=0.8)
        ax.set_xlim(different[0] - gap, different[-1] + gap)
        return
    edges = np.linspace(different[0], different[-1], 31)
    shares = np.histogram(values, edges)[0] / len(values)
    ax.bar(edges[:-1], shares, np.diff(edges) * 0.92, align="edge", color=colour, alpha=0.8)


def _correlations(r: RolloutReport) -> Figure | None:
    from matplotlib.figure import Figure

    n = min(len(r.relations.names), PANELS)
    if n < 2:
        return None
    matrix = r.relations.matrix[:n, :n]
    side = 0.62 * n + 2.4
    figure = Figure(figsize=(min(10.0, side + 0.8), min(9.0, side * 0.72)), layout="constrained")
    ax = figure.subplots()
    ax.grid(visible=False)
    ax.pcolormesh(matrix, cmap="RdBu", vmin=-1, vmax=1, edgecolors="white", linewidth=1)
    ax.invert_yaxis()
    labels = [_label(name) for name in r.relations.names[:n]]
    ax.set_xticks(np.arange(n) + 0.5, labels, rotation=35, ha="right")
    ax.set_yticks(np.arange(n) + 0.5, labels)
    for spine in ax.spines.values():
        spine.set_visible(False)
    for i in range(n):
        for j in range(n):
            value = matrix[i, j]
            text = "" if math.isnan(value) else f"{value:.2f}"
            ax.text(
                j + 0.5,
                i + 0.5,
                text,
                ha="center",
                va="center",
                color="white" if abs(value) > 0.6 else _INK,
                fontsize=8.5,
            )
    return figure


def _by_length(r: RolloutReport) -> Figure | None:
    from matplotlib.figure import Figure

    if WORDS not in r.numbers:
        return None
    words, total = r.numbers.column(WORDS), r.numbers.column(TOTAL)
    both = np.isfinite(words) & np.isfinite(total)
    words, total = words[both], total[both]
    if len(words) < 2 or words.max() == words.min():
        return None
    figure = Figure(figsize=(9.9, 3.0), layout="constrained")
    scatter, means = figure.subplots(1, 2)
    reach = float(np.quantile(words, 0.995)) or float(words.max())
    shown = words <= reach
    scatter.hexbin(words[shown], total[shown], gridsize=(36, 16), mincnt=1, bins="log", cmap="Blues", linewidths=0.2)
    scatter.set_title("each response: score against length")
    scatter.set_xlabel("words")
    edges = np.unique(np.quantile(words, np.linspace(0, 1, 13)))
    bins = np.clip(np.searchsorted(edges, words, side="right") - 1, 0, len(edges) - 2)
    centres, mean, error = [], [], []
    for b in np.unique(bins):
        inside = bins == b
        centres.append(float(words[inside].mean()))
        mean.append(float(total[inside].mean()))
        error.append(float(total[inside].std() / math.sqrt(inside.sum())))
    means.errorbar(centres, mean, yerr=error, color=_BLUE, marker="o", markersize=3.5, linewidth=1.4, capsize=2)
    means.set_title("mean score by length, with its standard error")
    means.set_xlabel("words")
    return figure


def _statuses(r: RolloutReport) -> Figure | None:
    from matplotlib.figure import Figure

    names = [name for name in _names(r) if set(r.terms[name].shares()) - {"scored"}]
    if not names:
        return None
    figure = Figure(figsize=(9.9, 0.36 * len(names) + 0.9), layout="constrained")
    ax = figure.subplots()
    ax.grid(visible=False)
    left = np.zeros(len(names))
    for status in Status:
        share = np.array([r.terms[name].shares().get(status.name.lower(), 0.0) for name in names])
        if share.any():
            ax.barh(range(len(names)), share, left=left, color=_STATUS_COLOURS[status], label=status.name.lower())
            left += share
    ax.set_yticks(range(len(names)), [_label(name) for name in names])
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.legend(ncols=len(Status), loc="lower left", bbox_to_anchor=(0, 1), frameon=False, fontsize=8.5)
    return figure


def _step_labels(axes: Sequence[Any]) -> None:
    from matplotlib.ticker import MaxNLocator

    for ax in axes:
        ax.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        ax.set_xlabel("step")


def _label(name: str, most: int = 34) -> str:
    line = " ".join(name.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _svg(figure: Figure) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()
