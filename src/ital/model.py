"""The relevance model of section 3.2: a Gaussian process over the pool, kept up to date.

With L the Cholesky factor of the labelled images' kernel matrix and noise, and V = L^-1 K(labelled,
pool), the pool's predictive mean is V' L^-1 y, its variances are k(x, x) - sum V^2, and the
covariance of two images is k(x, x') - V_x' V_x'. A new label is a new row of V, O(n (d + labels));
a removed one is a few plane rotations of rows; a changed one touches no row. There is never an
n x n matrix: all state over the pool has one element, or one column, for each image.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from ital import checks, gaussian
from ital.engine import for_blocks
from ital.pool import FloatArray, Pool, Rows

_ROWS = 32
"""Rows of V in one piece of memory. Pieces are added as labels come, and none is ever copied."""

_COLUMNS = 1 << 15
"""Images whose columns of V are worked on at a time: a piece of that width fits a core's cache."""

_LEAST_NOISE = 1e-12
"""Noise, in units of the variance, that copies of an image have at the least."""

_WHOLE_SHARE = 0.3
"""Share of the pool above which covariances with all of it cost no more than with that part."""


@dataclass(frozen=True)
class Kernel:
    """The RBF kernel of eq. (4); ``variance`` and ``noise`` are sigma_var^2 and sigma_noise^2."""

    length_scale: float
    variance: float = 1.0
    noise: float = 1e-6

    def __post_init__(self) -> None:
        for name in ("length_scale", "variance", "noise"):
            object.__setattr__(self, name, checks.positive(getattr(self, name), name))

    @property
    def least_noise(self) -> float:
        """The noise, or what arithmetic can tell from none if that is more."""
        return max(self.noise, _LEAST_NOISE * self.variance)

    def __call__(self, squared_distances: FloatArray) -> FloatArray:
        """Covariances at these distances, without noise. Overwrites its argument."""
        squared_distances *= -0.5 / self.length_scale**2
        np.exp(squared_distances, out=squared_distances)
        squared_distances *= self.variance
        return squared_distances


