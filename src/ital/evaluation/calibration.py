"""Whether P(R = 1) is what it says, of the images of a pool that have no label yet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ital import insight
from ital.checks import IntArray
from ital.evaluation import metrics
from ital.gaussian import FloatArray
from ital.search import Search

BINS = 10
"""Of probabilities, all of the same width."""

_DIGITS = 4
"""Of sums in files of results."""


class Calibration(NamedTuple):
    """How P(R = 1) and the truth compare in one state of a search; a plain list in files.

    It is about images that the user can name. Images with a label count in the numbers only.
    """

    brier: float
    log_loss: float
    expected: float
    """The number of relevant images: the sum of P(R = 1), and those that were called relevant."""
    relevant: int
    """The true number."""
    low: float | None
    """The 80 % interval of the number in the whole pool, where there is a way to tell."""
    high: float | None
    counts: list[int]
    """Images in each bin."""
    sums: list[float]
    """Of their P(R = 1)."""
    hits: list[int]
    """How many of them are relevant."""

    @staticmethod
    def of(search: Search, relevance: IntArray) -> Calibration:
        """``relevance`` is the truth about every image of the pool, 0 for unnameable ones."""
        ranking, labels = search.ranking(), search.labels
        told: FloatArray = np.empty(len(ranking))
        told[ranking.rows] = ranking.probabilities
        rest = relevance != 0
        rest[[image for image, label in labels.items() if label is not None]] = False
        chances, relevant = told[rest], relevance[rest] == 1
        places = np.minimum((BINS * chances).astype(np.int64), BINS - 1)
        number = insight.relevant(search)
        return Calibration(
            metrics.brier(relevant, chances),
            metrics.log_loss(relevant, chances),
            float(chances.sum()) + sum(label is True for label in labels.values()),
            int(np.count_nonzero(relevance == 1)),
            None if number is None else number.low,
            None if number is None else number.high,
            np.bincount(places, minlength=BINS).tolist(),
            np.bincount(places, chances, BINS).round(_DIGITS).tolist(),
            np.bincount(places[relevant], minlength=BINS).tolist(),
        )
