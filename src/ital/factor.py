"""What is observed of a process over a pool, in a form that observations can join and leave.

With k the covariance of the process, L is the Cholesky factor of that of the observed vectors, with
noise, and V = L^-1 k(observed, pool). A new observation is a new row of both, O(n (d + rows)), and
one that is taken out a few plane rotations of rows. There is never an n x n matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from scipy.linalg import solve_triangular

from ital.engine import block_rows, for_blocks
from ital.pool import FloatArray, Pool, Rows
from ital.prior import Covariance

_ROWS = 32
"""Rows of V in one piece of memory. Pieces are added as rows come, and none is ever copied."""

AT_ONCE = 32
"""Observations that may be added at a time, in one pass over the features."""


class Factor:
    """L and V of the vectors that are observed, which are rows in the order in which they came."""

    def __init__(self, pool: Pool, covariance: Covariance) -> None:
        self._covariance, self._images = covariance, len(pool)
        self.vectors = np.empty((0, pool.dimension))
        self.lower: FloatArray = np.empty((0, 0))
        """L."""
        self._pieces: list[FloatArray] = []

    def __len__(self) -> int:
        return len(self.vectors)

    def solve(self, right: FloatArray) -> FloatArray:
        """L^-1 times something."""
        return solve(self.lower, right)

    def solve_transposed(self, right: FloatArray) -> FloatArray:
        """L'^-1 times something."""
        solution: FloatArray = solve_triangular(self.lower, right, lower=True, trans="T")
        return solution

    def extend(self, vectors: FloatArray, noises: FloatArray) -> None:
        """More rows of L. Those of V are to be filled next."""
        old, count = len(self), len(vectors)
        self.vectors = np.vstack([self.vectors, vectors])
        prior = self._covariance.between(self.vectors, vectors)
        own = self._covariance.variances_at(vectors)
        left = self.solve(prior[:old])
        rest = prior[old:] - left.T @ left
        block = np.zeros((count, count))
        for j in range(count):
            row = solve(block[:j, :j], rest[:j, j])
            explained = float(left[:, j] @ left[:, j] + row @ row)
            # The pivot is at least the noise; rounding may say otherwise among copies of an image.
            pivot = max(float(own[j]) - explained, 0.0) + float(noises[j])
            block[j, :j] = row
            block[j, j] = np.sqrt(pivot)
        self.lower = np.block([[self.lower, np.zeros((old, count))], [left.T, block]])

    def fill(
        self,
        count: int,
        covariances: Mapping[int, FloatArray],
        learn: Callable[[int, int, FloatArray], None],
    ) -> None:
        """The last ``count`` rows of V.

        ``covariances`` holds those with the pool, given all rows before, that are known already, by
        their number among the new ones. ``learn`` is called with each part of the new rows and the
        first and last of its columns, while it is at hand.
        """
        old = len(self) - count
        while len(self._pieces) * _ROWS < len(self):
            self._pieces.append(np.empty((_ROWS, self._images)))
        unknown = np.array([one for one in range(count) if one not in covariances], dtype=np.int64)
        fresh = self._covariance.with_pool(self.vectors[old + unknown])
        lower = self.lower[old:]

        def one_block(lo: int, hi: int) -> None:
            part = np.empty((count, hi - lo))
            for position, row in covariances.items():
                part[position] = row[lo:hi]
            if unknown.size:
                new = fresh(lo, hi)
                for start, piece in self.filled(old):
                    new -= lower[unknown, start : start + len(piece)] @ piece[:, lo:hi]
                part[unknown] = new
            # Forward substitution, row by row: SciPy's is slow on few rows of many columns.
            for j, row in enumerate(lower[:, old:]):
                part[j] -= row[:j] @ part[:j]
                part[j] /= row[j]
            learn(lo, hi, part)
            for position, row in enumerate(part, old):
                self._row(position)[lo:hi] = row

        for_blocks(one_block, self._images, block_rows(self._images))

    def remove(self, position: int) -> None:
        """Take a row out of L and rotate what is left, and V with it, back into shape."""
        lower = np.delete(self.lower, position, axis=0)
        for i in range(position, len(lower)):
            a, b = lower[i, i], lower[i, i + 1]
            length = np.hypot(a, b)
            rotation = np.array([[a, b], [-b, a]]) / length
            lower[i:, i : i + 2] = lower[i:, i : i + 2] @ rotation.T
            upper, below = self._row(i), self._row(i + 1)
            upper[...], below[...] = (
                rotation[0, 0] * upper + rotation[0, 1] * below,
                rotation[1, 0] * upper + rotation[1, 1] * below,
            )
        self.lower = np.tril(lower[:, :-1])
        self.vectors = np.delete(self.vectors, position, axis=0)
        del self._pieces[-(-len(self) // _ROWS) :]

    def renew(self, noises: FloatArray) -> None:
        """L and V for other noises: V is L^-1 K, and K the old L times the old V."""
        vectors, before = self.vectors, self.lower
        self.vectors, self.lower = vectors[:0], before[:0, :0]
        self.extend(vectors, noises)
        change = self.solve(before)

        def one_block(lo: int, hi: int) -> None:
            columns = self.columns(slice(lo, hi))
            for start, piece in self.filled():
                piece[:, lo:hi] = change[start : start + len(piece)] @ columns

        for_blocks(one_block, self._images, block_rows(self._images))

    def columns(self, images: Rows | slice, rows: int | None = None) -> FloatArray:
        """Columns of V, shape (rows, images); of the first rows only, if so many are given."""
        nothing = np.empty((0, self._images))
        pieces = [nothing, *(piece for _, piece in self.filled(rows))]
        return np.concatenate([piece[:, images] for piece in pieces])

    def filled(self, rows: int | None = None) -> Iterator[tuple[int, FloatArray]]:
        """The first rows of V, or all, piece by piece, each with its first row's number."""
        count = len(self) if rows is None else rows
        for start in range(0, count, _ROWS):
            yield start, self._pieces[start // _ROWS][: count - start]

    def _row(self, position: int) -> FloatArray:
        row: FloatArray = self._pieces[position // _ROWS][position % _ROWS]
        return row


def solve(lower: FloatArray, right: FloatArray) -> FloatArray:
    """lower^-1 right for a lower triangle."""
    if not len(lower):
        return right.copy()
    solution: FloatArray = solve_triangular(lower, right, lower=True, check_finite=False)
    return solution
