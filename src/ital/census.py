"""How many images are relevant, and how sure that is: draws from the joint posterior.

Relevance is correlated: where one image of a kind is relevant, the others are too. Sums over
independent images would be far too sure. Hence whole configurations are drawn: scale and border
from what is believed of them, and the process of a sample of images jointly. With I_i whether image
i is relevant in a draw, p_i = P(R = 1) and c_i the chance of being in the sample, the sum of I over
all images is taken to be

    sum over all p_i + sum over the sample (I_i - p_i) / c_i,

to which images that are all but known add nothing. The chances grow with the deviation of I, which
makes the variance of the second sum the least.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy import linalg

from ital import gaussian
from ital.checks import IntArray
from ital.engine import for_blocks
from ital.gaussian import FloatArray
from ital.model import RelevanceModel
from ital.order import evenly
from ital.prior import Belief
from ital.ranking import Ranking

IMAGES = 400
"""In the sample, at the most."""

DRAWS = 1000
"""The ends of an 80 % interval are then quantiles that are right within a hundredth."""

_BLOCK = 64
"""Draws that a thread makes at a time."""

_ADDED = (1e-9, 1e-7, 1e-5, 1e-3, 1.0)
"""To variances, in units of the largest: the first with which rounding leaves a root."""


@dataclass(frozen=True)
class Census:
    """Configurations of a sample of images."""

    sums: FloatArray
    """Of P(R = 1) of the first images of the ranking: of none, of one, of two, and so on."""
    places: IntArray
    """Of the images of the sample in the ranking, ascending."""
    chances: FloatArray
    """c of each of them."""
    excess: npt.NDArray[np.float32]
    """The sum of (I - p) / c over the first images of the sample, shape (draws, 1 + images)."""

    @staticmethod
    def of(model: RelevanceModel, ranking: Ranking) -> Census:
        """The same for the same labels: chance is seeded with their number."""
        rng = np.random.default_rng(len(model.labels))
        expected = ranking.probabilities
        spread = model.scores(partial(_blurred_deviations, belief=model.belief))
        places, chances = evenly(spread[ranking.rows], IMAGES)
        rows = ranking.rows[places]
        scales, borders = model.belief.draws(DRAWS, rng)
        mean, covariance = model.joint(rows, keep=False)
        lower, normal = root(covariance), rng.standard_normal((DRAWS, len(rows)))
        factors, shifts = np.sqrt(scales / model.scale), model.belief.border - borders
        excess = np.zeros((DRAWS, 1 + len(rows)), dtype=np.float32)

        def draw(lo: int, hi: int) -> None:
            process = normal[lo:hi] @ lower.T
            process *= factors[lo:hi, None]
            process += mean + shifts[lo:hi, None]
            surplus = ((process > 0) - expected[places]) / chances
            np.cumsum(surplus, axis=1, out=excess[lo:hi, 1:])

        for_blocks(draw, DRAWS, _BLOCK)
        return Census(np.append(0.0, np.cumsum(expected)), places, chances, excess)

    def relevant(self, first: int) -> FloatArray:
        """How many of the first images of the ranking are relevant in each draw."""
        sampled = np.searchsorted(self.places, first)
        drawn: FloatArray = np.clip(self.sums[first] + self.excess[:, sampled], 0.0, first)
        return drawn


def _blurred_deviations(mean: FloatArray, variance: FloatArray, belief: Belief) -> FloatArray:
    """Those of whether images are relevant, with what is not known of the belief in them."""
    return deviations(gaussian.positive_probability(*belief.blurred(mean, variance)))


def deviations(probabilities: FloatArray) -> FloatArray:
    """Of whether images are relevant: with chances in proportion to these, sums vary least."""
    found: FloatArray = np.sqrt(probabilities * (1 - probabilities))
    return found


def root(covariance: FloatArray) -> FloatArray:
    """A lower triangle whose square is the covariance, and as little more as copies need."""
    largest = covariance.diagonal().max(initial=0.0)
    for added in _ADDED:
        try:
            lower: FloatArray = linalg.cholesky(
                covariance + added * largest * np.eye(len(covariance)), lower=True
            )
        except linalg.LinAlgError:
            continue
        return lower
    return np.zeros_like(covariance)  # nothing varies
