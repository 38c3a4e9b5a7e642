"""Diversity: images one by one, each unlike those that are in the batch already.

How much each image is wanted is kept beside the shard that has it, and changed there by each image
that comes into the batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ital import checks
from ital.candidates import Candidates
from ital.checks import IntArray, Rows
from ital.engine import Group
from ital.gaussian import FloatArray, positive_probability
from ital.model import RelevanceModel
from ital.shard import Shard
from ital.strategies.base import Steps, Stepwise
from ital.strategies.registry import register

_LABELS = 32
"""Labelled images whose similarities to all candidates are in memory at a time."""


class _Sums(Steps):
    def __init__(self, shard: Shard) -> None:
        super().__init__(shard)
        self._gain = shard.variances().copy()

    def utilities(self, rows: Rows | None = None) -> FloatArray:
        return self._gain if rows is None else self._gain[rows]

    def add(self, image: int, scale: float) -> None:
        """An image whose covariances are kept, but for a ``scale``."""
        self._gain -= scale * self.shard.kept([image])[0]


@register
@dataclass(frozen=True)
class Variance(Stepwise):
    """The batch of the largest sum of variances minus covariances, section 4.2: greedily
    sum_i variance_i - sum_{i<j} cov(i, j).
    """

    name = "var"
    summary = "Pictures of which the model knows least, unlike each other."

    def begin(self, model: RelevanceModel, candidates: Candidates) -> Group[Any]:
        return model.beside(_Sums)

    def grow(self, model: RelevanceModel, steps: Group[Any], batch: IntArray) -> None:
        model.keep_covariances(batch[-1:])
        steps.tell(_Sums.add, int(batch[-1]), model.scale)

    def score(self, model: RelevanceModel, batch: IntArray) -> float:
        """The sum of variances minus that of the covariances of pairs."""
        covariance = model.joint(batch)[1]
        return float(np.trace(covariance) - np.triu(covariance, 1).sum())


class _Determinants(Steps):
    def __init__(self, shard: Shard) -> None:
        super().__init__(shard)
        self._variance = shard.variances()
        self._rows: list[FloatArray] = []

    def utilities(self, rows: Rows | None = None) -> FloatArray:
        return self._variance if rows is None else self._variance[rows]

    def columns(self, rows: Rows) -> FloatArray:
        """Those of the Cholesky factor, and below them what is left of variances."""
        return np.stack([row[rows] for row in [*self._rows, self._variance]])

    def add(self, image: int, scale: float, column: FloatArray, noise: float) -> None:
        """One more row of the factor: what is known of images without the rows before it."""
        row = scale * self.shard.kept([image])[0]
        for earlier, own in zip(self._rows, column[:-1], strict=True):
            row -= own * earlier
        row /= np.sqrt(column[-1] + noise)
        self._variance = np.maximum(self._variance - row**2, 0.0)
        self._rows.append(row)


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

    def begin(self, model: RelevanceModel, candidates: Candidates) -> Group[Any]:
        return model.beside(_Determinants)

    def grow(self, model: RelevanceModel, steps: Group[Any], batch: IntArray) -> None:
        model.keep_covariances(batch[-1:])
        column = steps.gather(_Determinants.columns, batch[-1:])[:, 0]
        steps.tell(_Determinants.add, int(batch[-1]), model.scale, column, model.least_noise)

    def score(self, model: RelevanceModel, batch: IntArray) -> float:
        """The logarithm of the determinant."""
        covariance = model.joint(batch)[1]
        return float(np.linalg.slogdet(covariance + model.least_noise * np.eye(len(batch)))[1])


class _Borders(Steps):
    def __init__(self, shard: Shard, weight: float) -> None:
        super().__init__(shard)
        self._weight = weight
        self._border = np.abs(shard.means())
        self._likest: FloatArray | None = None

    def utilities(self, rows: Rows | None = None) -> FloatArray:
        wanted = -self._border
        if self._likest is not None:
            wanted = -(self._weight * self._border + (1 - self._weight) * self._likest)
        return wanted if rows is None else wanted[rows]

    def add(self, vector: FloatArray, variance: float) -> None:
        """An image; K_ii is the kernel's ``variance`` for every one."""
        cosine = self.shard.alike(vector)[0] / variance
        self._likest = cosine if self._likest is None else np.maximum(self._likest, cosine)


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
        self.set_checked(weight=checks.probability(self.weight, "weight"))

    def begin(self, model: RelevanceModel, candidates: Candidates) -> Group[Any]:
        return model.beside(_Borders, self.weight)

    def grow(self, model: RelevanceModel, steps: Group[Any], batch: IntArray) -> None:
        steps.tell(_Borders.add, model.pool.vectors(batch[-1:]), model.kernel.variance)


class _Unlike(Steps):
    def __init__(self, shard: Shard, labelled: FloatArray, unlabelled: int, images: int) -> None:
        super().__init__(shard)
        self._unlabelled, self._images = unlabelled, images
        relevant = shard.scores(positive_probability)
        self._doubt = 1 - np.maximum(relevant, 1 - relevant)
        self._likest = np.full(len(shard), -1.0)
        for lo in range(0, len(labelled), _LABELS):
            self._compare(labelled[lo : lo + _LABELS])

    def utilities(self, rows: Rows | None = None) -> FloatArray:
        alpha = self._unlabelled / self._images
        wanted = alpha * (1 - self._likest) + (1 - alpha) * self._doubt
        return wanted if rows is None else wanted[rows]

    def add(self, vector: FloatArray) -> None:
        """An image, which counts as labelled from now on."""
        self._unlabelled -= 1
        self._compare(vector)

    def _compare(self, vectors: FloatArray) -> None:
        np.maximum(self._likest, self.shard.cosines(vectors).max(axis=0), out=self._likest)


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

    def begin(self, model: RelevanceModel, candidates: Candidates) -> Group[Any]:
        unlabelled, labelled = len(candidates), model.labelled_vectors
        return model.beside(_Unlike, labelled, unlabelled, unlabelled + len(labelled))

    def grow(self, model: RelevanceModel, steps: Group[Any], batch: IntArray) -> None:
        steps.tell(_Unlike.add, model.pool.vectors(batch[-1:]))
