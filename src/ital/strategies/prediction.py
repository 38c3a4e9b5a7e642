"""What labels tell of the images that the search is for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ital import checks
from ital.candidates import Candidates
from ital.checks import IntArray
from ital.engine import for_blocks
from ital.gaussian import FloatArray, entropy, extended_probabilities
from ital.model import RelevanceModel
from ital.order import largest, largest_within
from ital.strategies.base import Strategy, by_place
from ital.strategies.registry import register

_BITS = 26
"""Of a random number, those that draw the sample. The ones after them draw the targets."""


@register
@dataclass(frozen=True)
class EPIG(Strategy):
    """Expected predictive information gain: the largest mean over targets t of

        I(R_i; R_t) = H(R_i) + H(R_t) - H(R_i, R_t),

    exactly, by the probabilities of both signs. The paper leaves open what the targets are: here
    ``targets`` candidates that are drawn without replacement, with probabilities proportional to
    P(R_t = 1), for these are the images that the search is for. An image is no target of its own.
    ``subsample`` candidates at random are looked at. The paper chooses single images: a batch are
    the k best, whatever they have in common.

    F. Bickford Smith, A. Kirsch, S. Farquhar, Y. Gal, A. Foster and T. Rainforth:
    Prediction-oriented Bayesian active learning. AISTATS 2023.
    """

    targets: int = 64
    subsample: int = 1000

    name = "epig"
    summary = "Pictures whose answers would tell most about those that are likely to be relevant."

    def __post_init__(self) -> None:
        self.set_checked(
            targets=checks.whole_number(self.targets, "targets", least=1),
            subsample=checks.whole_number(self.subsample, "subsample", least=1),
        )

    def select(
        self, model: RelevanceModel, candidates: Candidates, k: int, rng: np.random.Generator
    ) -> IntArray:
        images, scores = self._told(model, candidates, k, rng)
        return images[largest(scores, k)]

    def select_with_utilities(
        self, model: RelevanceModel, candidates: Candidates, k: int, rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        images, scores = self._told(model, candidates, k, rng)
        positions = largest(scores, k)
        utilities = np.full((len(positions), len(candidates)), np.nan)
        utilities[:, np.searchsorted(np.asarray(candidates), images)] = by_place(scores, positions)
        return images[positions], utilities

    def _told(
        self, model: RelevanceModel, candidates: Candidates, k: int, rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """The images that are looked at, and what each of them tells."""
        numbers = rng.random(len(candidates))
        images = candidates[np.sort(largest(numbers, max(k, self.subsample)))]
        drawn = _drawn(numbers, lambda at: model.probabilities(candidates[at]), self.targets)
        return images, _information(model, images, candidates[drawn])


def _drawn(numbers: FloatArray, weights: Callable[[IntArray], FloatArray], count: int) -> IntArray:
    """Positions drawn without replacement, with probabilities proportional to the weights.

    They are those of the largest u^(1 / weight) (Efraimidis and Spirakis 2006). The first bits of
    the numbers draw the sample; u has those after them, so that the two are independent. Weights
    are 1 at the most, so that those of small u need not be known.
    """
    logarithms = np.log(np.modf(numbers * 2.0**_BITS)[0] + 0.5**30)  # which is never 0

    def keys(at: IntArray) -> FloatArray:
        return logarithms[at] / np.maximum(weights(at), 1e-300)

    return np.sort(largest_within(logarithms, keys, count)[0])


def _information(model: RelevanceModel, images: IntArray, targets: IntArray) -> FloatArray:
    """The mean of I(R_i; R_t) over the targets other than the image, for each image."""
    (mean, variance), own = model.moments(images), model.entropies(images)
    means, variances = model.moments(targets)
    doubts = model.entropies(targets)
    covariances = model.covariances(targets, images, keep=False)
    told = np.empty_like(covariances)

    def fill(lo: int, hi: int) -> None:
        for row in range(lo, hi):
            one = slice(row, row + 1)
            table = extended_probabilities(
                means[one],
                variances[one, None],
                np.empty(0),  # its own table is of no use to a pair
                mean,
                variance,
                covariances[one],
            )
            both = own + doubts[row] - entropy(table, 2)
            told[row] = np.where(images == targets[row], 0.0, np.maximum(both, 0.0))

    for_blocks(fill, len(targets), 1)
    others = len(targets) - np.isin(images, targets)
    scores: FloatArray = told.sum(axis=0) / np.maximum(others, 1)
    return scores