class RelevanceModel:
    """Mean, variance and covariance of relevance over a pool, given labels of +1 and -1.

    Images are named by their index in the pool. A labelled vector that is not in the pool gets a
    negative number as its name.
    """

    def __init__(self, pool: Pool, kernel: Kernel) -> None:
        self.pool = pool
        self.kernel = kernel
        self.mean = np.zeros(len(pool))
        self.variance = np.full(len(pool), kernel.variance)
        self._names: list[int] = []
        self._labels = np.empty(0)
        self._vectors = np.empty((0, pool.dimension))
        self._factor = np.empty((0, 0))
        self._weights = np.empty(0)
        self._pieces: list[FloatArray] = []
        self._covariances: dict[int, FloatArray] = {}

    @property
    def labels(self) -> dict[int, float]:
        """Labels by name, in the order in which the model holds them."""
        return dict(zip(self._names, self._labels.tolist(), strict=True))

    @property
    def labelled_vectors(self) -> FloatArray:
        """The features of what is labelled, in the order of ``labels``. Not to be written to."""
        vectors = self._vectors.view()
        vectors.flags.writeable = False
        return vectors

    def update(
        self, labels: Mapping[int, float | None], vectors: Mapping[int, FloatArray] | None = None
    ) -> None:
        """Add, change and (``None``) remove labels, many at once.

        ``vectors`` holds the features of the new names that are not in the pool.
        """
        positions = {name: position for position, name in enumerate(self._names)}
        removed = [positions[name] for name in labels if name in positions and labels[name] is None]
        changed = False
        for name, label in labels.items():
            if label is not None and name in positions and label != self._labels[positions[name]]:
                self._labels[positions[name]] = label
                changed = True
        for position in sorted(removed, reverse=True):
            self._remove(position)
        if removed or changed:
            self._refresh()
        added = {n: y for n, y in labels.items() if y is not None and n not in positions}
        if removed or added:
            kept, self._covariances = self._covariances, {}
            # Rows that selection computed are of use only while no other label has gone.
            self._add(added, vectors or {}, {} if removed else kept)

    def prior(self, images: Rows, rows: Rows | None = None) -> FloatArray:
        """Kernel values, whatever the labels, shape (images, n), or (images, rows)."""
        return self._prior(self.pool.vectors(images), rows)

    def covariances(self, images: Rows, rows: Rows | None = None, keep: bool = True) -> FloatArray:
        """Posterior covariances, shape (images, n), or (images, rows) for some of the pool.

        Those with the whole pool are kept: the labels that follow need the same rows. Not so
        without ``keep``, for who looks at more images than will ever be asked about.
        """
        if not keep:
            return self._fresh_covariances(images, rows)
        missing = [int(image) for image in images if int(image) not in self._covariances]
        if missing:
            if rows is not None and len(rows) <= _WHOLE_SHARE * len(self.pool):
                return self._fresh_covariances(images, rows)
            whole = self._fresh_covariances(np.array(missing))
            self._covariances.update(zip(missing, whole, strict=True))
        part: Rows | slice = slice(None) if rows is None else rows
        columns = len(self.pool) if rows is None else len(rows)
        out = np.empty((len(images), columns))
        for i, image in enumerate(images):
            out[i] = self._covariances[int(image)][part]
        return out

    def forget_covariances(self) -> None:
        """Let go of covariances that were kept, so that what follows computes the same numbers."""
        self._covariances = {}

    def joint(self, batch: Rows) -> tuple[FloatArray, FloatArray]:
        """Predictive mean and covariance of a batch, without noise."""
        cov = self.covariances(batch, batch)
        cov = (cov + cov.T) / 2
        np.fill_diagonal(cov, self.variance[batch])
        return self.mean[batch], cov

    def predict(self, vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Predictive mean and variance of vectors, wherever they are from."""
        prior = self.kernel(self.pool.distances_between(self._vectors, vectors))
        columns = _solve(self._factor, prior)
        variance = self.kernel.variance - np.einsum("ij,ij->j", columns, columns)
        return columns.T @ self._weights, np.maximum(variance, 0.0)

    def probabilities(self, rows: Rows | None = None) -> FloatArray:
        """P(R = 1), eq. (5), of the pool or of some of its images."""
        part: Rows | slice = slice(None) if rows is None else rows
        return gaussian.positive_probability(self.mean[part], self.variance[part])

    def contributions(self, row: int) -> dict[int, float]:
        """What each label adds to the predictive mean of an image, by name: its mean is their sum.

        The mean is a sum over the labelled images, k(x, x_j) a_j with a = (K + noise)^-1 y.
        """
        if not self._names:
            return {}
        weights = solve_triangular(self._factor, self._weights, lower=True, trans="T")
        distances = self.pool.distances_between(self.pool.vectors(np.array([row])), self._vectors)
        parts = self.kernel(distances)[0] * weights
        return dict(zip(self._names, parts.tolist(), strict=True))

    def entropies(self, rows: Rows | None = None) -> FloatArray:
        """H(R) in nats of each image of the pool, or of some, for itself."""
        return gaussian.binary_entropy(self.probabilities(rows))

    def _add(
        self,
        labels: Mapping[int, float],
        vectors: Mapping[int, FloatArray],
        covariances: Mapping[int, FloatArray],
    ) -> None:
        names = list(labels)
        while names:
            room = _ROWS - len(self._names) % _ROWS
            self._add_rows(names[:room], labels, vectors, covariances)
            # The rows just added are not in these covariances.
            names, covariances = names[room:], {}

    def _add_rows(
        self,
        names: list[int],
        labels: Mapping[int, float],
        vectors: Mapping[int, FloatArray],
        covariances: Mapping[int, FloatArray],
    ) -> None:
        """Add labels that fit into one piece: new rows of V, and with them mean and variance."""
        old, count = len(self._names), len(names)
        new_vectors = np.stack(
            [vectors[n] if n < 0 else self.pool.vectors(np.array([n]))[0] for n in names]
        )
        known = np.array([name in covariances for name in names])
        unknown = np.flatnonzero(~known)
        if old % _ROWS == 0:
            self._pieces.append(np.empty((_ROWS, len(self.pool))))
        rows = self._pieces[-1][old % _ROWS :][:count]
        for position in np.flatnonzero(known):
            rows[position] = covariances[names[position]]
        if unknown.size:
            rows[unknown] = self._prior(new_vectors[unknown])

        self._extend_factor(new_vectors)
        self._names += names
        self._labels = np.append(self._labels, [labels[name] for name in names])
        self._weights = _solve(self._factor, self._labels)
        factor = self._factor[old:]
        weights = self._weights[old:]

        def fill(lo: int, hi: int) -> None:
            part = rows[:, lo:hi]
            if unknown.size:
                for start, piece in self._filled(old):
                    left = factor[unknown, start : start + len(piece)]
                    part[unknown] -= left @ piece[:, lo:hi]
            # Forward substitution, row by row: SciPy's is slow on few rows of many columns.
            for j, row in enumerate(factor[:, old:]):
                part[j] -= row[:j] @ part[:j]
                part[j] /= row[j]
            self.mean[lo:hi] += weights @ part
            self.variance[lo:hi] -= np.einsum("ij,ij->j", part, part)
            np.maximum(self.variance[lo:hi], 0.0, out=self.variance[lo:hi])

        for_blocks(fill, len(self.pool), _COLUMNS)

    def _extend_factor(self, vectors: FloatArray) -> None:
        """More rows of L, for labelled vectors."""
        old, count = len(self._factor), len(vectors)
        self._vectors = np.vstack([self._vectors, vectors])
        prior = self.kernel(self.pool.distances_between(self._vectors, vectors))
        left = _solve(self._factor, prior[:old])
        rest = prior[old:] - left.T @ left
        block = np.zeros((count, count))
        for j in range(count):
            row = _solve(block[:j, :j], rest[:j, j])
            explained = float(left[:, j] @ left[:, j] + row @ row)
            # The pivot is at least the noise; rounding may say otherwise among copies of an image.
            pivot = max(self.kernel.variance - explained, 0.0) + self.kernel.least_noise
            block[j, :j] = row
            block[j, j] = np.sqrt(pivot)
        self._factor = np.block([[self._factor, np.zeros((old, count))], [left.T, block]])

    def _remove(self, position: int) -> None:
        """Take a row out of L and rotate what is left, and V with it, back into shape."""
        factor = np.delete(self._factor, position, axis=0)
        for i in range(position, len(factor)):
            a, b = factor[i, i], factor[i, i + 1]
            length = np.hypot(a, b)
            rotation = np.array([[a, b], [-b, a]]) / length
            factor[i:, i : i + 2] = factor[i:, i : i + 2] @ rotation.T
            upper, lower = self._row(i), self._row(i + 1)
            upper[...], lower[...] = (
                rotation[0, 0] * upper + rotation[0, 1] * lower,
                rotation[1, 0] * upper + rotation[1, 1] * lower,
            )
        self._factor = np.tril(factor[:, :-1])
        self._vectors = np.delete(self._vectors, position, axis=0)
        self._labels = np.delete(self._labels, position)
        del self._names[position]
        del self._pieces[-(-len(self._names) // _ROWS) :]

    def _refresh(self) -> None:
        """Mean and variance from V."""
        self._weights = _solve(self._factor, self._labels)

        def fill(lo: int, hi: int) -> None:
            self.mean[lo:hi] = 0.0
            explained = np.zeros(hi - lo)
            for start, piece in self._filled(len(self._names)):
                part = piece[:, lo:hi]
                self.mean[lo:hi] += self._weights[start : start + len(piece)] @ part
                explained += np.einsum("ij,ij->j", part, part)
            self.variance[lo:hi] = np.maximum(self.kernel.variance - explained, 0.0)

        for_blocks(fill, len(self.pool), _COLUMNS)

    def _fresh_covariances(self, images: Rows, rows: Rows | None = None) -> FloatArray:
        covariances, columns = self.prior(images, rows), self._columns(images)
        if rows is not None:
            return covariances - columns.T @ self._columns(rows)

        def fill(lo: int, hi: int) -> None:
            for start, piece in self._filled(len(self._names)):
                covariances[:, lo:hi] -= columns[start : start + len(piece)].T @ piece[:, lo:hi]

        for_blocks(fill, len(self.pool), _COLUMNS)
        return covariances

    def _prior(self, vectors: FloatArray, rows: Rows | None = None) -> FloatArray:
        """Kernel of some vectors with the pool or some of its images."""
        return self.pool.squared_distances(vectors, rows, self.kernel)

    def _columns(self, images: Rows) -> FloatArray:
        """Columns of V, shape (labels, images)."""
        pieces = [piece[:, images] for _, piece in self._filled(len(self._names))]
        return np.concatenate(pieces) if pieces else np.empty((0, len(images)))

    def _filled(self, labels: int) -> Iterator[tuple[int, FloatArray]]:
        """The rows of V for the first labels, piece by piece, each with its first row's number."""
        for start in range(0, labels, _ROWS):
            yield start, self._pieces[start // _ROWS][: labels - start]

    def _row(self, position: int) -> FloatArray:
        row: FloatArray = self._pieces[position // _ROWS][position % _ROWS]
        return row


def _solve(factor: FloatArray, right: FloatArray) -> FloatArray:
    """factor^-1 right for a lower triangle."""
    if not len(factor):
        return right.copy()
    solution: FloatArray = solve_triangular(factor, right, lower=True, check_finite=False)
    return solution
