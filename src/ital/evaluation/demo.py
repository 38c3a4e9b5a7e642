"""A first look: the sample of pictures, one of them as an example, ten rounds of four questions."""

from __future__ import annotations

import difflib
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from ital.collection import Collection
from ital.collection.emoji import Sample, Truth
from ital.durable import write_whole
from ital.evaluation.metrics import average_precision
from ital.evaluation.protocol import Round, feedback_rounds
from ital.search import Search

STRATEGIES = ("context", "ital", "topscoring")
COLOURS = {1: "#2e9e4f", -1: "#d64541", 0: "#9a9a9a"}
"""Frames of questions by their answers: relevant, irrelevant, unsure."""


@dataclass(frozen=True)
class Demo:
    """The rounds of every strategy, beginning with the state after the query alone."""

    collection: Collection
    truths: list[Truth]
    """What each picture of the collection shows."""
    query: int
    rounds: dict[str, list[Round[float]]]

    @property
    def title(self) -> str:
        wanted = self.truths[self.query]
        count = sum(one.subgroup == wanted.subgroup for one in self.truths)
        return f"All {count} pictures of the kind {wanted.subgroup}, from one of {wanted.name}"

    def curve(self, strategy: str) -> list[float]:
        """Average precision after the query and after each round."""
        return [one.quality for one in self.rounds[strategy]]


def run(
    collection: Collection, sample: Sample, like: str, rounds: int = 10, batch: int = 4
) -> Demo:
    """Search the sample for pictures of one kind, with a user who knows them all."""
    truths = [sample.truth[path] for path in collection.paths]
    names = [one.name for one in truths]
    if like not in names:
        close = difflib.get_close_matches(like, names, n=5, cutoff=0.4)
        raise ValueError(f"like must be the name of an emoji, got {like!r}; some are {close}")
    query = names.index(like)
    relevant = np.array([one.subgroup == truths[query].subgroup for one in truths])
    others = np.arange(len(truths)) != query

    def quality(search: Search) -> float:
        return average_precision(relevant[others], search.model.mean[others])

    features, answers = collection.features(), np.where(relevant, 1, -1)
    played = {
        strategy: list(
            feedback_rounds(
                Search(features, strategy, seed=0), query, answers, quality, rounds, batch
            )
        )
        for strategy in STRATEGIES
    }
    return Demo(collection, truths, query, played)


def draw(demo: Demo, path: Path) -> None:
    """A row of questions for each round in frames of their answers, and the learning curves."""
    from matplotlib.figure import Figure

    rounds = demo.rounds[STRATEGIES[0]]
    batch = max(len(one.questions) for one in rounds)
    figure = Figure(figsize=(11, 0.75 * len(rounds) + 0.9), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[batch + 1.6, 8], squeeze=False)[0]
    left.suptitle("What was asked", fontsize=12)
    grid = left.subplots(len(rounds), batch + 1, squeeze=False)
    for axes in grid.flat:
        axes.axis("off")
    for number, (row, one) in enumerate(zip(grid, rounds, strict=True)):
        caption = "example" if number == 0 else f"round {number}"
        row[0].text(1.0, 0.5, caption, ha="right", va="center", transform=row[0].transAxes)
        shown = [(demo.query, 1)] if number == 0 else zip(one.questions, one.answers, strict=True)
        for axes, (image, answer) in zip(row[1:], shown, strict=False):
            thumbnail = demo.collection.thumbnail(int(demo.collection.ids[image]))
            axes.imshow(np.asarray(Image.open(io.BytesIO(thumbnail))))
            axes.axis("on")
            axes.set(xticks=[], yticks=[])
            for spine in axes.spines.values():
                spine.set(color=COLOURS[int(answer)], linewidth=3)
    axes = right.subplots()
    for strategy, colour in zip(STRATEGIES, ("#e07b00", "#4c78a8", "#8c6bb1"), strict=True):
        curve = demo.curve(strategy)
        axes.plot(
            curve, label=strategy, color=colour, linewidth=3 if strategy == STRATEGIES[0] else 1.5
        )
    axes.set(xlabel="round", ylabel="average precision", ylim=(0, 1.02), xlim=(0, len(rounds) - 1))
    axes.set_title(demo.title, fontsize=11)
    axes.legend(loc="upper left", frameon=False)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    stream = io.BytesIO()
    figure.savefig(stream, format=path.suffix[1:] or "png", dpi=120)
    write_whole(path, stream.getvalue())
