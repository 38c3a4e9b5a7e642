"""Learning curves and calibrations as pictures."""

from __future__ import annotations

import html
import io
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from ital.evaluation.tables import Run, interval, ratios, reliability

_COLOURS = {
    "context": "#0067c5",
    "ital": "#e07b00",
    "entropy": "#4c78a8",
    "random": "#7f7f7f",
    "topscoring": "#a0765b",
    "var": "#8c6bb1",
    "border": "#3f9b46",
    "border_div": "#e45756",
    "unc": "#8a9a2b",
    "emoc": "#c2549d",
    "sud": "#b08a00",
    "tcal": "#1f9ac0",
    "rbmal": "#3d8f86",
    "usdm": "#d0708a",
    "mcmi": "#6b7fd7",
    "adaptal": "#b0603c",
    "maxdet": "#9b59d0",
    "epig": "#2a86e8",
    "powerbald": "#c9783a",
    "uherding": "#5a9e7c",
    "ens": "#e0559a",
    "gal": "#7a8fa6",
    "centroid": "#7d2ae8",
    "svm": "#18833e",
    "forest": "#a23d08",
}
"""The same in every picture, and to be seen on white as well as on black.

Those of `headline.png` also differ for people who do not see red, green or blue.
"""

_DASHES = {"centroid": (0, (5, 2)), "svm": (0, (1.5, 1.2)), "forest": (0, (6, 2, 1.5, 2))}
"""Peers are told from strategies by more than a colour."""

INK = "#1c1c1c"
"""Of all that is no strategy; pages have one of their own for it, by day and by night."""


def colour(strategy: str) -> str:
    """The colour of a strategy; of others than ours, one of these by its name."""
    some = list(_COLOURS.values())
    return _COLOURS.get(strategy, some[zlib.crc32(strategy.encode()) % len(some)])


def dashes(strategy: str) -> Any:
    """The line of a strategy: solid, and broken for peers, each in its own way."""
    return _DASHES.get(strategy, "-")


def learning_curves(run: Run) -> Any:
    """Mean average precision after each round, with bands of 95 % confidence."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.5, 5), layout="constrained")
    axes = figure.subplots()
    for row in run.rows:
        curves = run.curves(row.strategy)
        mean, width, rounds = curves.mean(axis=0), interval(curves), np.arange(curves.shape[1])
        shade, first = colour(row.strategy), row.strategy == run.main
        if width is not None:
            axes.fill_between(
                rounds, mean - width, mean + width, color=shade, alpha=0.12, linewidth=0
            )
        axes.plot(
            rounds,
            mean,
            color=shade,
            linestyle=dashes(row.strategy),
            linewidth=3 if first else 1.6,
            zorder=3 if first else 2,
            label=f"{row.strategy}  {row.area:.3f}",
        )
    axes.set_title(run.name, color=INK)
    _rounds(axes, len(rounds))
    dress(axes, "round of feedback", "mean average precision", INK)
    _legend(axes, "area under the curve")
    figure.patch.set_alpha(0)
    return figure


def calibration(run: Run) -> Any:
    """How often images are relevant that are said to be so, and how many are expected."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator

    found = run.calibrations()
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot([0, 1], [0, 1], color=INK, linewidth=1, linestyle=":")
    right.axhline(1, color=INK, linewidth=1, linestyle=":")
    for label, rounds in found.items():
        shade, first = colour(label), label == run.main
        order, width = (3, 3.0) if first else (2, 1.6)
        counts, sums, hits = reliability(rounds)
        some = counts > 0
        told, true = sums[some] / counts[some], hits[some] / counts[some]
        left.plot(told, true, color=shade, linewidth=width, zorder=order, marker="o", clip_on=False)
        quarters = np.array([np.quantile(ratios(states), [0.25, 0.5, 0.75]) for states in rounds]).T
        places = np.arange(len(rounds))
        right.fill_between(places, quarters[0], quarters[2], color=shade, alpha=0.12, linewidth=0)
        right.plot(places, quarters[1], color=shade, linewidth=width, zorder=order, label=label)
    left.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    right.set_yscale("log")
    low, high = right.get_ylim()
    # Small errors are not to look large.
    right.set_ylim(min(low, 0.5), max(high, 2.0))
    right.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    right.yaxis.set_minor_locator(NullLocator())
    right.yaxis.set_major_formatter("{x:g}")
    _rounds(right, max(map(len, found.values())))
    left.set_title("Reliability, all rounds together", color=INK, fontsize="medium")
    right.set_title("Relevant images, median and quartiles", color=INK, fontsize="medium")
    dress(left, "P(R = 1)", "share of relevant images", INK)
    dress(right, "round of feedback", "expected / true number", INK)
    _legend(right, "strategy")
    figure.suptitle(f"{run.name}, base rate: {run.base_rate}", color=INK)
    figure.patch.set_alpha(0)
    return figure


def _rounds(axes: Any, points: int) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_xlim(0, max(1, points - 1))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def dress(axes: Any, x: str, y: str, ink: str) -> None:
    """Name the axes, and leave no more ink than is needed."""
    axes.set_xlabel(x, color=ink)
    axes.set_ylabel(y, color=ink)
    axes.tick_params(colors=ink, which="both")
    axes.grid(alpha=0.25)
    for side, spine in axes.spines.items():
        spine.set(visible=side in ("left", "bottom"), color=ink)
    axes.patch.set_alpha(0)


def _legend(axes: Any, title: str) -> None:
    legend = axes.legend(
        loc="center left",
        bbox_to_anchor=(1.01, 0.5),
        frameon=False,
        title=title,
        handlelength=2.6,  # long enough to tell dashes by
    )
    for text in (*legend.get_texts(), legend.get_title()):
        text.set_color(INK)


def save(run: Run, folder: Path) -> list[Path]:
    """The curves as PNG and SVG, and the calibrations if there are any."""
    figures = {"curves": learning_curves(run)}
    if run.calibrations():
        figures["calibration"] = calibration(run)
    paths = []
    for name, figure in figures.items():
        for kind in ("png", "svg"):
            paths.append(folder / f"{name}-{run.name}.{kind}")
            figure.savefig(paths[-1], dpi=130, facecolor="white")
            figure.set_layout_engine("none")  # all has its place now
    return paths


def svg(figure: Any, label: str, ink: str) -> str:
    """A figure as SVG to stand in a page, with ink of the page's own."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg")
    text = buffer.getvalue().replace(INK, ink)
    label = html.escape(label)
    return text[text.index("<svg") :].replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
