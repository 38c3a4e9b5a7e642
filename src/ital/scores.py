"""A score of every image that speaks for or against it before the first label.

It may be anything by which the images that are looked for tend to come first: how well they fit a
sentence, what a classifier says, a tag, a date. Only their order counts, so that it does not matter
in which units a score comes, nor how far off its extremes are: an image has as its standardised
score s what the same place in the order has under the standard normal distribution, and images with
the same score share the mean of their places. So s adds up to 0 over the pool, and is 0 where all
scores are equal. The process is

    f(x) = g(x) + w s(x),    w normal with mean a and variance tau^2,

with g what it was without the score. That is the mean m + a s(x) and the kernel
k(x, x') + tau^2 s(x) s(x'): answers tell how far the score is to be trusted. What it is worth is
known by delta, how much higher the scores of relevant images are: where images are relevant with
the probabilities p, by all that is known but the score, their scores are delta (p - mean of p) on
average. The weight is proportional to delta (`prior.Scored.weight`). That is normal before anything
is known, and given p a is that of the ridge regression of s on p, while tau stays as it was.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special

from ital import checks
from ital.checks import Identifier
from ital.gaussian import FloatArray
from ital.pool import Pool

TYPICAL, DEVIATION = 0.6, 0.6
"""Mean and deviation of delta before anything is known.

A score of 0.6 puts the relevant one of two images first in two cases of three. It may be useless.
"""

BOLDNESS = 1.25
"""How far a score reaches, in units of what a label does in a direction like the others.

What tells two classes apart best would be 1.2 to 1.9 on five of six data sets.
"""

LEAST = 0.06
"""Scores point to what is relevant. One that seems to point away decides between equals at most."""

_KNOWN = 64
"""Images, evenly spaced, whose scores tell these scores from others,"""

_ROUNDING = 1e-3
"""and how far off they may be, in units of the distance of the lowest and the highest score."""


class Scores:
    """One score for each image of a pool.

    Args:
        scores: numbers, of which only the order counts; higher ones speak for an image.
        images: how many there are in the pool.

    """

    def __init__(self, scores: Any, images: int) -> None:
        self.given = checks.numbers(scores, "prior", images)
        """As they were given."""
        places, order = (np.arange(images) + 0.5) / images, np.argsort(self.given)
        rising = self.given[order]
        # The first of each run of equal scores, in which all have the mean of the run.
        first = np.flatnonzero(np.append(True, rising[1:] != rising[:-1]))
        sums = np.add.reduceat(special.ndtri(places), first)
        sizes = np.diff(first, append=images)
        # Rounding leaves constant scores, whose places add up to 0, with something else.
        means = sums / sizes if len(first) > 1 else np.zeros(1)
        self.values: FloatArray = np.empty(images)
        """Standardised: s of every image of the pool."""
        self.values[order] = np.repeat(means, sizes)

    def apart(self, chances: float, squares: float, products: float) -> float:
        """By how much relevant images have the higher scores: the mean of delta.

        The sums over all images are those of P(R = 1), as it is without the score, of its square,
        and of its product with s, of which the sum is 0.
        """
        noise = float(self.values @ self.values) / len(self.values)
        if not noise:
            return TYPICAL
        certain, told = DEVIATION**-2, (squares - chances**2 / len(self.values)) / noise
        return max(LEAST, (certain * TYPICAL + products / noise) / (certain + told))

    def at(self, scores: Any, count: int) -> FloatArray:
        """Standardised scores of so many images that need not be in the pool.

        Between two images of the pool they rise evenly; beyond all of them they rise no more.
        """
        given = checks.numbers(scores, "scores", count)
        standardised: FloatArray = np.interp(given, *self._knots)
        return standardised

    def sample(self, pool: Pool) -> list[list[float]]:
        """Identifiers of a few images and their scores, to know these scores again."""
        rows = pool.sample(_KNOWN)
        ids = pool.identifiers(rows).tolist()
        return [[image, one] for image, one in zip(ids, self.given[rows].tolist(), strict=True)]

    def fit(self, sample: Sequence[tuple[Identifier, float]], pool: Pool) -> bool:
        """Whether they are those of a sample, but for rounding, as far as its images are here."""
        known = {row: one for image, one in sample if (row := pool.row(image)) is not None}
        was = np.array(list(known.values()), dtype=float)
        off = np.abs(self.given[list(known)] - was)
        return bool((off <= _ROUNDING * np.ptp(self.given)).all())

    @functools.cached_property
    def _knots(self) -> tuple[FloatArray, FloatArray]:
        """All scores in ascending order, and what they are when standardised."""
        scores, places = np.unique(self.given, return_index=True)
        return scores, self.values[places]
