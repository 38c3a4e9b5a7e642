"""Some images as they would be if one more of them had its label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ital.checks import IntArray
from ital.engine import for_blocks
from ital.gaussian import FloatArray, standardised
from ital.model import RelevanceModel

_BLOCK = 64
"""Images whose labels are tried at a time."""


def readings(model: RelevanceModel) -> tuple[float, float]:
    """What the labels -1 and 1 say on the scale of the means, off which the border was taken."""
    return -1 - model.belief.border, 1 - model.belief.border


@dataclass(frozen=True)
class View:
    """Mean and covariance of some images, which can be given labels as if they were known."""

    mean: FloatArray
    covariance: FloatArray
    noise: float
    labels: tuple[float, float]
    """What irrelevant and relevant images have, on the scale of the means."""

    @staticmethod
    def of(model: RelevanceModel, images: IntArray) -> View:
        covariance = model.covariances(images, images, keep=False)
        mean, variance = model.moments(images)
        np.fill_diagonal(covariance, variance)
        return View(mean, covariance, model.least_noise, readings(model))

    @property
    def variance(self) -> FloatArray:
        return np.diagonal(self.covariance)

    def labelled(self, position: int, relevant: bool) -> View:
        """The same after one more label (Rasmussen and Williams, ch. 2)."""
        column = self.covariance[position]
        gain = column / (column[position] + self.noise)
        mean = self.mean + gain * (self.labels[relevant] - self.mean[position])
        covariance = self.covariance - np.outer(gain, column)
        np.fill_diagonal(covariance, np.maximum(np.diagonal(covariance), 0.0))
        return View(mean, covariance, self.noise, self.labels)

    def after(
        self, tried: IntArray, others: IntArray, worth: Callable[[FloatArray], FloatArray]
    ) -> FloatArray:
        """What the others are worth after each label of each image tried, shape (labels, tried).

        ``worth`` takes the standardised means z, a row for each image tried and a column for each
        of the others, and makes one number of each row. P(R_u = 1) is Phi(z), in the same order. An
        image tells nothing of itself: it has the probability 0 in its own row, z = -infinity.
        """
        out = np.empty((len(self.labels), len(tried)))
        variance = self.variance

        def fill(lo: int, hi: int) -> None:
            part = tried[lo:hi]
            columns = self.covariance[np.ix_(part, others)]
            gains = columns / (variance[part] + self.noise)[:, None]
            left = np.maximum(variance[others] - gains * columns, 0.0)
            itself = part[:, None] == others
            for row, label in enumerate(self.labels):
                mean = self.mean[others] + gains * (label - self.mean[part])[:, None]
                out[row, lo:hi] = worth(np.where(itself, -np.inf, standardised(mean, left)))

        for_blocks(fill, len(tried), _BLOCK)
        return out
