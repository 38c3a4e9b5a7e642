"""Learning curves as pictures."""

from __future__ import annotations

import html
import io
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from ital.evaluation.tables import Run, interval

_COLOURS = {
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
}
"""The same in every picture, and to be seen on white as well as on black."""

LIGHT, DARK = "#1c1c1c", "#e6e6e6"


def colour(strategy: str) -> str:
    """The colour of a strategy; of others than ours, one of these by its name."""
    some = list(_COLOURS.values())
    return _COLOURS.get(strategy, some[zlib.crc32(strategy.encode()) % len(some)])


def learning_curves(run: Run, ink: str = LIGHT) -> Any:
    """Mean average precision after each round, with bands of 95 % confidence."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(8.5, 5), layout="constrained")
    axes = figure.subplots()
    for row in run.rows:
        curves = run.curves(row.strategy)
        mean, width, rounds = curves.mean(axis=0), interval(curves), np.arange(curves.shape[1])
        shade, first = colour(row.strategy), row.strategy == "ital"
        if width is not None:
            axes.fill_between(
                rounds, mean - width, mean + width, color=shade, alpha=0.12, linewidth=0
            )
        axes.plot(
            rounds,
            mean,
            color=shade,
            linewidth=3 if first else 1.6,
            zorder=3 if first else 2,
            label=f"{row.strategy}  {row.area:.3f}",
        )
    axes.set_xlabel("round of feedback", color=ink)
    axes.set_ylabel("mean average precision", color=ink)
    axes.set_title(run.name, color=ink)
    axes.set_xlim(0, max(1, len(rounds) - 1))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.tick_params(colors=ink)
    axes.grid(alpha=0.25)
    for side, spine in axes.spines.items():
        spine.set(visible=side in ("left", "bottom"), color=ink)
    legend = axes.legend(
        loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, title="area under the curve"
    )
    for text in (*legend.get_texts(), legend.get_title()):
        text.set_color(ink)
    figure.patch.set_alpha(0)
    axes.patch.set_alpha(0)
    return figure


def save(run: Run, folder: Path) -> list[Path]:
    """The curves as PNG and SVG."""
    figure = learning_curves(run)
    paths = [folder / f"curves-{run.name}.{kind}" for kind in ("png", "svg")]
    for path in paths:
        figure.savefig(path, dpi=130, facecolor="white")
    return paths


def svg(run: Run, ink: str) -> str:
    """The curves as SVG to stand in a page."""
    buffer = io.StringIO()
    learning_curves(run, ink).savefig(buffer, format="svg")
    text = buffer.getvalue()
    label = html.escape(f"Learning curves on {run.name}")
    return text[text.index("<svg") :].replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
