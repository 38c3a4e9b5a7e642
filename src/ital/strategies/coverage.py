"""Coverage: images that have uncertain ones around them which nothing labelled is like."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ital.checks import IntArray
from ital.gaussian import FloatArray
from ital.model import RelevanceModel
from ital.strategies.base import Subsampled
from ital.strategies.registry import register

_LABELS = 32
"""Labelled images whose similarities to the sample are in memory at a time."""


@register
@dataclass(frozen=True)
class UHerding(Subsampled):
    """Uncertainty herding: one by one the image that adds most to the uncertainty covered,

        sum_t u_t (k(i, t) - max_{j in labelled or batch} k(j, t))_+,    u_t = 1 - max_r P(R_t = r),

    over the images t of the sample. k is the kernel over its variance, so that an image covers
    itself wholly. With two classes u_t is half of 1 - margin, the uncertainty that the paper takes.
    It also adapts the temperature of probabilities and the length scale of k to the labels: here
    they are those of the model.

    W. Bae, G. L. Oliveira and D. J. Sutherland: Uncertainty herding: one active learning method for
    all label budgets. ICLR 2025.
    """

    name = "uherding"
    summary = "Pictures like many uncertain ones, and unlike all that were asked about."

    def choose(
        self, model: RelevanceModel, sample: IntArray, k: int
    ) -> tuple[IntArray, FloatArray]:
        relevant = model.probabilities(sample)
        doubt = np.minimum(relevant, 1 - relevant)
        kernel = model.kernel_matrix(sample, sample) / model.kernel.variance
        # An image covers itself, which rounding may forget of those far from all others.
        np.fill_diagonal(kernel, 1.0)
        covered = _covered(model, sample)
        positions: list[int] = []
        utilities = np.empty((k, len(sample)))
        for place in range(k):
            utilities[place] = np.maximum(kernel - covered, 0.0) @ doubt
            utilities[place, positions] = -np.inf
            positions.append(int(np.argmax(utilities[place])))
            np.maximum(covered, kernel[positions[-1]], out=covered)
        return np.array(positions), utilities


def _covered(model: RelevanceModel, images: IntArray) -> FloatArray:
    """Each image's similarity to the labelled one that it is most like; 0 without any."""
    covered, vectors = np.zeros(len(images)), model.labelled_vectors
    for lo in range(0, len(vectors), _LABELS):
        alike = model.pool.squared_distances(vectors[lo : lo + _LABELS], images, model.kernel)
        np.maximum(covered, alike.max(axis=0) / model.kernel.variance, out=covered)
    return covered
