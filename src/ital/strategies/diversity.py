"""Diversity: images one by one, each unlike those that are in the batch already."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ital import checks
from ital.checks import IntArray
from ital.gaussian import FloatArray
from ital.model import RelevanceModel
from ital.pool import Pool
from ital.strategies.base import Stepwise
from ital.strategies.registry import register

_LABELS = 32
"""Labelled images whose similarities to all candidates are in memory at a time."""


@register
@dataclass(frozen=True)
class Variance(Stepwise):
    """The batch of the largest sum of variances minus covariances, section 4.2: greedily
    sum_i variance_i - sum_{i<j} cov(i, j).
    """

    name = "var"
    summary = "Pictures of which the model knows least, unlike each other."

    def utilities(
        self, model: RelevanceModel, candidates: IntArray, batch: list[int]
    ) -> Iterator[FloatArray]:
        gain = model.variance[candidates]
        while True:
            yield gain
            gain = gain - model.covariances(np.array(batch[-1:]), candidates)[0]

    def score(self, model: RelevanceModel, batch: IntArray) -> float:
        """The sum of variances minus that of the covariances of pairs."""
        covariance = model.joint(batch)[1]
        return float(np.trace(covariance) - np.triu(covariance, 1).sum())


@register
@dataclass(frozen=True)
class MaxDet(Stepwise):
    """The batch of the largest determinant of its posterior covariance with the noise on labels,
    greedily: one by one the largest variance given that the labels of the batch so far are known,

        variance_i - c_iS (C_SS + noise I)^-1 c_Si.

    D. Holzmueller, V. Zaverkin, J. Kaestner and I. Steinwart: A framework and benchmark for deep
    batch active learning for regression. JMLR 24, 2023 (MaxDet, with the posterior as its kernel).
    """

    name = "maxdet"
    summary = "Pictures of which the model would know least, even if it knew the answers before."
    largest_batch = 100

    def utilities(
        self, model: RelevanceModel, candidates: IntArray, batch: list[int]
    ) -> Iterator[FloatArray]:
        variance = model.variance[candidates]
        rows: list[FloatArray] = []
        while True:
            yield variance
            # One more row of the Cholesky factor: what is known without the rows before it.
            place = int(np.searchsorted(candidates, batch[-1]))
            row = model.covariances(np.array(batch[-1:]), candidates)[0]
            for earlier in rows:
                row -= earlier[place] * earlier
            row /= np.sqrt(variance[place] + model.least_noise)
            variance = np.maximum(variance - row**2, 0.0)
            rows.append(row)

    def score(self, model: RelevanceModel, batch: IntArray) -> float:
        """The logarithm of the determinant."""
        covariance = model.joint(batch)[1]
        return float(np.linalg.slogdet(covariance + model.least_noise * np.eye(len(batch)))[1])


@register
@dataclass(frozen=True)
class BorderDiversity(Stepwise):
    """Images next to the decision border and unlike each other. The first is that of the smallest
    |mean|, then one by one those of the smallest

        weight |mean_i| + (1 - weight) max_{j in batch} |K_ij| / sqrt(K_ii K_jj).

    K. Brinker: Incorporating diversity in active learning with support vector machines. ICML 2003.
    """

    weight: float = 0.5

    name = "border_div"
    summary = "Pictures near the border that are unlike each other."

    def __post_init__(self) -> None:
        self.keep(weight=checks.probability(self.weight, "weight"))

    def utilities(
        self, model: RelevanceModel, candidates: IntArray, batch: list[int]
    ) -> Iterator[FloatArray]:
        border, likest = np.abs(model.mean[candidates]), np.zeros(len(candidates))
        yield -border
        while True:
            # K_ii is the kernel's variance for every image.
            kernel = model.kernel_matrix(np.array(batch[-1:]), candidates)[0]
            cosine = kernel / model.kernel.variance
            np.maximum(likest, cosine, out=likest)
            yield -(self.weight * border + (1 - self.weight) * likest)


@register
@dataclass(frozen=True)
class RBMAL(Stepwise):
    """Ranked batch-mode active learning: one by one the largest

        alpha (1 - max_{j in labelled or batch} cos(i, j)) + (1 - alpha) (1 - max_r P(R_i = r))

    with alpha the share of the unlabelled in all images, batch members counting as labelled.

    T. N. C. Cardoso, R. M. Silva, S. Canuto, M. M. Moro and M. A. Goncalves: Ranked batch-mode
    active learning. Information Sciences 379, 2017.
    """

    name = "rbmal"
    summary = "Pictures unlike all that were asked about, then ever more the uncertain ones."

    def utilities(
        self, model: RelevanceModel, candidates: IntArray, batch: list[int]
    ) -> Iterator[FloatArray]:
        relevant = model.probabilities(candidates)
        doubt = 1 - np.maximum(relevant, 1 - relevant)
        labels = len(model.labels)
        likest = _largest_cosines(model.pool, model.labelled_vectors, candidates)
        while True:
            unlabelled = len(candidates) - len(batch)
            alpha = unlabelled / (unlabelled + labels + len(batch))
            yield alpha * (1 - likest) + (1 - alpha) * doubt
            cosine = model.pool.cosines(model.pool.vectors(np.array(batch[-1:])), candidates)[0]
            np.maximum(likest, cosine, out=likest)


def _largest_cosines(pool: Pool, vectors: FloatArray, rows: IntArray) -> FloatArray:
    """Each image's similarity to the one of the vectors that it is most like; -1 without any."""
    likest = np.full(len(rows), -1.0)
    for lo in range(0, len(vectors), _LABELS):
        cosines = pool.cosines(vectors[lo : lo + _LABELS], rows)
        np.maximum(likest, cosines.max(axis=0), out=likest)
    return likest
