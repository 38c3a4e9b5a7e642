"""Where a search stands, in figures that a person can use.

All of them are of P(R = 1), which adds up to the number of relevant images where the model has a
base rate. How far they may be off is told by the draws of `census`: intervals hold the truth in
four of five searches, if the model is right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ital import census, checks, gaussian
from ital.checks import Identifier, IntArray
from ital.engine import one_blas_thread
from ital.gaussian import FloatArray
from ital.intervals import EVERYTHING, Estimate
from ital.order import largest
from ital.search import Search
from ital.user import UserModel

LEVEL = 0.8
"""Of intervals."""

_DRAWS = 256
"""Of the answers to a batch."""

_MORE = 10
"""Relevant images of which people are told how many questions they take."""

_LITTLE = 0.05
"""A gain that would be told as none."""


@dataclass(frozen=True)
class Threshold:
    """What is to be expected of the images of at least this probability."""

    probability: float
    count: int
    precision: Estimate
    recall: Estimate


def _estimate(value: float, draws: FloatArray) -> Estimate:
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(value, min(float(low), value), max(float(high), value))


def can_tell(search: Search) -> bool:
    """Whether there is a base rate, and an answer that it was put to the test by."""
    return search.model.prior.base_rate is not None and search.model.answers > 0


def relevant(search: Search) -> Estimate | None:
    """How many images of the pool are relevant, if there is a way to tell."""
    if not can_tell(search):
        return None
    counted = search.census()
    return _estimate(float(counted.sums[-1]), counted.relevant(len(search)))


def likeliest_first(search: Search, questions: IntArray) -> IntArray:
    """Questions in the order in which people like them: those that look like what is meant first.

    A strategy names first what tells most, which may look quite unlike it.
    """
    asked = search.how_asked(questions.tolist())
    chances = [asked[image].probability for image in questions.tolist()]
    return questions[largest(np.array(chances, dtype=float))]


def thresholds(search: Search, steps: int = 100) -> list[Threshold]:
    """Count, expected precision and expected recall at ``steps`` + 1 thresholds from 0 to 1."""
    counted = search.census()
    ascending = np.sort(search.ranking().probabilities)
    total, everything = float(counted.sums[-1]), counted.relevant(len(search))
    found: list[Threshold] = []
    for step in range(steps + 1):
        count = len(ascending) - int(np.searchsorted(ascending, step / steps))
        if found and count == found[-1].count:
            found.append(replace(found[-1], probability=step / steps))
            continue
        expected, drawn = float(counted.sums[count]), counted.relevant(count)
        parts = np.divide(drawn, everything, out=np.ones_like(drawn), where=everything > 0)
        precision = _estimate(expected / count, drawn / count) if count else EVERYTHING
        recall = _estimate(expected / total, parts.clip(0, 1)) if total else EVERYTHING
        found.append(Threshold(step / steps, count, precision, recall))
    return found


def balanced(points: list[Threshold]) -> Threshold:
    """Where about as many images are taken as are expected: precision and recall are the same.

    Where that is so over a range, in which no image lies, it is in its middle.
    """
    best = min(points, key=lambda one: abs(one.precision.value - one.recall.value))
    alike = [one for one in points if one.count == best.count]
    return alike[len(alike) // 2]


def outlook(search: Search, batch: IntArray) -> float | None:
    """Which part of what is relevant the answers to a batch are expected to change, from 0 to 1.

    With p and p' what P(R = 1) is before and after, that is the sum of |p' - p| over the sum of
    max(p, p'), in the mean over answers drawn for this user. The belief is left as it is.
    """
    if not can_tell(search) or not len(batch):
        return None
    counted = search.census()
    before, after, times = _foreseen(search, batch)
    change = (after - before) / counted.chances
    moved = np.abs(change).sum(axis=1)
    either = counted.sums[-1] + (change.sum(axis=1) + moved) / 2
    return float(times @ (moved / np.maximum(either, moved)) / times.sum()) if moved.any() else 0.0


@dataclass(frozen=True)
class Advice:
    """What there is to say to somebody who asks whether to go on."""

    asked: int
    """Questions of the batch."""
    relevant: float
    """Images of the batch that are expected to be relevant."""
    left: float
    """Relevant images that are expected among all that nothing was said of."""
    gain: float
    """Relevant images that the set above the threshold is expected to gain, or to lose."""

    def questions(self, more: int) -> int | None:
        """For so many more relevant images, if batches go on like this; ``None`` for never.

        There may not be so many.
        """
        more = checks.whole_number(more, "more", least=1)
        wanted = more * self.asked / self.relevant if self.relevant else math.inf
        if more > self.left:
            return None
        return None if math.isinf(wanted) else math.ceil(wanted)

    @property
    def sentence(self) -> str:
        told = f"About {self.relevant:.1f} of the next {self.asked} questions will be matches"
        if self.left < _MORE:
            told += f", of about {self.left:.0f} that are left to find"
        elif (ten := self.questions(_MORE)) is not None:
            told += f", so that {_MORE} more take about {ten:,}"
        if abs(self.gain) < _LITTLE:
            return f"{told}; what you would take will hardly change."
        word = "gain" if self.gain >= 0 else "lose"
        return f"{told}; what you would take will {word} about {abs(self.gain):.1f} matches."


def advice(search: Search, batch: IntArray, threshold: float) -> Advice | None:
    """Whether to go on: what a batch is likely to find, and to add to what would be taken.

    With p and p' as above, the images of at least the threshold are expected to hold the sum of p
    over those with p >= threshold relevant ones now, and that of p' over those with p' >= threshold
    then. The sums are over the sample of the census.
    """
    threshold = checks.probability(threshold, "threshold")
    if not can_tell(search) or not len(batch):
        return None
    before, after, times = _foreseen(search, batch)
    worth = search.census().chances ** -1

    def held(told: FloatArray) -> FloatArray:
        kept: FloatArray = np.where(told >= threshold, told, 0.0) @ worth
        return kept

    gain = float(times @ held(after) / times.sum() - held(before))
    found = sum(answer is True for answer in search.answers.values())
    left = max(0.0, float(search.census().sums[-1]) - found)
    likely = float(search.model.told(_rows(search, batch)).sum())
    return Advice(len(batch), likely, left, gain)


@one_blas_thread()
def _foreseen(search: Search, batch: IntArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """P(R = 1) of the census's images now, after each of some answers, and how often these came."""
    model, ranking, counted = search.model, search.ranking(), search.census()
    rng = np.random.default_rng(len(model.labels))
    rows, asked = ranking.rows[counted.places], _rows(search, batch)
    answers, times = np.unique(
        _answers(*model.joint(asked), search.user, rng), axis=0, return_counts=True
    )
    foreseen = model.belief.told(*model.foreseen(rows, asked, answers))
    return model.told(rows), gaussian.positive_probability(*foreseen), times


def _rows(search: Search, batch: IntArray) -> IntArray:
    return np.array([search.model.pool.row(Identifier(int(one))) for one in batch])


def _answers(
    mean: FloatArray, cov: FloatArray, user: UserModel, rng: np.random.Generator
) -> FloatArray:
    """Draws of what a user says of a batch: 1, -1, or 0 for nothing."""
    process = mean + rng.standard_normal((_DRAWS, len(mean))) @ census.root(cov).T
    said = np.where(process > 0, 1.0, -1.0)
    said[rng.random(said.shape) < user.p_mistake] *= -1
    said[rng.random(said.shape) >= user.p_label] = 0.0
    return said
