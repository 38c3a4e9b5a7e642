"""The order of images, and the largest values, with ties to the lower index."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ital.checks import IntArray
from ital.gaussian import FloatArray
from ital.model import RelevanceModel

_LEAST_WORTH = 1e-9
"""Of an image, so that all have a chance to be in a sample."""


def largest(values: FloatArray, count: int | None = None) -> IntArray:
    """Indices of the ``count`` largest values, or of all, in falling order."""
    if count is None or 8 * count >= len(values):
        order: IntArray = np.argsort(-values, kind="stable")[:count]
        return order
    threshold = np.partition(values, len(values) - count)[len(values) - count]
    above = np.flatnonzero(values > threshold)
    equal = np.flatnonzero(values == threshold)[: count - above.size]
    return np.append(above[np.argsort(-values[above], kind="stable")], equal)


def evenly(worth: FloatArray, count: int) -> tuple[IntArray, FloatArray]:
    """Places of at most ``count`` images, evenly along a ranking, and the chance that each had.

    Chances are in proportion to what an image is ``worth``, at most 1, and 1 for those that are
    worth most, so that sums over these places, divided by their chances, stand for sums over all.
    """
    if len(worth) <= count:
        return np.arange(len(worth)), np.ones(len(worth))
    worth = np.maximum(worth, _LEAST_WORTH)
    certain = np.zeros(len(worth), dtype=bool)
    while True:
        # What those that are in for certain leave is for the others.
        shares = worth * ((count - certain.sum()) / worth[~certain].sum())
        chances = np.where(certain, 1.0, np.minimum(shares, 1.0))
        if np.array_equal(chances >= 1, certain):
            break
        certain = chances >= 1
    reached = np.floor(np.cumsum(chances) + 0.5)
    places = np.flatnonzero(np.diff(reached, prepend=0.0) > 0)
    return places, chances[places]


@dataclass(frozen=True)
class Ranking:
    """All images of a pool in the one order in which they are shown, counted and taken away.

    It is that of the predictive mean, which ranks better than the probability: on unseen images of
    six data sets the average precision is higher by 0.002 on average, and by up to 0.05 after the
    query alone.
    """

    rows: IntArray
    """The best first."""
    means: FloatArray
    probabilities: FloatArray
    """P(R = 1), in the order of ``rows``."""

    @staticmethod
    def of(model: RelevanceModel) -> Ranking:
        rows = largest(model.mean)
        probabilities = model.prior.along_ranking(model.probabilities()[rows])
        return Ranking(rows, model.mean[rows], probabilities)

    def __len__(self) -> int:
        return len(self.rows)

    def above(self, threshold: float) -> int:
        """How many images, the first ones, are taken at a threshold of the probability."""
        return int(np.count_nonzero(self.probabilities >= threshold))
