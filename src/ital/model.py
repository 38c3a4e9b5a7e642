"""The relevance model of section 3.2: a Gaussian process over the pool, kept up to date.

With m the mean and k the covariance of the prior, L that of `factor` and V that of the shards, the
pool's predictive mean is m + V' L^-1 (y - m), its variances are k(x, x) - sum V^2, and the
covariance of two images is k(x, x') - V_x' V_x'. A label that is new or gone is a row of V that
comes or goes; a changed one touches no row. All state over the pool is in the hands of its shards.

Means, variances and covariances are told with the scale and the border that the prior believes in,
given the labels. Inside, the scale is 1 and the border 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, TypeVar

import numpy as np
from scipy.linalg import cholesky

from ital import gaussian
from ital.candidates import Candidates
from ital.checks import IntArray, Row, Rows
from ital.engine import Group
from ital.factor import Factor, solve
from ital.gaussian import FloatArray
from ital.kernel import Kernel
from ital.pool import Pool
from ital.prior import PAPER, Belief, Evidence, Points, Prior, PriorSlice, Scored
from ital.scores import TYPICAL, Scores
from ital.shard import Score, Shard

T = TypeVar("T")

_SAMPLE = 2048
"""Evenly spaced images that stand for the pool where a belief is chosen."""

_SAME = 1e-9
"""How much less than 1 the correlation of images in the same place may be."""

_WHOLE_SHARE = 0.3
"""Share of the pool above which covariances with all of it cost no more than with that part."""


class RelevanceModel:
    """Mean, variance and covariance of relevance over a pool, given labels of +1 and -1.

    Images are named by their index in the pool. A labelled vector that is not in the pool gets a
    negative number as its name.
    """

    def __init__(
        self, pool: Pool, kernel: Kernel, prior: Prior = PAPER, scores: Scores | None = None
    ) -> None:
        self.pool, self.kernel, self.prior, self.prior_scores = pool, kernel, prior, scores
        self.belief = Belief()
        self._covariance = prior.covariance(pool, kernel)
        sample = pool.sample(_SAMPLE)
        self._reach, self._sample_scores = 0.0, np.zeros(len(sample))
        if scores is not None:
            self._reach, trust = Scored.weight(pool, kernel, prior.mean)
            self._sample_scores = scores.values[sample]
            self._covariance = Scored(self._covariance, scores, trust)
        self.slope = self._reach * TYPICAL
        """The weight of the scores, a."""
        self._shards = self._covariance.slices.build(Shard, prior.mean, self.slope)
        self._sample_variances = self.moments(sample)[1]
        self._mean_variance = float(self._sample_variances.mean())
        self._mistake = 0.0
        self._names: list[Row] = []
        self._labels = np.empty(0)
        self._asked = np.empty(0, dtype=bool)
        self._factor = Factor(self._covariance, pool.dimension)
        self._weights = np.empty((2, 0))
        self._kept: set[int] = set()
        self._examples: tuple[bytes, bytes] | None = None
        self._example_columns = np.empty((0, 0))
        self._believe()

    @property
    def mean(self) -> FloatArray:
        """Predictive means of the whole pool. Not to be written to."""
        return self._whole(Shard.means)

    @property
    def variance(self) -> FloatArray:
        """Predictive variances of the whole pool. Not to be written to."""
        return self._whole(Shard.variances)

    def moments(self, rows: Rows | None = None) -> FloatArray:
        """Predictive means, and below them variances, of some images, or of the whole pool."""
        return self._shards.gather(Shard.moments, rows)

    @property
    def scale(self) -> float:
        """What variances, covariances and noise are multiplied by, s^2."""
        return self.belief.scale

    @property
    def labels(self) -> dict[Row, float]:
        """Labels by name, in the order in which the model holds them."""
        return dict(zip(self._names, self._labels.tolist(), strict=True))

    @property
    def is_informed(self) -> bool:
        """Whether there is a label, or a score of the images, to go by."""
        return bool(self._names) or self.prior_scores is not None

    @property
    def answers(self) -> int:
        """How many of the labels are answers to questions, and no examples."""
        return int(self._asked.sum())

    @property
    def noise(self) -> float:
        """The variance of the noise on a label."""
        return self.scale * self.kernel.noise

    @property
    def least_noise(self) -> float:
        """The noise, or what arithmetic can tell from none if that is more."""
        return self.scale * self.kernel.least_noise

    @property
    def answer_noise(self) -> float:
        """The variance of what an answer is off by: noise, and that it may be wrong."""
        _, noise = self.prior.reading(self._mistake, self._mean_variance)
        return self.least_noise + self.scale * noise

    def read(self, answers: FloatArray) -> FloatArray:
        """What answers of 1 and -1 say of the process, to be compared with ``mean``."""
        worth, _ = self.prior.reading(self._mistake, self._mean_variance)
        return worth * answers - self.belief.border

    @property
    def labelled_vectors(self) -> FloatArray:
        """The features of what is labelled, in the order of ``labels``. Not to be written to."""
        return _read_only(self._factor.vectors)

    @property
    def contradictions(self) -> int:
        """Pairs of labels that cannot both be right: of images in the same place, and opposite."""
        vectors = self._factor.vectors
        kernel = self.kernel(self.pool.distances_between(vectors, vectors))
        same = kernel > (1 - _SAME) * self.kernel.variance
        return int(np.triu(same & (np.outer(self._labels, self._labels) < 0)).sum())

    def update(
        self,
        labels: Mapping[Row, float | None],
        vectors: Mapping[Row, FloatArray] | None = None,
        examples: Collection[Row] = (),
    ) -> None:
        """Add, change and (``None``) remove labels, many at once, as ``become`` takes them."""
        wanted: dict[Row, float | None] = {**self.labels, **labels}
        chosen = {name for name, asked in zip(self._names, self._asked, strict=True) if not asked}
        self.become(
            {name: label for name, label in wanted.items() if label is not None},
            vectors,
            chosen.difference(labels).union(examples),
        )

    def become(
        self,
        labels: Mapping[Row, float],
        vectors: Mapping[Row, FloatArray] | None = None,
        examples: Collection[Row] = (),
    ) -> None:
        """Have just these labels, in this order, with as little work as can be.

        ``vectors`` holds the features of the names that are not in the pool, of new ones at least.
        ``examples`` are those that nobody asked about: they are right, and no evidence of how many
        images are relevant.
        """
        names, vectors = list(labels), vectors or {}
        unknown = {n for n in names if n < 0}.difference(vectors, self._names)
        if unknown:
            raise ValueError(f"vectors must hold those named {sorted(unknown)}, but does not")
        places = zip(self._names, self._factor.vectors, strict=True)
        known = [n for n, at in places if n in labels and np.array_equal(vectors.get(n, at), at)]
        pairs = zip(known, names, strict=False)
        stay = sum(1 for _ in itertools.takewhile(lambda two: two[0] == two[1], pairs))
        staying = set(names[:stay])
        removed = [i for i, name in enumerate(self._names) if name not in staying]
        if removed:
            self._remove(removed)
        before = self._readings()
        self._labels = np.array([labels[name] for name in names[:stay]], dtype=float)
        self._asked = np.array([name not in examples for name in names[:stay]], dtype=bool)
        after = self._readings()
        renoised = not np.array_equal(before[1], after[1])
        if renoised:
            self._renew(after[1])
        if removed or renoised:
            # Rows that selection computed are of use only while those before them are as they were.
            self.forget_covariances()
        if removed or not np.array_equal(before, after):
            self._refresh()
        if names[stay:]:
            self._add(names[stay:], labels, vectors, examples)
        self._believe()

    def trust(self, p_mistake: float) -> None:
        """Take answers to be wrong with this probability, in the way that the prior does."""
        before, self._mistake = self._mistake, p_mistake
        mean = self._mean_variance
        if self.prior.reading(before, mean) != self.prior.reading(p_mistake, mean):
            self._renew(self._readings()[1])
            self._refresh()
            self.forget_covariances()
            self._believe()

    def kernel_matrix(self, images: Rows, rows: Rows | None = None) -> FloatArray:
        """How alike images are: the kernel of eq. (4), whatever is believed, shape (images, n).

        Or (images, rows) for some of the pool.
        """
        return self.pool.squared_distances(self.pool.vectors(images), rows, self.kernel)

    def prior_joint(self, images: Rows) -> tuple[FloatArray, FloatArray]:
        """Covariances and variances of some images before the first label."""
        slices = self._covariance.slices
        vectors, terms, _ = self._given(images)
        covariances = slices.gather(PriorSlice.covariances, images, vectors, terms)
        return self.scale * covariances, self.scale * slices.gather(PriorSlice.variances, images)

    def covariances(self, images: Rows, rows: Rows | None = None, keep: bool = True) -> FloatArray:
        """Posterior covariances, shape (images, n), or (images, rows) for some of the pool.

        Those with the whole pool are kept: the labels that follow need the same rows. Not so
        without ``keep``, for who looks at more images than will ever be asked about.
        """
        found = self._kept_covariances(images, rows) if keep else self._fresh(images, rows)
        if self.scale != 1.0:
            found *= self.scale
        return found

    def keep_covariances(self, images: Rows) -> None:
        """Have shards keep posterior covariances with all images, for who lives beside them."""
        missing = np.array([i for i in images.tolist() if i not in self._kept], dtype=np.int64)
        if missing.size:
            self._shards.tell(Shard.keep, missing.tolist(), *self._given(missing))
            self._kept.update(missing.tolist())

    def beside(self, make: Callable[..., T], *args: Any) -> Group[T]:
        """Objects made of the shards, each where its shard is."""
        return self._shards.build(make, *args)

    def forget_covariances(self) -> None:
        """Let go of covariances that were kept, so that what follows computes the same numbers."""
        if self._kept:
            self._shards.tell(Shard.forget)
            self._kept = set()

    def joint(self, batch: Rows, keep: bool = True) -> tuple[FloatArray, FloatArray]:
        """Predictive mean and covariance of a batch, without noise."""
        cov = self.covariances(batch, batch, keep)
        cov = (cov + cov.T) / 2
        mean, variance = self.moments(batch)
        np.fill_diagonal(cov, variance)
        return mean, cov

    def foreseen(
        self, images: Rows, batch: Rows, answers: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Predictive means and variances of images after answers to a batch, the belief as it is.

        A row of ``answers`` is one way to answer it: 1, -1, or 0 for no answer. Both results have
        a row for each.
        """
        known, cov = self.joint(batch)
        across = self.covariances(batch, images)
        cov[np.diag_indices_from(cov)] += self.answer_noise
        means, variances = (np.tile(one, (len(answers), 1)) for one in self.moments(images))
        for row, answer in enumerate(answers):
            said = np.flatnonzero(answer)
            lower: FloatArray = cholesky(cov[np.ix_(said, said)], lower=True)
            columns = solve(lower, across[said])
            surprise = self.read(answer[said]) - known[said]
            means[row] += solve(lower, surprise) @ columns
            variances[row] -= np.einsum("ij,ij->j", columns, columns)
        return means, np.maximum(variances, 0.0)

    def predict(
        self, vectors: FloatArray, scores: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Predictive mean and variance of vectors; standardised ``scores`` are 0 if not known."""
        points = Points.of(vectors, scores)
        mean, columns = self._predicted(points)
        variance = self._covariance.variances_at(points)
        variance -= np.einsum("ij,ij->j", columns, columns)
        return mean, self.scale * np.maximum(variance, 0.0)

    def predict_mean(self, vectors: FloatArray, scores: FloatArray | None = None) -> FloatArray:
        """The mean alone, in about three fifths of the time."""
        return self._predicted(Points.of(vectors, scores))[0]

    def _predicted(self, points: Points) -> tuple[FloatArray, FloatArray]:
        """Predictive means, and the columns of V that they come from."""
        columns = self._factor.solve(self._covariance.between(self._factor.points, points))
        mean = self.prior.mean - self.belief.border + columns.T @ self._weights[0]
        return mean + self.slope * points.scores, columns

    def scores(self, score: Score, rows: Rows | None = None) -> FloatArray:
        """How much images are wanted, of the pool or of some."""
        return self._shards.gather(Shard.scores, rows, score)

    def best(self, count: int, score: Score, candidates: Candidates) -> IntArray:
        """The candidates that are wanted most, in falling order; of equal ones the lower row."""
        return self._shards.best(Shard.best, count, candidates, score)[0]

    def probabilities(self, rows: Rows | None = None) -> FloatArray:
        """P(R = 1), eq. (5), of the pool or of some of its images."""
        return self.scores(gaussian.positive_probability, rows)

    def told(self, rows: Rows | None = None) -> FloatArray:
        """P(R = 1) as people are told it: how sure the model is, by the more recent answers."""
        return self.scores(partial(_told, belief=self.belief), rows)

    @property
    def expected(self) -> float:
        """How many images of the pool are relevant: the sum of P(R = 1)."""
        return sum(self._shards.ask(Shard.expected))

    def contributions(self, row: Row) -> dict[Row, float]:
        """What each label adds to the predictive mean of an image, by name.

        The mean is that of the prior and a sum over the labelled images, k(x, x_j) a_j with
        a = (K + noise)^-1 (y - m).
        """
        if not self._names:
            return {}
        weights = self._factor.solve_transposed(self._weights[0])
        alike = self._covariance.between(self._images(np.array([row])), self._factor.points)
        return dict(zip(self._names, (alike[0] * weights).tolist(), strict=True))

    def entropies(self, rows: Rows | None = None) -> FloatArray:
        """H(R) in nats of each image of the pool, or of some, for itself."""
        return self.scores(gaussian.relevance_entropy, rows)

    def _believe(self) -> None:
        """Have the prior choose scale and border anew, and before that the weight of scores."""
        if self.prior_scores is not None:
            self._lean(self._reach * self._apart(self.prior_scores))
        before, self.belief = self.belief, self.prior.belief(self._evidence(self.slope))
        self._shards.tell(Shard.adjust, *before.change(self.belief))

    def _apart(self, scores: Scores) -> float:
        """By how much relevant images have the higher scores, as far as labels tell.

        What they tell of all images is that of the process without what scores add to its mean.
        """
        sums = np.zeros(3)
        if self._names:
            change = self.belief.change(self.prior.belief(self._evidence(0.0)))
            sums = np.sum(self._shards.ask(Shard.agreement, self.slope, *change), axis=0)
        return scores.apart(*sums.tolist())

    def _lean(self, slope: float) -> None:
        """Another weight of the scores."""
        change, self.slope = slope - self.slope, slope
        self._weights[0] -= change * self._weights[1]
        self._shards.tell(Shard.lean, change)

    def _evidence(self, slope: float) -> Evidence:
        """What answers say of scale and border, with this weight of scores."""
        readings, noises = self._readings()
        pivots, asked = self._factor.lower.diagonal(), self._asked
        weights = self._weights[0] + (self.slope - slope) * self._weights[1]
        # The examples of a query come first. Given these alone, a few images stand for the pool.
        examples = int(np.argmax([*asked, True]))
        columns = self._given_examples(examples)
        means = self.prior.mean + slope * self._sample_scores
        return Evidence(
            means + weights[:examples] @ columns,
            self._sample_variances - np.einsum("ij,ij->j", columns, columns),
            len(self.pool),
            self._mean_variance,
            self._labels[asked],
            # What the labels before each one foretold of it can be read off the factor.
            (readings - pivots * weights)[asked],
            np.maximum(pivots**2 - noises, 0.0)[asked],
            self._mistake,
        )

    def _given_examples(self, count: int) -> FloatArray:
        """The first rows of V at the images that stand for the pool; asked for where they change.

        They are L^-1 k(examples, images), and nothing else.
        """
        what = self._factor.vectors[:count].tobytes(), self._factor.lower[:count, :count].tobytes()
        if what != self._examples:
            rows = self.pool.sample(_SAMPLE)
            self._example_columns = self._shards.gather(Shard.columns, rows, count)
            self._examples = what
        return self._example_columns

    def _add(
        self,
        names: list[Row],
        labels: Mapping[Row, float],
        vectors: Mapping[Row, FloatArray],
        examples: Collection[Row],
    ) -> None:
        """Add labels: new rows of V, and with them mean and variance, in one pass."""
        count, points = len(names), self._images(np.maximum(names, 0))
        for place, name in enumerate(names):
            if name < 0:
                points.vectors[place], points.scores[place] = vectors[name], 0.0
        self._names += names
        self._labels = np.append(self._labels, [labels[name] for name in names])
        self._asked = np.append(self._asked, [name not in examples for name in names])
        self._factor.extend(points, self._readings()[1][-count:])
        self._weights = self._solved_labels()
        self._shards.tell(
            Shard.append,
            names,
            points.vectors,
            self._covariance.terms_at(points),
            self._factor.lower[-count:],
            self._weights[:, -count:],
            self.scale,
        )
        self._kept = set()

    def _remove(self, positions: list[int]) -> None:
        self._shards.tell(Shard.transform, *self._factor.remove(positions))
        self._labels = np.delete(self._labels, positions)
        self._asked = np.delete(self._asked, positions)
        self._names = np.delete(self._names, positions).tolist()

    def _renew(self, noises: FloatArray) -> None:
        self._shards.tell(Shard.transform, 0, self._factor.renew(noises))

    def _refresh(self) -> None:
        """Mean and variance from V."""
        self._weights = self._solved_labels()
        mean = self.prior.mean - self.belief.border
        self._shards.tell(Shard.refresh, self._weights, mean, self.slope, self.scale)

    def _readings(self) -> FloatArray:
        """What the labels say of the process, and the variance of what they are off by."""
        worth, noise = self.prior.reading(self._mistake, self._mean_variance)
        worths, noises = np.where(self._asked, worth, 1.0), np.where(self._asked, noise, 0.0)
        return np.stack([self._labels * worths, self.kernel.least_noise + noises])

    def _solved_labels(self) -> FloatArray:
        """L^-1 (y - m), and below it L^-1 s."""
        scores = self._factor.points.scores
        surprises = self._readings()[0] - self.prior.mean - self.slope * scores
        return self._factor.solve(np.stack([surprises, scores], axis=1)).T

    def _kept_covariances(self, images: Rows, rows: Rows | None) -> FloatArray:
        names = images.tolist()
        few = rows is not None and len(rows) <= _WHOLE_SHARE * len(self.pool)
        if few and not self._kept.issuperset(names):
            return self._fresh(images, rows)
        self.keep_covariances(images)
        return self._shards.gather(Shard.kept, rows, names)

    def _fresh(self, images: Rows, rows: Rows | None = None) -> FloatArray:
        return self._shards.gather(Shard.covariances, rows, *self._given(images))

    def _given(self, images: Rows) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Vectors, terms and columns of V: what a shard needs to tell how alike its images are."""
        given, d = self._shards.gather(Shard.given, images), self.pool.dimension
        return np.ascontiguousarray(given[:d].T), given[d : d + 2], given[d + 2 :]

    def _images(self, rows: Rows) -> Points:
        """Images of the pool, in arrays of their own."""
        scores = self.prior_scores
        return Points.of(self.pool.vectors(rows), None if scores is None else scores.values[rows])

    def _whole(self, question: Callable[..., FloatArray]) -> FloatArray:
        return _read_only(self._shards.gather(question, None))


def _told(mean: FloatArray, variance: FloatArray, belief: Belief) -> FloatArray:
    return gaussian.positive_probability(*belief.told(mean, variance))


def _read_only(array: FloatArray) -> FloatArray:
    view = array.view()
    view.flags.writeable = False
    return view
