"""Questions about what the ranking is about to show: the "tractable subset of context" of sec. 3.4.

Eq. (3) asks how much answers tell of the relevance of all images. A person wants to know it of the
images that they will look at, from the top of the ranking down to about as many as are relevant.
With N the number of these, an image c is looked at with the probability w_c = P(N >= rank of c),
and what the answers F to a batch tell of all that is looked at is

    sum_c w_c (H(R_c) - sum_f P(f) H(R_c | f)).

Where they are many, a few hundred are drawn just so, evenly along the ranking. Candidates are the
images of these that are looked at more likely than not, w_c >= 1/2: questions are about what the
ranking is about to show. Before the first answer, one question in four is about those that are
relevant more likely than not: nobody has said yet whether likeness to the example is what is meant.

A batch is built greedily over the tree of its answers. An answer updates the process in the way in
which it will update the model: covariances depend on which images were answered, but not on how, so
that only means differ between the branches of the tree.
`docs/method.md` derives this, and tells how far off each approximation is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy import special

from ital import gaussian
from ital.candidates import Candidates, Unlabelled
from ital.checks import IntArray
from ital.engine import for_blocks
from ital.gaussian import ENTROPY_RATE, FloatArray
from ital.model import RelevanceModel
from ital.order import evenly, largest
from ital.shard import predictive_mean
from ital.strategies.base import Strategy
from ital.strategies.registry import register
from ital.user import UserModel

SPREAD = 1.0
"""log N is normal around that of the number expected, as wide as before the first answer."""

SHARE = 4.0
"""Images of a context for every relevant one: those beyond are looked at with less than 0.09."""

LEAST = 100
"""Images looked at, however few are expected."""

GROWTH = 0.25
"""By how much log N may grow with an answer: four of them reach e times as far as those before."""

DRAWN = 256
"""Images that stand for these. The time for a batch grows with the square of their number."""

ENUMERATED = 6
"""Images up to which all ways to answer a batch are looked at,"""

BRANCHES = 32
"""and how many of them, the likeliest, beyond that: all that a perfect user has to five images."""

CHOICE, KEPT = 4, 16
"""Candidates for every image of a batch: at the least, and at the most once the first is chosen.

Kept are those that tell most by themselves. Batches learn as well as if all were.
"""

LIKELY = 0.25
"""Part of the first batch that is about images that are relevant more likely than not."""

_BLOCK = 1 << 16
"""Entropies after answers that are computed at a time, such that they stay in a core's cache."""

_LEAST_LOGARITHM = -700.0
"""Of an entropy. The exponential of less has fewer digits, for which processors take their time."""

_TIE = 1e-9
"""Values closer than this, as a part of the best, count as equal: the lower index wins."""

_TINY = float(np.finfo(float).tiny)


