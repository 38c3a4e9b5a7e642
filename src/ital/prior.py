"""What is believed of relevance before the first label, and what is to be made of labels.

The paper's prior has mean 0: of an image that is like none of the labelled ones it says that it is
as likely relevant as not. But people look for a few images out of many. With a base rate the prior
mean is -1, the label of an irrelevant image, and the process is conditioned on its average over the
pool being just that: what is found in one place is missing in another. With kappa(x) the mean over
the pool of k(x, z), and kappa_bar that of kappa, conditioning turns the kernel into

    k(x, x') - V_0(x) V_0(x'),    V_0 = kappa / sqrt(kappa_bar (1 + epsilon)).

The average is known only roughly, hence ``epsilon``. A score of the images (see `scores`) adds
tau^2 s(x) s(x') to either kernel. It adds up to 0 over the pool, so that V_0 is the same with it.
"""

from __future__ import annotations

import copy
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ital.checks import Rows
from ital.engine import Group
from ital.features import Features
from ital.gaussian import FloatArray
from ital.kernel import Kernel
from ital.pool import Pool
from ital.scores import BOLDNESS, DEVIATION, Scores

_IMAGES = 256
"""Evenly spaced images that stand for the pool in its average."""

EXPECTED = 50.0
"""Relevant images before anything is known, whatever the size of the pool."""

_LEAST_EPSILON = 0.01

_PRODUCTS = 1 << 15
"""Numbers that are taken off covariances at a time."""

_FEW, _KEPT = 256, 4096
"""Vectors whose part of the average is kept, at a time and in all."""


def epsilon(images: int) -> float:
    """The variance of what is known of the average over a pool, in units of its own.

    With some relevant images, labelled 1, among so many the average is not -1 but higher by
    2 EXPECTED / images, which matters in small pools. From 0.003 to 0.03 quality is flat.
    """
    return min(1.0, max(_LEAST_EPSILON, (2 * EXPECTED / images) ** 2))


@dataclass(frozen=True)
class Points:
    """Where the process is looked at: at images of a pool, or at vectors from outside."""

    vectors: FloatArray
    scores: FloatArray
    """Standardised; 0 where there is none."""

    @staticmethod
    def of(vectors: FloatArray, scores: FloatArray | None = None) -> Points:
        """Without scores, of which none is known."""
        return Points(vectors, np.zeros(len(vectors)) if scores is None else scores)

    def __len__(self) -> int:
        return len(self.vectors)

    def __getitem__(self, some: slice | Rows) -> Points:
        return Points(self.vectors[some], self.scores[some])

    def __add__(self, others: Points) -> Points:
        return Points(
            np.vstack([self.vectors, others.vectors]), np.append(self.scores, others.scores)
        )


