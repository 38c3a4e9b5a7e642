"""Greedy construction of a batch (section 3.5): lazy, and still exact.

The value of a batch is at most the information in its answers, and information is monotone and
submodular: what one more image adds to a batch is at most what it adds to any part of that batch.
So every gain that was ever computed bounds all later ones, and the gain over a single member,
which takes one bivariate probability, bounds the gain over all of them. Candidates are evaluated
in the order of their bounds until no bound exceeds the best value found. The batch is the one that
evaluating every candidate would give.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ital import gaussian
from ital.checks import IntArray
from ital.engine import for_blocks
from ital.gaussian import FloatArray
from ital.model import RelevanceModel
from ital.ranking import largest
from ital.strategies.measures import Objective, information
from ital.strategies.sampling import SampledBatch

TIE = 1e-9
"""Values closer than this, in nats, count as equal: the lower index wins."""

_FIRST_BLOCK = 16
"""Candidates that are evaluated first, to have a value that rules out others."""

_PAIR_BLOCK = 1 << 13
"""Candidates whose pairs one thread evaluates at a time."""

_WHOLE_SHARE = 0.3
"""Share of the pool above which covariances with all of it cost less than with that part."""


@dataclass
class _Found:
    """The candidates evaluated so far at one step. Positions are places among the candidates."""

    positions: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    values: FloatArray = field(default_factory=lambda: np.empty(0))
    best: float = -np.inf
    winner: int = np.iinfo(np.int64).max

    def add(self, positions: IntArray, values: FloatArray) -> None:
        self.positions = np.append(self.positions, positions)
        self.values = np.append(self.values, values)
        self.best = float(self.values.max())
        self.winner = int(self.positions[self.values >= self.best - TIE].min())


class Greedy:
    """One selection under way."""

    def __init__(self, model: RelevanceModel, candidates: IntArray, objective: Objective) -> None:
        self.model = model
        self.candidates = candidates
        self.objective = objective
        self.batch: list[int] = []
        self.evaluated: list[int] = []
        """How many candidates were evaluated at each step."""
        self._open = np.ones(len(candidates), dtype=bool)
        self._paired = np.zeros(len(candidates), dtype=np.int16)
        """How many members of the batch each candidate's bound has been lowered by."""
        self._gain_bound = self._single_gains()
        self._table = np.ones(1)

    def select(self, k: int) -> IntArray:
        """The batch of ``k`` images, or of all candidates if there are fewer."""
        while len(self.batch) < min(k, len(self.candidates)):
            found = self._step()
            self.evaluated.append(len(found.positions))
            self._open[found.winner] = False
            self.batch.append(int(self.candidates[found.winner]))
        return np.array(self.batch, dtype=np.int64)

    def _step(self) -> _Found:
        """Evaluate candidates until the winner is certain."""
        size = len(self.batch)
        self._members = np.array(self.batch, dtype=np.int64)
        self._mean, self._cov = self.model.joint(self._members)
        self._sampled: SampledBatch | None = None
        self._base = 0.0
        if size < gaussian.MAX_DIMENSIONS:
            if size:
                self._table = gaussian.sign_probabilities(self._mean[None], self._cov[None])
            self._base = float(information(self._table, size, self.objective.channel)[0])
        else:
            self._sampled = SampledBatch(self._mean, self._cov, self.objective)
        found = _Found()
        waiting = np.flatnonzero(self._open)
        block = _FIRST_BLOCK
        while True:
            waiting = waiting[self._base + self._gain_bound[waiting] >= found.best - TIE]
            needed = waiting[self._can_win(waiting, found)]
            if len(found.positions) and needed.size > block and size:
                self._pair(needed, found.best - self._base - TIE)
                needed = needed[self._can_win(needed, found)]
            if not needed.size:
                return found
            chosen = needed[largest(self._gain_bound[needed], block)]
            values, gains = self._evaluate(chosen, found.best)
            self._gain_bound[chosen] = np.minimum(self._gain_bound[chosen], gains)
            found.add(chosen, values)
            evaluated = np.zeros(len(self._open), dtype=bool)
            evaluated[chosen] = True
            waiting = waiting[~evaluated[waiting]]
            block *= 2

    def _can_win(self, positions: IntArray, found: _Found) -> npt.NDArray[np.bool_]:
        bound = self._base + self._gain_bound[positions]
        tie = (bound >= found.best - TIE) & (positions < found.winner)
        result: npt.NDArray[np.bool_] = (bound > found.best) | tie
        return result

    def _evaluate(self, positions: IntArray, worth: float) -> tuple[FloatArray, FloatArray]:
        """Values of the batch with each candidate, and the gains of information that bound them.

        Values that cannot exceed ``worth`` may be upper bounds of what they stand for.
        """
        objective, rows = self.objective, self.candidates[positions]
        mean, cov = self._extended(rows)
        if self._sampled is not None:
            return self._sampled.values(mean[:, -1], cov[:, -1])
        table = gaussian.sign_probabilities(mean, cov, self._table)
        told = information(table, mean.shape[1], objective.channel)
        return objective.values(mean, cov, table, worth), told - self._base

    def _extended(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Mean and covariance of the batch with each of some images as its last member."""
        m = len(self.batch)
        mean, cov = np.empty((len(rows), m + 1)), np.empty((len(rows), m + 1, m + 1))
        mean[:, :m], cov[:, :m, :m] = self._mean, self._cov
        mean[:, m], cov[:, m, m] = self.model.mean[rows], self.model.variance[rows]
        cov[:, m, :m] = cov[:, :m, m] = self.model.covariances(self._members, rows).T
        return mean, cov

    def _single_gains(self) -> FloatArray:
        gains = np.empty(len(self.candidates))

        def fill(lo: int, hi: int) -> None:
            probability = self.model.probabilities(self.candidates[lo:hi])
            table = np.stack([1 - probability, probability], axis=-1)
            gains[lo:hi] = information(table, 1, self.objective.channel)

        for_blocks(fill, len(gains), _PAIR_BLOCK)
        return gains

    def _pair(self, positions: IntArray, least: float) -> None:
        """Lower the bounds above ``least`` to the gain over each single member of the batch."""
        for j, member in enumerate(self.batch):
            due = (self._paired[positions] <= j) & (self._gain_bound[positions] > least)
            part = positions[due]
            rows = self.candidates[part]
            if rows.size > _WHOLE_SHARE * len(self.model.pool):
                covariances = self.model.covariances(self._members[[j]])[0][rows]
            else:
                covariances = self.model.covariances(self._members[[j]], rows)[0]
            gains = self._pair_gains(member, rows, covariances)
            self._gain_bound[part] = np.minimum(self._gain_bound[part], gains)
            self._paired[part] = j + 1

    def _pair_gains(self, member: int, rows: IntArray, covariances: FloatArray) -> FloatArray:
        model, channel = self.model, self.objective.channel
        mean, variance = model.mean[[member]], model.variance[[member]]
        alone = gaussian.positive_probability(mean, variance)
        base = information(np.stack([1 - alone, alone], axis=-1), 1, channel)
        gains = np.empty(len(rows))

        def fill(lo: int, hi: int) -> None:
            part = rows[lo:hi]
            table = gaussian.pair_probabilities(
                mean, model.mean[part], variance, model.variance[part], covariances[lo:hi]
            )
            gains[lo:hi] = information(table, 2, channel) - base

        for_blocks(fill, len(rows), _PAIR_BLOCK)
        return gains

