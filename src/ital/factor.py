"""What is observed of a process, in a form that observations can join and leave.

With k the covariance of the process, L is the Cholesky factor of that of the observed vectors, with
noise. A new observation is a new row, and one that is taken out a few plane rotations of rows. V =
L^-1 k(observed, pool), which goes through the same, is in the hands of the shards of the pool.
There is never an n x n matrix.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from ital.gaussian import FloatArray
from ital.prior import Covariance, Points

AT_ONCE = 32
"""Observations that may be added at a time, in one pass over the features."""


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

    def remove(self, position: int) -> list[FloatArray]:
        """Take a row out of L, and rotate what is left back into shape.

        It gives the rotations, the first of which is of that row and the next one: V needs them.
        """
        lower, rotations = np.delete(self.lower, position, axis=0), []
        for i in range(position, len(lower)):
            a, b = lower[i, i], lower[i, i + 1]
            rotation = np.array([[a, b], [-b, a]]) / np.hypot(a, b)
            lower[i:, i : i + 2] = lower[i:, i : i + 2] @ rotation.T
            rotations.append(rotation)
        self.lower = np.tril(lower[:, :-1])
        self.points = self.points[np.delete(np.arange(len(self.points)), position)]
        return rotations

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