class PriorSlice:
    """The covariance of the prior over the images of a shard, in the scale 1.

    Args:
        features: of the images.
        kernel: of eq. (4).
        sample: vectors that stand for the pool in its average, if the process is conditioned on it.
        deviation: what kappa is divided by to be V_0.
        average: V_0 of the images, where it is known and need not be made of these.

    """

    def __init__(
        self,
        features: Features,
        kernel: Kernel,
        sample: FloatArray | None = None,
        deviation: float = 1.0,
        average: FloatArray | None = None,
    ) -> None:
        self.features, self._kernel = features, kernel
        self._average = average
        if sample is not None:
            self._average = features.mean_of(sample, kernel) / deviation
        self.scores: FloatArray | None = None
        """Of the images, standardised, if there are any."""
        self._trust = 0.0

    def __len__(self) -> int:
        return len(self.features)

    def scored(self, scores: FloatArray, trust: float) -> PriorSlice:
        """The same with standardised scores of the images, and tau^2."""
        another = copy.copy(self)
        another.scores, another._trust = scores, trust
        return another

    def terms(self, rows: Rows) -> FloatArray:
        """V_0 of images, and below it their scores; 0 if there are none."""
        found = np.zeros((2, len(rows)))
        for term, known in zip(found, (self._average, self.scores), strict=True):
            if known is not None:
                term[:] = known[rows]
        return found

    def variances(self, rows: Rows | None = None) -> FloatArray:
        """Of images, an array of its own."""
        variances = np.full(len(self) if rows is None else len(rows), self._kernel.variance)
        some = slice(None) if rows is None else rows
        if self._average is not None:
            variances = np.maximum(variances - self._average[some] ** 2, 0.0)
        if self.scores is not None:
            variances += self._trust * self.scores[some] ** 2
        return variances

    def kernel(self, vectors: FloatArray, rows: Rows | None = None) -> FloatArray:
        """That of eq. (4) between vectors and images, shape (vectors, images)."""
        return self.features.squared_distances(vectors, self._kernel, rows)

    def covariances(
        self, vectors: FloatArray, terms: FloatArray, rows: Rows | None = None
    ) -> FloatArray:
        """Of vectors, which have these ``terms``, with images, shape (vectors, images)."""
        return self._with(self.kernel(vectors, rows), terms, slice(None) if rows is None else rows)

    def measuring(self, vectors: FloatArray, terms: FloatArray) -> Callable[[int, int], FloatArray]:
        """What gives the same with the images from one to another."""
        measure = self.features.measuring(vectors)

        def covariances(lo: int, hi: int) -> FloatArray:
            kernel = np.ascontiguousarray(self._kernel(measure(lo, hi)).T)
            return self._with(kernel, terms, slice(lo, hi))

        return covariances

    def _with(self, covariances: FloatArray, terms: FloatArray, rows: Rows | slice) -> FloatArray:
        """Covariances less V_0 V_0', and with tau^2 s s'. Overwrites its argument."""
        averages, scores = terms
        if self._average is not None:
            _add_product(covariances, -averages, self._average[rows])
        if self.scores is not None:
            _add_product(covariances, self._trust * scores, self.scores[rows])
        return covariances


