"""The one picture: how fast strategies and peers learn, with a panel for each data set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.isotonic import isotonic_regression

from ital.evaluation import plots
from ital.evaluation.peers import PEERS
from ital.evaluation.tables import Run
from ital.gaussian import FloatArray

STRATEGIES = ("context", "ital", "tcal", "border_div", "random", *PEERS)
"""What is drawn unless told otherwise, of what there is."""

_INK, _SOFT = plots.INK, "#63666b"
_SIZE = 10.0
"""Of the names beside lines, in points."""
_GAP = 0.072
"""From name to name, of the height of a panel."""


def panels(runs: list[Run]) -> list[Run]:
    """One run of each data set, with all features and a perfect user.

    Of several the one that learns the base rate, as a search does unless told otherwise.
    """
    found: dict[str, Run] = {}
    for run in sorted(runs, key=lambda one: (one.base_rate != "learnt", one.base_rate != "none")):
        if run.is_plain:
            found.setdefault(run.settings.data, run)
    return [run for run in runs if found.get(run.settings.data) is run]


def save(runs: list[Run], folder: Path, strategies: Sequence[str] | None = None) -> list[Path]:
    """Write `headline.png`, if there are two data sets or more to be seen side by side.

    ``strategies`` are those to be drawn, of which each must be in a run; the main ones if ``None``.
    """
    shown = panels(runs)
    there = {row.strategy: None for run in shown for row in run.rows}
    unknown = [label for label in strategies or () if label not in there]
    if unknown:
        raise ValueError(
            f"headline must name strategies of runs with perfect users, which are "
            f"{', '.join(there) or 'none'}, got {', '.join(unknown)}"
        )
    chosen = [label for label in strategies or STRATEGIES if label in there]
    shown = [run for run in shown if any(label in run.results for label in chosen)]
    if len(shown) < 2:
        return []
    path = folder / "headline.png"
    draw(shown, chosen).savefig(path, dpi=150, facecolor="white")
    return [path]


def draw(runs: list[Run], strategies: Sequence[str]) -> Any:
    """Mean average precision against the questions asked, every line with its name at its end."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    columns = 2 if len(runs) == 4 else min(len(runs), 3)
    rows = -(-len(runs) // columns)
    figure = Figure(
        figsize=(4.6 * columns, 3.7 * rows + 0.6),
        layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.1),
    )
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[len(runs) :]:
        axes.axis("off")
    for place, (axes, run) in enumerate(zip(grid.flat, runs, strict=False)):
        _panel(axes, run, [label for label in strategies if label in run.results])
        plots.dress(
            axes,
            "questions asked" if place + columns >= len(runs) else "",
            "mean average precision" if place % columns == 0 else "",
            _INK,
        )
    rates = dict.fromkeys(run.base_rate for run in runs)
    notes = [f"base rate: {', '.join(rates)}"]
    if set(strategies) & set(PEERS):
        notes.insert(0, "broken lines: tools without our model")
    figure.suptitle("How well unseen images are ranked after a few answers", fontsize=15)
    figure.supxlabel("      ".join(notes), fontsize=_SIZE, color=_SOFT)
    return figure


def _panel(axes: Any, run: Run, labels: list[str]) -> None:
    means = {label: run.curves(label).mean(axis=0) for label in labels}
    for label, mean in means.items():
        first = label == run.main
        asked = run.settings.batch * np.arange(len(mean))
        axes.plot(
            asked,
            mean,
            color=plots.colour(label),
            linestyle=plots.dashes(label),
            linewidth=3.2 if first else 1.8,
            zorder=4 if first else 3,
            solid_capstyle="round",
        )
    axes.set_xlim(0, max(run.settings.batch * (len(mean) - 1) for mean in means.values()))
    name = Path(run.settings.data).stem
    axes.set_title(name, loc="left", fontsize=12, fontweight="bold", color=_INK)
    searches = len(run.results[labels[0]])
    axes.set_title(f"{searches} searches", loc="right", fontsize=_SIZE, color=_SOFT)
    _names(axes, {label: float(mean[-1]) for label, mean in means.items()}, run.main)


def _names(axes: Any, ends: dict[str, float], main: str | None) -> None:
    """Names beside the ends of lines, moved apart where they would cover each other."""
    low, high = axes.get_ylim()
    order = sorted(ends, key=lambda label: ends[label])
    heights = np.array([(ends[label] - low) / (high - low) for label in order])
    places = apart(heights, min(_GAP, 1 / len(order)))
    for label, end, height in zip(order, heights, places, strict=True):
        axes.annotate(
            f"{label}  {ends[label]:.2f}",
            xy=(1.0, end),
            xytext=(1.07, height),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            color=plots.colour(label),
            fontsize=_SIZE,
            fontweight="bold" if label == main else "normal",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": plots.colour(label),
                "linewidth": 0.8,
                "shrinkA": 1,
                "shrinkB": 1,
                "relpos": (0, 0.5),
            },
        )


def apart(heights: FloatArray, gap: float) -> FloatArray:
    """Rising heights within 0 and 1, moved as little as can be (in squares) to be a gap apart."""
    steps = gap * np.arange(len(heights))
    moved: FloatArray = isotonic_regression(heights - steps, y_min=0.0, y_max=1.0 - steps[-1])
    return moved + steps
