"""Greedy construction of a batch (section 3.5): lazy, and still exact.

The value of a batch is at most the information in its answers, and information is monotone and
submodular: what one more image adds to a batch is at most what it adds to any part of that batch.
So every gain that was ever computed bounds all later ones. Gains over a single member take one
bivariate probability, those over a pair of members a trivariate one: they rule out most candidates
before the whole batch is looked at. The others are evaluated in the order of their bounds until no
bound exceeds the best value found. The batch is the one that evaluating every candidate would give.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ital import gaussian
from ital.candidates import Candidates
from ital.checks import IntArray
from ital.gaussian import FloatArray
from ital.model import RelevanceModel
from ital.order import largest
from ital.strategies.measures import TIE, Objective, information
from ital.strategies.parts import Part
from ital.strategies.sampling import SampledBatch

_FIRST_BLOCK, _POOL_SHARE, _GROWTH = 16, 4096, 4
"""Candidates evaluated at a time: so many, or one in so many if that is more, then ever more."""

_FIRST_LOOK = 16
"""Times as many are compared by estimate for the first look."""

_FEW, _MORE = 4096, 8
"""Candidates to begin with, the most uncertain of all, and times as many where they do not do."""

_PAIR_BITS = 32
"""The first of the bits that stand for pairs of members; those before it stand for members."""


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


def select(model: RelevanceModel, candidates: Candidates, objective: Objective, k: int) -> IntArray:
    """The batch of ``k`` images, or of all candidates if there are fewer.

    An image adds no more to a batch than it tells by itself, which is the more, the more uncertain
    it is. So the most uncertain ones do, which each shard finds, as long as what is added at every
    step is more than any of the others could.
    """
    size = max(_FEW, k)
    while size < len(candidates):
        some = np.sort(model.best(size, gaussian.relevance_entropy, candidates))
        batch = Greedy(model, some, objective).select(k, complete=False)
        if len(batch) == k:
            return batch
        size *= _MORE
    return Greedy(model, np.asarray(candidates), objective).select(k)


class Greedy:
    """One selection under way, among candidates that are looked at one by one."""

    def __init__(self, model: RelevanceModel, candidates: IntArray, objective: Objective) -> None:
        self.model = model
        self.candidates = candidates
        self.objective = objective
        self.batch: list[int] = []
        self.evaluated: list[int] = []
        """How many candidates were evaluated at each step."""
        self._open = np.ones(len(candidates), dtype=bool)
        self._bound = Part(model, [], objective.channel).gain_bounds(candidates)
        """Upper bounds of what each candidate can add to the information."""
        self._alone = self._bound.copy()
        self._estimate = self._bound.copy()
        """Guesses of the same, as if what members know of a candidate did not overlap."""
        self._parts: dict[tuple[int, ...], Part] = {}
        self._seen = np.zeros(len(candidates), dtype=np.int64)
        """The parts of the batch that each candidate's bound has seen, a bit for each."""

    def select(self, k: int, complete: bool = True) -> IntArray:
        """The batch of ``k`` images, or of all candidates if there are fewer.

        Where these are not ``complete`` but the most uncertain of all, it ends before the first
        step at which one of the others might be as good.
        """
        others = -np.inf if complete else float(self._alone.min())
        while len(self.batch) < min(k, len(self.candidates)):
            base, found = self._step()
            self.evaluated.append(len(found.positions))
            if found.best - base <= others + TIE:
                break
            self._open[found.winner] = False
            self.batch.append(int(self.candidates[found.winner]))
        return np.array(self.batch, dtype=np.int64)

    def values_after(self, batch: IntArray) -> FloatArray:
        """The value of the batch with each candidate put after it; NaN for those that are in it.

        Beyond six images, less that of the batch itself.
        """
        self.batch = batch.tolist()
        values = np.full(len(self.candidates), np.nan)
        others = ~np.isin(self.candidates, batch)
        values[others] = self._evaluate(self._whole(), self.candidates[others], None)[0]
        return values

    def _whole(self) -> Part | SampledBatch:
        """The batch so far, for candidates to be looked at beside all of it."""
        if len(self.batch) < gaussian.MAX_DIMENSIONS:
            return Part(self.model, self.batch, self.objective.channel)
        return SampledBatch(self.model, self.batch, self.objective)

    def _members(self) -> dict[int, Part]:
        """The members of the batch, by the number of their bit in ``_seen``."""
        return {place: self._part(member) for place, member in enumerate(self.batch[:_PAIR_BITS])}

    def _pairs(self) -> dict[int, Part]:
        """The pairs of members, such that a longer batch only adds some; none of a single pair."""
        if len(self.batch) < 3:
            return {}
        first = self.batch[: gaussian.MAX_DIMENSIONS - 1]
        pairs = [(a, b) for place, b in enumerate(first) for a in first[:place]]
        return {_PAIR_BITS + number: self._part(*pair) for number, pair in enumerate(pairs)}

    def _part(self, *members: int) -> Part:
        if members not in self._parts:
            self._parts[members] = Part(self.model, list(members), self.objective.channel)
        return self._parts[members]

    def _step(self) -> tuple[float, _Found]:
        """Evaluate candidates until the winner is certain; what the batch told before, and it."""
        batch = self._whole()
        base = batch.information
        found = _Found()
        waiting = np.flatnonzero(self._open)
        evaluated = np.zeros(len(self._open), dtype=bool)
        block = max(_FIRST_BLOCK, len(self.candidates) // _POOL_SHARE)
        # A first look at the likeliest, whose values spare most of the others any effort.
        needed = waiting[largest(self._estimate[waiting], block * _FIRST_LOOK)]
        self._lower_bounds(self._members(), needed, -np.inf)
        # Then bounds are lowered from the cheap to the dear, with an evaluation after each.
        stages = [self._members, self._pairs]
        while needed.size:
            chosen = needed[largest(self._estimate[needed], block)]
            values, gains = self._evaluate(batch, self.candidates[chosen], found.best - 2 * TIE)
            self._bound[chosen] = np.minimum(self._bound[chosen], gains)
            found.add(chosen, values)
            evaluated[chosen] = True
            hopeful = (base + self._bound[waiting] >= found.best - TIE) & ~evaluated[waiting]
            waiting = waiting[hopeful]
            needed = waiting[self._can_win(waiting, base, found)]
            block *= _GROWTH
            if stages and needed.size > block:
                self._lower_bounds(stages.pop(0)(), needed, found.best - base - TIE)
                needed = needed[self._can_win(needed, base, found)]
        return base, found

    def _can_win(self, positions: IntArray, base: float, found: _Found) -> npt.NDArray[np.bool_]:
        bound = base + self._bound[positions]
        tie = (bound >= found.best - TIE) & (positions < found.winner)
        # Far images are independent: all have the same value, which must not differ by rounding.
        result: npt.NDArray[np.bool_] = (bound > found.best + TIE / 10) | tie
        return result

    def _lower_bounds(self, parts: dict[int, Part], positions: IntArray, least: float) -> None:
        """Lower the bounds above ``least`` to the gains over parts of the batch."""
        for bit, part in reversed(parts.items()):
            unseen = self._seen[positions] & (1 << bit) == 0
            due = positions[unseen & (self._bound[positions] > least)]
            gains = part.gain_bounds(self.candidates[due])
            self._bound[due] = np.minimum(self._bound[due], gains)
            self._seen[due] |= 1 << bit
            if bit < _PAIR_BITS:
                self._estimate[due] += gains - self._alone[due]

    def _evaluate(
        self, batch: Part | SampledBatch, rows: IntArray, worth: float | None
    ) -> tuple[FloatArray, FloatArray]:
        """Values of the batch with each image, and the gains of information that bound them.

        If there is a ``worth``, values that do not exceed it may be upper bounds.
        """
        if isinstance(batch, SampledBatch):
            return batch.values(rows)
        values, told = np.empty(len(rows)), np.empty(len(rows))

        def work(lo: int, hi: int, table: FloatArray) -> None:
            bound = information(table, len(self.batch) + 1, self.objective.channel)
            values[lo:hi] = told[lo:hi] = bound
            if self.objective.paper is not None:
                hopeful = np.flatnonzero(bound > (-np.inf if worth is None else worth))
                mean, cov = batch.extended(rows[lo + hopeful])
                paper = self.objective.paper.values(mean, cov, table[hopeful], worth)
                values[lo + hopeful] = paper

        batch.visit(rows, work)
        return values, told - batch.information