@register
@dataclass(frozen=True)
class Context(Strategy):
    """The batch whose answers tell most about the images that are looked for: greedily the largest

        sum_c w_c (H(R_c) - sum_f P(f) H(R_c | f))

    over the context, the best-ranked images, with the answers f of a user who may skip or err. w_c
    is the chance that the image is looked at.
    ``user`` is that of the search if none is given.
    """

    user: UserModel | None = None

    name = "context"
    summary = "The batch whose answers tell most about the pictures that you are looking for."
    largest_batch = LEAST

    def __post_init__(self) -> None:
        if not isinstance(self.user, UserModel | None):
            raise TypeError(f"user must be a UserModel, got {self.user!r}")

    def for_user(self, user: UserModel) -> Self:
        return replace(self, user=user) if self.user is None else self

    def select(
        self, model: RelevanceModel, candidates: Candidates, k: int, rng: np.random.Generator
    ) -> IntArray:
        shown = _Shown.of(model, candidates, k)
        return shown.images[[position for position, _ in self._steps(model, shown, k)]]

    def select_with_utilities(
        self, model: RelevanceModel, candidates: Candidates, k: int, rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """Utilities are what the answer to one more image adds, in nats."""
        shown = _Shown.of(model, candidates, k)
        positions, gains = zip(*self._steps(model, shown, k), strict=True)
        utilities = np.full((len(positions), len(candidates)), np.nan)
        utilities[:, np.searchsorted(np.asarray(candidates), shown.images)] = gains
        return shown.images[list(positions)], utilities

    def score(self, model: RelevanceModel, batch: IntArray) -> float:
        """What the answers tell of the context, to which the batch belongs, in nats."""
        known = np.array([name for name in model.labels if name >= 0], dtype=np.int64)
        unlabelled = Unlabelled.of(len(model.pool), known)
        shown = _Shown.of(model, unlabelled, len(batch)).beside(batch)
        tree = _Tree(model, shown, self.user or UserModel())
        before = tree.doubt()
        for position in np.searchsorted(shown.images, batch):
            tree.ask(int(position))
        return before - tree.doubt()

    def _steps(
        self, model: RelevanceModel, shown: _Shown, k: int
    ) -> Iterator[tuple[int, FloatArray]]:
        """The position of each next image in the context, and what each image of it would add.

        That is NaN for those that are no candidates, or no longer.
        """
        tree = _Tree(model, shown, self.user or UserModel())
        wide = shown.askable
        likely = tree.likely(wide, k)
        widely = k if model.answers else k - round(LIKELY * k)
        for place in range(min(k, len(wide))):
            left = wide if place < widely else likely
            gains = tree.gains(left)
            best = gains.max()
            position = int(left[np.argmax(gains >= best - _TIE * abs(best))])
            utilities = np.full(len(shown.images), np.nan)
            utilities[left] = gains
            yield position, utilities
            tree.ask(position)
            if place == 0:
                wide, likely = (_telling(some, utilities, KEPT * k) for some in (wide, likely))
            wide, likely = wide[wide != position], likely[likely != position]


@dataclass(frozen=True)
class _Shown:
    """The images of a context, ascending, and how much each of them matters."""

    images: IntArray
    weights: FloatArray
    askable: IntArray
    """Positions of those that may be asked about."""

    @staticmethod
    def of(model: RelevanceModel, candidates: Candidates, k: int) -> _Shown:
        """Of the best-ranked candidates, a few times as many as may be relevant.

        ``k`` images are to be asked about.
        """
        number = max(_number(model), 1.0)
        ranked = model.best(int(max(SHARE * number, LEAST)), predictive_mean, candidates)
        looked_at = special.ndtr(np.log(number / np.arange(1, len(ranked) + 1)) / SPREAD)
        places, chances = evenly(looked_at, DRAWN)
        images, weights = ranked[places], looked_at[places] / chances
        order = np.argsort(images)
        # rank <= number: more likely than not, the image is looked at.
        first = max(int(np.searchsorted(places, number)), CHOICE * k)
        return _Shown(images[order], weights[order], np.flatnonzero(order < first))

    def beside(self, batch: IntArray) -> _Shown:
        """With the images of a batch, which need not matter."""
        images = np.union1d(self.images, batch)
        weights = np.zeros(len(images))
        weights[np.searchsorted(images, self.images)] = self.weights
        return _Shown(images, weights, np.searchsorted(images, batch))


def _number(model: RelevanceModel) -> float:
    """How many images are relevant: the sum of P(R = 1).

    Before the first answer, when nobody has said what likeness to an example is worth, that is far
    too low where kinds are large. Then it is as many as there may well be by the prior: one
    deviation above its median. After a few answers it may be far too high, for they do not tell
    how it is much further down than they were about.
    """
    images = len(model.pool)
    median, spread = model.prior.number(images)
    reach = min(spread + GROWTH * model.answers, np.log(images / median))
    at_most = float(median * np.exp(reach))
    return min(model.expected, at_most) if model.answers else at_most


def _telling(positions: IntArray, utilities: FloatArray, count: int) -> IntArray:
    """The positions, ascending, of the images that tell most by themselves."""
    return np.sort(positions[largest(utilities[positions], count)])


@dataclass(frozen=True)
class _Branches:
    """The ways to answer some images of the batch, of which the same ones are answered in all."""

    covariance: FloatArray
    """Of images that may be asked about with all of the context, given answers to the former."""
    variance: FloatArray
    """Of the context, likewise."""
    means: FloatArray
    """Of the context, a row for each way."""
    chances: FloatArray
    """Of each way."""


class _Tree:
    """What the answers to a batch may be, and what is known of the context after each."""

    def __init__(self, model: RelevanceModel, shown: _Shown, user: UserModel) -> None:
        (mean, variance), askable = model.moments(shown.images), shown.askable
        covariance = model.covariances(shown.images[askable], shown.images, keep=False)
        # Rows of covariances, by position; beyond all of them for what may not be asked about.
        self._row = np.full(len(shown.images), len(askable))
        self._row[askable] = np.arange(len(askable))
        covariance[self._row[askable], askable] = variance[askable]
        self._askable = askable
        self._branches = [_Branches(covariance, variance, mean[None], np.ones(1))]
        self._weights = shown.weights
        self._noise = model.answer_noise
        self._values = model.read(np.array([-1.0, 1.0]))
        self._channel = user.channel[[0, 2]]
        self._skipped = 1 - user.p_label
        self._asked = 0

    def likely(self, positions: IntArray, least: int) -> IntArray:
        """Those that are relevant more likely than not, and so many of the best at the least."""
        means = self._branches[0].means[0, positions]
        chosen = means > 0
        chosen[largest(means, least)] = True
        found: IntArray = positions[chosen]
        return found

    def doubt(self) -> float:
        """The entropy that is left in the context, in nats."""
        return sum(
            float(one.chances @ gaussian.sign_entropy(one.means, one.variance) @ self._weights)
            for one in self._branches
        )

    def gains(self, positions: IntArray) -> FloatArray:
        """How much less it would be, in the mean, with an answer to each of some images."""
        gains: FloatArray = np.sum([self._gains(one, positions) for one in self._branches], axis=0)
        return gains

    def _gains(self, branches: _Branches, positions: IntArray) -> FloatArray:
        means, variance = branches.means, branches.variance
        covariance, asked = branches.covariance[self._row[positions]], means[:, positions]
        noisy = variance[positions] + self._noise
        chances = np.concatenate(self._answers(asked, variance[positions], branches.chances))
        said = np.concatenate([value - asked for value in self._values])
        ways = np.tile(means, (len(self._values), 1))
        before = gaussian.sign_entropy(ways, variance) @ self._weights
        out: FloatArray = before @ chances

        def try_answers(lo: int, hi: int) -> None:
            columns = covariance[lo:hi]
            slopes = columns / noisy[lo:hi, None]
            rates = -ENTROPY_RATE / np.maximum(variance - slopes * columns, _TINY)
            # The entropy of every image of the context after each way to answer: one fused pass.
            left = slopes[:, None] * said.T[lo:hi, :, None]
            left += ways
            left *= left
            with np.errstate(over="ignore"):
                left *= rates[:, None]
            np.maximum(left, _LEAST_LOGARITHM, out=left)
            np.exp(left, out=left)
            out[lo:hi] -= np.log(2) * np.einsum("ij,ji->i", left @ self._weights, chances[:, lo:hi])

        for_blocks(try_answers, len(out), max(1, _BLOCK // ways.size))
        return out

    def ask(self, position: int) -> None:
        """Add an image to the batch."""
        self._asked += 1
        branches = [self._answered(one, position) for one in self._branches]
        if self._skipped:
            branches += [replace(b, chances=self._skipped * b.chances) for b in self._branches]
        self._branches = branches if self._asked < ENUMERATED else _likeliest(branches)

    def _answered(self, branches: _Branches, position: int) -> _Branches:
        column, means = branches.covariance[self._row[position]], branches.means
        own = branches.variance[position]
        slope = column / (own + self._noise)
        covariance = branches.covariance - np.outer(slope[self._askable], column)
        variance = np.maximum(branches.variance - slope * column, 0.0)
        answers = self._answers(means[:, [position]], own, branches.chances)
        moved = np.concatenate([means + slope * (v - means[:, [position]]) for v in self._values])
        return _Branches(covariance, variance, moved, answers[:, :, 0].ravel())

    def _answers(self, means: FloatArray, variance: FloatArray, chances: FloatArray) -> FloatArray:
        """How likely each way is together with the answer -1 or 1 to one more image, eq. (8).

        The shape is (answers, ways, images).
        """
        positive = gaussian.positive_probability(means, variance)
        likelihood = self._channel[:, 0, None, None] * (1 - positive)
        likelihood += self._channel[:, 1, None, None] * positive
        joint: FloatArray = likelihood * chances[:, None]
        return joint


def _likeliest(branches: list[_Branches]) -> list[_Branches]:
    """The likeliest ways to answer, in place of all."""
    chances = np.concatenate([one.chances for one in branches])
    kept = np.zeros(len(chances), dtype=bool)
    kept[largest(chances, BRANCHES)] = True
    whole = chances[kept].sum()
    ends = np.cumsum([len(one.chances) for one in branches])
    found = []
    for one, stay in zip(branches, np.split(kept, ends[:-1]), strict=True):
        if stay.any():
            found.append(replace(one, means=one.means[stay], chances=one.chances[stay] / whole))
    return found
