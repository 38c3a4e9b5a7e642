"""How many images are relevant, and how sure that is: draws from the joint posterior.

Relevance is correlated: where one image of a kind is relevant, the others are too. Sums over
independent images would be far too sure. Hence whole configurations are drawn: scale and border
from what is believed of them, and the process of a sample of images jointly. With I_i whether image
i is relevant in a draw, q_i about how often it is in all of them, and c_i the chance of being in
the sample, the sum of I over all images is taken to be

    sum over all q_i + sum over the sample (I_i - q_i) / c_i,

to which images that are all but known add nothing. The chances grow with the deviation of I, which
makes the variance of the second sum the least. q is not P(R = 1) as people are told it, which has
one scale and one border, those of the recent answers: what both differ by would be known of the
sample only, and shift all draws alike.
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
    drawn_sums: FloatArray
    """Of q, likewise."""
    places: IntArray
    """Of the images of the sample in the ranking, ascending."""
    chances: FloatArray
    """c of each of them."""
    excess: npt.NDArray[np.float32]
    """The sum of (I - q) / c over the first images of the sample, shape (draws, 1 + images)."""

    @staticmethod
    def of(model: RelevanceModel, ranking: Ranking) -> Census:
        """The same for the same labels: chance is seeded with their number."""
        rng = np.random.default_rng(len(model.labels))
        blurred = model.scores(partial(_blurred, belief=model.belief))[ranking.rows]
        places, chances = evenly(deviations(blurred), IMAGES)
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
            surplus = ((process > 0) - blurred[places]) / chances
            np.cumsum(surplus, axis=1, out=excess[lo:hi, 1:])

        for_blocks(draw, DRAWS, _BLOCK)
        sums, drawn = (_sums(one) for one in (ranking.probabilities, blurred))
        return Census(sums, drawn, places, chances, excess)

    def relevant(self, first: int) -> FloatArray:
        """How many of the first images of the ranking are relevant in each draw: whole numbers."""
        sampled = np.searchsorted(self.places, first)
        drawn: FloatArray = np.rint(self.drawn_sums[first] + self.excess[:, sampled])
        return drawn.clip(0.0, first)


def _blurred(mean: FloatArray, variance: FloatArray, belief: Belief) -> FloatArray:
    """How likely images are relevant, with what is not known of the belief in it."""
    return gaussian.positive_probability(*belief.blurred(mean, variance))


def _sums(probabilities: FloatArray) -> FloatArray:
    sums: FloatArray = np.append(0.0, np.cumsum(probabilities))
    return sums


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