def _add_product(to: FloatArray, column: FloatArray, row: FloatArray) -> None:
    """Add a matrix of rank one, a few rows at a time."""
    step = max(1, _PRODUCTS // max(1, len(row)))
    for lo in range(0, len(column), step):
        to[lo : lo + step] += column[lo : lo + step, None] * row


class Covariance:
    """The covariance of the prior over a pool: the kernel of eq. (4) as it is."""

    slices: Group[PriorSlice]
    """What is to be known of the images of each shard."""

    def __init__(self, pool: Pool, kernel: Kernel) -> None:
        self._pool, self._kernel = pool, kernel
        self.slices = self._over(pool)

    def _over(self, pool: Pool) -> Group[PriorSlice]:
        return pool.slices.build(PriorSlice, self._kernel)

    def terms_at(self, points: Points) -> FloatArray:
        """V_0 at points, wherever they are, and below it their scores; 0 if there are none."""
        return np.stack([np.zeros(len(points)), points.scores])

    def variances_at(self, points: Points) -> FloatArray:
        """Of points, wherever they are."""
        return np.full(len(points), self._kernel.variance)

    def between(self, some: Points, others: Points) -> FloatArray:
        """Of points, wherever they are, shape (some, others)."""
        return self._kernel(self._pool.distances_between(some.vectors, others.vectors))


class Conditioned(Covariance):
    """The same given that the average over the pool is the prior mean: the kernel less V_0 V_0'."""

    name: str
    """What V_0 of all images is known by, to the pool and to those who keep it for the next one."""
    average: FloatArray | None = None
    """V_0 of all images, unless each of several shards has its own part."""

    def _over(self, pool: Pool) -> Group[PriorSlice]:
        sample = pool.vectors(pool.sample(_IMAGES))
        points = Points.of(sample)
        within = super().between(points, points).mean()
        self._to_sample = pool.distances_to(sample)
        self._deviation = float(np.sqrt(within * (1 + epsilon(len(pool)))))
        self._known: dict[bytes, float] = {}
        self.name = self._named(sample)
        if len(pool.slices) > 1:
            return pool.slices.build(PriorSlice, self._kernel, sample, self._deviation)
        self.average = pool.kept(self.name, lambda: self._average_of_all(pool, sample))
        return pool.slices.build(PriorSlice, self._kernel, average=self.average)

    def _named(self, sample: FloatArray) -> str:
        # With fewer digits than there are: other machines round otherwise.
        numbers = (self._kernel.length_scale, self._kernel.variance, self._deviation)
        digest = hashlib.sha256(" ".join(f"{one:.12g}" for one in numbers).encode())
        digest.update(np.ascontiguousarray(sample).data)
        return f"average-{digest.hexdigest()[:16]}"

    def _average_of_all(self, pool: Pool, sample: FloatArray) -> FloatArray:
        (means,) = pool.slices.ask(Features.mean_of, sample, self._kernel)
        return means / self._deviation

    @classmethod
    def of(cls, pool: Pool, kernel: Kernel) -> Conditioned:
        """Made once, in a pass over the features, for all searches that share pool and kernel."""
        return pool.kept((cls, kernel), lambda: cls(pool, kernel))

    def terms_at(self, points: Points) -> FloatArray:
        return np.stack([self._averages(points.vectors), points.scores])

    def _averages(self, vectors: FloatArray) -> FloatArray:
        """V_0. That of a few is kept: labelled ones are asked for again and again."""
        if len(vectors) > _FEW:
            return self._average(vectors)
        return np.array([self._at_one(vector) for vector in vectors])

    def _at_one(self, vector: FloatArray) -> float:
        # One by one, so that the last digit does not depend on who asks for which together.
        known, key = self._known, vector.tobytes()
        if key not in known:
            if len(known) >= _KEPT:
                known = self._known = {}
            known[key] = float(self._average(vector[None])[0])
        return known[key]

    def _average(self, vectors: FloatArray) -> FloatArray:
        at: FloatArray = self._kernel(self._to_sample(vectors)).mean(axis=1) / self._deviation
        return at

    def variances_at(self, points: Points) -> FloatArray:
        variances = super().variances_at(points) - self._averages(points.vectors) ** 2
        return np.maximum(variances, 0.0)

    def between(self, some: Points, others: Points) -> FloatArray:
        averages = np.outer(self._averages(some.vectors), self._averages(others.vectors))
        return super().between(some, others) - averages


class Scored(Covariance):
    """Either of them with scores of the images, whose weight has the variance tau^2.

    They add tau^2 s s' to the covariance. What they add to the mean is the model's business.
    """

    def __init__(self, base: Covariance, scores: Scores, trust: float) -> None:
        self._base, self._trust = base, trust
        self.slices = base.slices.deal(PriorSlice.scored, scores.values, trust)

    @staticmethod
    def weight(pool: Pool, kernel: Kernel, mean: float) -> tuple[float, float]:
        """The weight of a score by which relevant images are higher by 1, and tau^2.

        The process has this mean without the score. A score is one more direction in which images
        may differ. The variance that directions have, on average over what the process is made of,
        is t = sum lambda^2 / sum lambda with lambda the eigenvalues of its covariance, given its
        average. A label in such a direction moves it by t / (v + t) of the way from the mean to the
        label, with v the mean variance of images, which in units of labels is about 1. A score
        reaches as far, and ``BOLDNESS`` times that.
        """
        variance, typical = pool.kept((Scored, kernel), lambda: _directions(pool, kernel))
        reach = BOLDNESS * (1 + abs(mean)) * typical / (variance + typical)
        return reach, variance * (DEVIATION * reach) ** 2

    def terms_at(self, points: Points) -> FloatArray:
        return self._base.terms_at(points)

    def variances_at(self, points: Points) -> FloatArray:
        return self._base.variances_at(points) + self._trust * points.scores**2

    def between(self, some: Points, others: Points) -> FloatArray:
        products = np.outer(some.scores, others.scores)
        return self._base.between(some, others) + self._trust * products


def _directions(pool: Pool, kernel: Kernel) -> tuple[float, float]:
    """The sum of the eigenvalues of the process given its average, and their own weighted mean."""
    sample = pool.vectors(pool.sample(_IMAGES))
    covariance = kernel(pool.distances_between(sample, sample))
    kappa = covariance.mean(axis=0)
    covariance -= np.outer(kappa, kappa) / (kappa.mean() * (1 + epsilon(len(pool))))
    total = float(np.diagonal(covariance).mean())
    return total, float((covariance**2).mean()) / total


@dataclass(frozen=True)
class Belief:
    """How large the process is, and where relevance begins: s^2 and b.

    All variances, noise included, are multiplied by the scale, so that predictive means do not
    depend on it. An image is relevant where the process exceeds the border, which is taken off all
    means, so that it lies at 0 for all who read them.
    """

    scale: float = 1.0
    border: float = 0.0
    told_scale: float = 1.0
    """The same as people are told of them: questions go by all answers, figures by recent ones."""
    told_border: float = 0.0
    scales: tuple[float, ...] = (1.0,)
    """What else they may be, pair by pair: scales,"""
    borders: tuple[float, ...] = (0.0,)
    """borders,"""
    weights: tuple[float, ...] = (1.0,)
    """and how likely each pair is."""

    def change(self, to: Belief) -> tuple[float, float]:
        """What variances are multiplied by, and means shifted by, in another belief."""
        return to.scale / self.scale, self.border - to.border

    def told(self, mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Predictive means and variances as people are told of them."""
        return mean + (self.border - self.told_border), variance * (self.told_scale / self.scale)

    def blurred(self, mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance as they are told, with what is not known of scale and border in them.

        As if the border were normal and the scale its mean.
        """
        borders, weights = np.array(self.borders), np.array(self.weights)
        border, scale = weights @ borders, weights @ np.array(self.scales)
        off = weights @ (borders - border) ** 2
        return mean + (self.border - border), variance * (scale / self.scale) + off

    def draws(self, count: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Scales and borders, drawn pair by pair."""
        drawn = rng.choice(len(self.weights), count, p=self.weights)
        return np.array(self.scales)[drawn], np.array(self.borders)[drawn]


@dataclass(frozen=True)
class Evidence:
    """What there is to choose a belief by, all of it in the scale 1 and with the border at 0."""

    means: FloatArray
    """Predictive means of evenly spaced images, given the examples of the query alone."""
    variances: FloatArray
    """And their predictive variances."""
    images: int
    """In the pool."""
    prior_variance: float
    """The mean variance before the first label."""
    answers: FloatArray
    """1 and -1, in the order in which they were given."""
    answer_means: FloatArray
    """The predictive mean of the image of each answer, given all labels before it."""
    answer_variances: FloatArray
    p_mistake: float
    """With which answers are wrong."""


class Prior(ABC):
    """Mean and covariance before the first label, and what is made of labels."""

    mean: float
    base_rate: float | str | None
    """What it is asked for by."""

    @abstractmethod
    def covariance(self, pool: Pool, kernel: Kernel) -> Covariance:
        """In the scale 1."""

    @abstractmethod
    def number(self, images: int) -> tuple[float, float]:
        """How many images are relevant before the first answer, and how surely that is known.

        Its median, and the deviation of its logarithm.
        """

    @abstractmethod
    def belief(self, evidence: Evidence) -> Belief:
        """Scale and border, given labels."""

    @abstractmethod
    def along_ranking(self, probabilities: FloatArray) -> FloatArray:
        """P(R = 1) of images in the order of their means, as people are told it."""

    @abstractmethod
    def reading(self, p_mistake: float, variance: float) -> tuple[float, float]:
        """What an answer is worth that may be wrong, in place of 1, and its error's variance.

        ``variance`` is the mean one of images before the first label, in the scale 1.
        """


@dataclass(frozen=True)
class Paper(Prior):
    """Section 3.2: mean 0, the kernel as it is, and answers as if they were true."""

    mean = 0.0
    base_rate = None

    def covariance(self, pool: Pool, kernel: Kernel) -> Covariance:
        return Covariance(pool, kernel)

    def number(self, images: int) -> tuple[float, float]:
        return images / 2, 0.0

    def belief(self, evidence: Evidence) -> Belief:
        return Belief()

    def along_ranking(self, probabilities: FloatArray) -> FloatArray:
        return probabilities

    def reading(self, p_mistake: float, variance: float) -> tuple[float, float]:
        return 1.0, 0.0


PAPER = Paper()
