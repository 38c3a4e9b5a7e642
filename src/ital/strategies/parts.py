"""Candidates beside a batch or a part of it: tables of sign patterns and gains of information."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ital import gaussian
from ital.checks import IntArray
from ital.engine import for_blocks
from ital.gaussian import FloatArray
from ital.model import RelevanceModel
from ital.strategies.measures import information
from ital.user import UserModel

_BLOCK, _BOUND_BLOCK = 1 << 11, 1 << 14
"""Images that one thread takes at a time."""

Visit = Callable[[int, int, FloatArray], None]
"""Called with the first and last (excluded) of some images and their tables."""


class Part:
    """Some images of the pool, and what one more image would tell beside them.

    ``user`` is the one whose answers' information counts.
    """

    def __init__(self, model: RelevanceModel, members: list[int], user: UserModel) -> None:
        self.members = np.array(members, dtype=np.int64)
        self.mean, self.cov = model.joint(self.members)
        self._model = model
        self._user = user
        self._table = np.ones(())
        if members:
            self._table = gaussian.sign_probabilities(self.mean, self.cov)
        self.information = float(information(self._table, len(members), user))

    def gain_bounds(self, rows: IntArray) -> FloatArray:
        """Upper bounds, close to exact, of what each image adds to the information."""
        told = np.empty(len(rows))

        def fill(lo: int, hi: int, table: FloatArray) -> None:
            told[lo:hi] = information(table, len(self.members) + 1, self._user)

        self._visit(rows, fill, gaussian.COARSE, _BOUND_BLOCK)
        slack = gaussian.COARSE_ERROR if self.members.size else 0.0
        return told - self.information + slack

    def visit(self, rows: IntArray, work: Visit) -> None:
        """Call ``work`` with slices of the images and their tables beside the members."""
        self._visit(rows, work, gaussian.FINE, _BLOCK)

    def _visit(self, rows: IntArray, work: Visit, rules: Any, block: int) -> None:
        shared = self._model.covariances(self.members, rows)
        means, variances = self._model.moments(rows)

        def fill(lo: int, hi: int) -> None:
            mean, variance = means[lo:hi], variances[lo:hi]
            if self.members.size:
                table = gaussian.extended_probabilities(
                    self.mean, self.cov, self._table, mean, variance, shared[:, lo:hi], rules
                )
            else:
                positive = gaussian.positive_probability(mean, variance)
                table = np.stack([1 - positive, positive], axis=-1)
            work(lo, hi, table)

        for_blocks(fill, len(rows), block)

    def extended(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Means (rows, m + 1) and covariances of the members with each image after them."""
        m = len(self.members)
        mean, cov = np.empty((len(rows), m + 1)), np.empty((len(rows), m + 1, m + 1))
        mean[:, :m], cov[:, :m, :m] = self.mean, self.cov
        mean[:, m], cov[:, m, m] = self._model.moments(rows)
        cov[:, m, :m] = cov[:, :m, m] = self._model.covariances(self.members, rows).T
        return mean, cov
