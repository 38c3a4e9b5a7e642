"""What a model keeps of the images of a shard: one element, or one column, for each of them.

Labels, the factor L, weights and beliefs are the model's own. A shard knows vectors and numbers,
and may be anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ital import gaussian
from ital.checks import IntArray, Rows
from ital.engine import block_rows, for_blocks
from ital.factor import substitute
from ital.gaussian import FloatArray
from ital.order import largest
from ital.prior import PriorSlice

_ROWS = 32
"""Rows of V in one piece of memory. Pieces are added as rows come, and none is ever copied."""

_NUMBERS = 1 << 20
"""New ones of V that a thread has at hand at a time: 8 MB."""


class Score(Protocol):
    """How much images are wanted, each for itself. It goes to where the images are."""

    def __call__(self, mean: FloatArray, variance: FloatArray) -> FloatArray:
        """Of their predictive means and variances; an array of its own, or one of these."""


class Shard:
    """Mean, variance and V = L^-1 k(observed, images) of a process over some images.

    Args:
        prior: covariances before the first label.
        mean: of the process before the first label, without what a score adds.
        slope: the weight of scores, if there are any.

    """

    def __init__(self, prior: PriorSlice, mean: float, slope: float) -> None:
        self._prior = prior
        self._mean = np.full(len(prior), mean)
        self._leaning = None if prior.scores is None else prior.scores.copy()
        """What the mean rises by with the weight of scores: these, less what the labels say."""
        self.lean(slope)
        self._variance = prior.variances()
        # Features in half precision are off by 5e-4 of their size. Rows that are off by 6e-8 of
        # theirs change nothing beside that, and take half the room.
        half = prior.features.array.dtype == np.float16
        self._precision = np.dtype(np.float32 if half else np.float64)
        self._pieces: list[npt.NDArray[np.floating[Any]]] = []
        self._count = 0
        self._kept: dict[int, FloatArray] = {}

    def __len__(self) -> int:
        return len(self._prior)

    def append(
        self,
        names: Sequence[int],
        vectors: FloatArray,
        terms: FloatArray,
        lower: FloatArray,
        weights: FloatArray,
        scale: float,
    ) -> None:
        """More rows of V, and what they change: one pass over the features.

        ``terms`` are V_0 and scores of the vectors, ``lower`` the new rows of L and ``weights``
        those of L^-1 (y - m) and of L^-1 s, one below the other. Covariances that were kept under
        one of the ``names`` need no pass.
        """
        kept, self._kept = self._kept, {}
        old, count = self._count, len(names)
        self._count += count
        while len(self._pieces) * _ROWS < self._count:
            self._pieces.append(np.empty((_ROWS, len(self)), self._precision))
        unknown = np.array([i for i, name in enumerate(names) if name not in kept], dtype=np.int64)
        fresh = self._prior.measuring(vectors[unknown], terms[:, unknown])

        def one_block(lo: int, hi: int) -> None:
            part = np.empty((count, hi - lo))
            for position, name in enumerate(names):
                if name in kept:
                    part[position] = kept[name][lo:hi]
            if unknown.size:
                new = fresh(lo, hi)
                for start, piece in self._filled(old):
                    new -= lower[unknown, start : start + len(piece)] @ piece[:, lo:hi]
                part[unknown] = new
            substitute(lower[:, old:], part)
            self._mean[lo:hi] += weights[0] @ part
            if self._leaning is not None:
                self._leaning[lo:hi] -= weights[1] @ part
            self._variance[lo:hi] -= scale * np.einsum("ij,ij->j", part, part)
            np.maximum(self._variance[lo:hi], 0.0, out=self._variance[lo:hi])
            self._write(old, lo, part)

        self._for_blocks(one_block, count)

    def transform(self, first: int, change: FloatArray) -> None:
        """The rows of V from one on as ``change`` times them: as many as that has rows."""

        def one_block(lo: int, hi: int) -> None:
            self._write(first, lo, change @ self.columns(rows=slice(lo, hi))[first:])

        if len(change):
            self._for_blocks(one_block, self._count)
        self._count = first + len(change)
        del self._pieces[-(-self._count // _ROWS) :]

    def refresh(self, weights: FloatArray, mean: float, slope: float, scale: float) -> None:
        """Mean and variance from V; ``mean`` is without a label and without a score.

        ``weights`` are as in ``append``, of all rows, and ``slope`` is the weight of scores.
        """
        variances, scores = self._prior.variances(), self._prior.scores

        def fill(lo: int, hi: int) -> None:
            told, explained = np.zeros((2, hi - lo)), np.zeros(hi - lo)
            for start, piece in self._filled():
                part = piece[:, lo:hi]
                told += weights[:, start : start + len(piece)] @ part
                explained += np.einsum("ij,ij->j", part, part)
            self._mean[lo:hi] = mean + told[0]
            if self._leaning is not None and scores is not None:
                self._mean[lo:hi] += slope * scores[lo:hi]
                self._leaning[lo:hi] = scores[lo:hi] - told[1]
            self._variance[lo:hi] = scale * np.maximum(variances[lo:hi] - explained, 0.0)

        self._for_blocks(fill)

    def lean(self, change: float) -> None:
        """Another weight of scores, by so much."""
        if self._leaning is not None:
            self._mean += change * self._leaning

    def agreement(self, slope: float, factor: float, shift: float) -> FloatArray:
        """How scores go along with P(R = 1), as that were if their weight were less by ``slope``.

        ``factor`` and ``shift`` are as in ``adjust``. These are the sums over images of the
        probabilities, of their squares, and of their products with the scores.
        """
        leaning, scores = self._leaning, self._prior.scores
        assert leaning is not None
        assert scores is not None
        size = block_rows(len(self))
        sums = np.empty((-(-len(self) // size), 3))

        def add(lo: int, hi: int) -> None:
            mean = self._mean[lo:hi] + shift - slope * leaning[lo:hi]
            chances = gaussian.positive_probability(mean, factor * self._variance[lo:hi])
            sums[lo // size] = chances.sum(), chances @ chances, chances @ scores[lo:hi]

        for_blocks(add, len(self), size)
        total: FloatArray = sums.sum(axis=0)
        return total

    def adjust(self, factor: float, shift: float) -> None:
        """Multiply variances, and shift means: another scale and another border."""
        if factor != 1:
            self._variance *= factor
        if shift:
            self._mean += shift

    def means(self, rows: Rows | None = None) -> FloatArray:
        """Predictive means of images."""
        return self._mean[_part(rows)]

    def variances(self, rows: Rows | None = None) -> FloatArray:
        """Predictive variances of images."""
        return self._variance[_part(rows)]

    def moments(self, rows: Rows | None = None) -> FloatArray:
        """Both of them, means above variances."""
        return np.stack([self.means(rows), self.variances(rows)])

    def scores(self, score: Score, rows: Rows | None = None) -> FloatArray:
        """How much images are wanted."""
        if rows is not None:
            return score(self._mean[rows], self._variance[rows])
        scores = np.empty(len(self))

        def fill(lo: int, hi: int) -> None:
            scores[lo:hi] = score(self._mean[lo:hi], self._variance[lo:hi])

        self._for_blocks(fill)
        return scores

    def best(
        self, count: int, score: Score, rows: Rows | None, known: IntArray
    ) -> tuple[IntArray, FloatArray]:
        """Images that are wanted most, and how much; all of them or some, less those known."""
        return best(self.scores(score, rows), count, rows, known)

    def expected(self) -> float:
        """How many of its images are relevant: the sum of P(R = 1)."""
        size = block_rows(len(self))
        sums = np.empty(-(-len(self) // size))

        def add(lo: int, hi: int) -> None:
            part = gaussian.positive_probability(self._mean[lo:hi], self._variance[lo:hi])
            sums[lo // size] = part.sum()

        for_blocks(add, len(self), size)
        return float(sums.sum())

    def columns(self, count: int | None = None, rows: Rows | slice | None = None) -> FloatArray:
        """Columns of V, shape (observed, images); of the first observed, if so many are given."""
        nothing = np.empty((0, len(self)))  # which makes them double precision
        pieces = [nothing, *(piece for _, piece in self._filled(count))]
        return np.concatenate([piece[:, _part(rows)] for piece in pieces])

    def given(self, rows: Rows) -> FloatArray:
        """Features, V_0, scores and V of images, in this order: what ``covariances`` takes."""
        features, terms = self._prior.features.vectors(rows).T, self._prior.terms(rows)
        return np.concatenate([features, terms, self.columns(rows=rows)])

    def covariances(
        self,
        vectors: FloatArray,
        terms: FloatArray,
        columns: FloatArray,
        rows: Rows | None = None,
    ) -> FloatArray:
        """Of vectors with images given all labels, shape (vectors, images).

        ``terms`` are V_0 and scores of the vectors, and ``columns`` are those of V.
        """
        covariances = self._prior.covariances(vectors, terms, rows)
        if rows is not None:
            covariances -= columns.T @ self.columns(rows=rows)
            return covariances

        def fill(lo: int, hi: int) -> None:
            for start, piece in self._filled():
                covariances[:, lo:hi] -= columns[start : start + len(piece)].T @ piece[:, lo:hi]

        self._for_blocks(fill)
        return covariances

    def alike(self, vectors: FloatArray) -> FloatArray:
        """The kernel of vectors and images, whatever is believed, shape (vectors, images)."""
        return self._prior.kernel(vectors)

    def cosines(self, vectors: FloatArray) -> FloatArray:
        """Cosine similarities of vectors and images, shape (vectors, images)."""
        return self._prior.features.cosines(vectors)

    def keep(
        self, names: Sequence[int], vectors: FloatArray, terms: FloatArray, columns: FloatArray
    ) -> None:
        """Keep covariances with all images under names: labels that follow need the same rows."""
        rows = self.covariances(vectors, terms, columns)
        self._kept.update(zip(names, rows, strict=True))

    def kept(self, names: Sequence[int], rows: Rows | None = None) -> FloatArray:
        """What is kept under some names."""
        out = np.empty((len(names), len(self) if rows is None else len(rows)))
        for i, name in enumerate(names):
            out[i] = self._kept[name][_part(rows)]
        return out

    def forget(self) -> None:
        """Let go of all that is kept."""
        self._kept = {}

    def _filled(
        self, count: int | None = None
    ) -> Iterator[tuple[int, npt.NDArray[np.floating[Any]]]]:
        """The first rows of V, or all, piece by piece, each with its first row's number."""
        count = self._count if count is None else count
        for start in range(0, count, _ROWS):
            yield start, self._pieces[start // _ROWS][: count - start]

    def _write(self, first: int, lo: int, part: FloatArray) -> None:
        """Rows of V from one on, of the images from ``lo`` on."""
        for position, row in enumerate(part, first):
            self._pieces[position // _ROWS][position % _ROWS, lo : lo + len(row)] = row

    def _for_blocks(self, work: Callable[[int, int], None], rows: int = 1) -> None:
        """Block by block; smaller ones where so many rows of V are at hand at a time."""
        for_blocks(work, len(self), min(block_rows(len(self)), max(1, _NUMBERS // rows)))


def predictive_mean(mean: FloatArray, variance: FloatArray) -> FloatArray:
    """The score of the ranking."""
    return mean


def best(
    values: FloatArray, count: int, rows: Rows | None, known: IntArray
) -> tuple[IntArray, FloatArray]:
    """Images of the largest values: of ``rows``, to which these belong, or of all but those known.

    It is what `Group.best` asks for.
    """
    found = largest(values, count + len(known))
    if known.size:
        found = found[~np.isin(found, known)][:count]
    chosen = found if rows is None else np.asarray(rows[found], dtype=np.int64)
    return chosen, values[found]


def _part(rows: Rows | slice | None) -> Rows | slice:
    return slice(None) if rows is None else rows
