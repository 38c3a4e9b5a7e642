"""Where a search stands, in figures that a person can use.

P(R = 1) of eq. (5) knows no base rate: an image that is far from everything labelled has 1/2, so
that the sum over a pool says nothing about how many images are relevant. What counts here is the
predictive mean: 0 is the prior, 1 a relevant image, and an image counts as relevant to the degree
2 mu, from 0 to 1. On pictures that fall into clusters the sum is right within a tenth from the
third round on; where a kind has no look of its own, it is too low.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ital import gaussian
from ital.gaussian import FloatArray
from ital.search import Search


@dataclass(frozen=True)
class Insight:
    """The state of a search."""

    relevant: float
    """How many images of the pool are expected to be relevant."""
    certainty: float
    """From 0 to 1: how much of the pool is no longer in doubt."""


@dataclass(frozen=True)
class Threshold:
    """What is to be expected of the first images of the ranking.

    They are as many as there are of at least this probability.
    """

    probability: float
    count: int
    precision: float
    recall: float


def degrees(mean: FloatArray) -> FloatArray:
    """To which degree images count as relevant."""
    counted: FloatArray = np.clip(2 * mean, 0.0, 1.0)
    return counted


def can_tell(search: Search) -> bool:
    """Whether labels differ. While all are alike, all that a model knows is what is near them."""
    return len(set(search.model.labels.values())) > 1


def insight(search: Search) -> Insight | None:
    """How many images are expected to be relevant, and how sure that is, if there is a way to."""
    if not can_tell(search):
        return None
    counted = degrees(search.model.mean)
    doubt = gaussian.binary_entropy(counted).mean() / np.log(2)
    return Insight(float(counted.sum()), float(1 - doubt))


def change(before: FloatArray, after: FloatArray) -> float:
    """Which part of what is expected to be relevant has come or gone between two means."""
    old, new = degrees(before), degrees(after)
    return float(min(1.0, np.abs(new - old).sum() / max(1.0, new.sum())))


def thresholds(search: Search, steps: int = 100) -> list[Threshold]:
    """Count, expected precision and expected recall at ``steps`` + 1 thresholds from 0 to 1."""
    ranking = search.ranking()
    sums = np.append(0.0, np.cumsum(degrees(ranking.means)))
    found = []
    for step in range(steps + 1):
        count = ranking.above(step / steps)
        relevant = float(sums[count])
        precision = relevant / count if count else 1.0
        recall = relevant / float(sums[-1]) if sums[-1] > 0 else 1.0
        found.append(Threshold(step / steps, count, precision, recall))
    return found
