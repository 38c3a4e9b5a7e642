"""The one order in which images are shown, counted and taken away."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ital.checks import IntArray
from ital.gaussian import FloatArray
from ital.model import RelevanceModel
from ital.order import largest


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
        mean = model.mean
        rows = largest(mean)
        probabilities = model.prior.along_ranking(model.told()[rows])
        return Ranking(rows, mean[rows], probabilities)

    def __len__(self) -> int:
        return len(self.rows)

    def above(self, threshold: float) -> int:
        """How many images, the first ones, are taken at a threshold of the probability."""
        return int(np.count_nonzero(self.probabilities >= threshold))


@dataclass(frozen=True)
class Results:
    """Images of the pool, best first."""

    ids: IntArray
    means: FloatArray
    """Predictive means of relevance: about 1 for relevant images, -1 for irrelevant ones."""
    probabilities: FloatArray
    """P(R = 1) under the model, eq. (5)."""

    def __len__(self) -> int:
        return len(self.ids)
