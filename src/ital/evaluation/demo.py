"""A first look: one handwritten digit, ten rounds of four questions, three strategies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits

from ital.evaluation.metrics import average_precision
from ital.evaluation.protocol import Round, feedback_rounds
from ital.search import Search

STRATEGIES = ("ital", "random", "topscoring")
COLOURS = {1: "#2e9e4f", -1: "#d64541", 0: "#9a9a9a"}
"""Frames of questions by their answers: relevant, irrelevant, cannot say."""


@dataclass(frozen=True)
class Demo:
    """The rounds of every strategy, beginning with the state after the query alone."""

    images: npt.NDArray[np.float64]
    digits: npt.NDArray[np.int64]
    query: int
    rounds: dict[str, list[Round[float]]]

    def curve(self, strategy: str) -> list[float]:
        """Average precision after the query and after each round."""
        return [one.quality for one in self.rounds[strategy]]


def run(query: int, rounds: int = 10, batch: int = 4, seed: int = 0) -> Demo:
    """Search the digits for those of the query's kind, with a user who knows them all."""
    data = load_digits()
    relevant = data.target == data.target[query]
    others = np.arange(len(relevant)) != query

    def quality(search: Search) -> float:
        return average_precision(relevant[others], search.model.mean[others])

    played = {
        strategy: list(
            feedback_rounds(
                Search(data.data, strategy, seed=seed),
                query,
                np.where(relevant, 1, -1),
                quality,
                rounds,
                batch,
            )
        )
        for strategy in STRATEGIES
    }
    return Demo(data.images, data.target, query, played)


def draw(demo: Demo, path: Path) -> None:
    """A row of questions for each round in frames of their answers, and the learning curves."""
    from matplotlib.figure import Figure

    rounds = demo.rounds["ital"]
    batch = max(len(one.questions) for one in rounds)
    figure = Figure(figsize=(11, 0.62 * len(rounds) + 1.2), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[batch + 1.6, 9], squeeze=False)[0]
    left.suptitle("What ital asked", fontsize=12)
    grid = left.subplots(len(rounds), batch + 1, squeeze=False)
    for axes in grid.flat:
        axes.axis("off")
    for number, (row, one) in enumerate(zip(grid, rounds, strict=True)):
        caption = "query" if number == 0 else f"round {number}"
        row[0].text(1.0, 0.5, caption, ha="right", va="center", transform=row[0].transAxes)
        shown = [(demo.query, 1)] if number == 0 else zip(one.questions, one.answers, strict=True)
        for axes, (image, answer) in zip(row[1:], shown, strict=False):
            axes.imshow(demo.images[image], cmap="gray_r")
            axes.axis("on")
            axes.set(xticks=[], yticks=[])
            for spine in axes.spines.values():
                spine.set(color=COLOURS[int(answer)], linewidth=3)
    axes = right.subplots()
    for strategy, colour in zip(STRATEGIES, ("#e07b00", "#4c78a8", "#8c6bb1"), strict=True):
        curve = demo.curve(strategy)
        axes.plot(curve, label=strategy, color=colour, linewidth=3 if strategy == "ital" else 1.5)
    axes.set(xlabel="round", ylabel="average precision", ylim=(0, 1.02), xlim=(0, len(rounds) - 1))
    axes.set_title(f"All images of a {demo.digits[demo.query]}, from one example", fontsize=12)
    axes.legend(loc="lower right", frameon=False)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
