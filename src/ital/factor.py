"""What is observed of a process, in a form that observations can join and leave.

With k the covariance of the process, L is the Cholesky factor of that of the observed vectors, with
noise. New observations are new rows; where some are taken out, the rows after them are rotated. V =
L^-1 k(observed, pool), which goes through the same, is in the hands of the shards of the pool.
There is never an n x n matrix.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import solve_triangular

from ital.gaussian import FloatArray
from ital.prior import Covariance, Points

_FEW = 32
"""Rows that are substituted one after the other; more of them in halves."""


class Factor:
    """L of the points that are observed, which are rows in the order in which they came."""

    def __init__(self, covariance: Covariance, dimension: int) -> None:
        self._covariance = covariance
        self.points = Points.of(np.empty((0, dimension)))
        self.lower: FloatArray = np.empty((0, 0))
        """L."""

    def __len__(self) -> int:
        return len(self.points)

    def solve(self, right: FloatArray) -> FloatArray:
        """L^-1 times something."""
        return solve(self.lower, right)

    def solve_transposed(self, right: FloatArray) -> FloatArray:
        """L'^-1 times something."""
        solution: FloatArray = solve_triangular(self.lower, right, lower=True, trans="T")
        return solution

    @property
    def vectors(self) -> FloatArray:
        return self.points.vectors

    def extend(self, points: Points, noises: FloatArray) -> None:
        """More rows of L. Those of V are for the shards to append."""
        old, count = len(self), len(points)
        self.points += points
        prior = self._covariance.between(self.points, points)
        own = self._covariance.variances_at(points)
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

    def remove(self, positions: Sequence[int]) -> tuple[int, FloatArray]:
        """Take rows out of L, and rotate what is left back into shape.

        It gives the first of them, and what the rows of V from there on are to be multiplied by.
        That has no rows where none is left.
        """
        first = min(positions)
        lower = np.delete(self.lower, positions, axis=0)
        rotation, right = np.linalg.qr(lower[first:, first:].T)
        signs = np.where(right.diagonal() < 0, -1.0, 1.0)
        self.lower = lower[:, : len(lower)]
        self.lower[first:, first:] = np.tril((signs[:, None] * right).T)
        self.points = self.points[np.delete(np.arange(len(self.points)), positions)]
        return first, (rotation * signs).T

    def renew(self, noises: FloatArray) -> FloatArray:
        """L for other noises. V is L^-1 K, and K the old L times the old V.

        It gives what the old V is to be multiplied by.
        """
        points, before = self.points, self.lower
        self.points, self.lower = points[:0], before[:0, :0]
        self.extend(points, noises)
        return self.solve(before)


def solve(lower: FloatArray, right: FloatArray) -> FloatArray:
    """lower^-1 right for a lower triangle."""
    if not len(lower):
        return right.copy()
    solution: FloatArray = solve_triangular(lower, right, lower=True, check_finite=False)
    return solution


def substitute(lower: FloatArray, right: FloatArray) -> None:
    """The same for many columns, in their place.

    SciPy's is slow on few rows of many columns. In halves, nearly all is a product of matrices.
    """
    if len(lower) <= _FEW:
        for j, row in enumerate(lower):
            right[j] -= row[:j] @ right[:j]
            right[j] /= row[j]
        return
    half = len(lower) // 2
    substitute(lower[:half, :half], right[:half])
    right[half:] -= lower[half:, :half] @ right[:half]
    substitute(lower[half:, half:], right[half:])
