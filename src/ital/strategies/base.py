"""What a strategy is: something that picks a batch of images to ask about."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ital import checks
from ital.candidates import Candidates, without
from ital.checks import IntArray, Rows
from ital.engine import Group
from ital.gaussian import FloatArray, positive_probability
from ital.model import RelevanceModel
from ital.order import largest
from ital.shard import Score, Shard, best
from ital.user import UserModel


class Strategy(ABC):
    """Parameters and nothing else: the model, the candidates and chance are given to it.

    A subclass with parameters is a frozen dataclass; its fields are the parameters.
    """

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    """What it asks about, in a sentence for people who have not read its paper."""
    largest_batch: ClassVar[int | None] = None
    """Images in a batch at the most, where the time for a batch grows faster than its size."""

    def check_size(self, count: int, name: str) -> None:
        """Refuse batches that would take minutes; ``name`` is that of the argument."""
        if self.largest_batch is not None and count > self.largest_batch:
            raise ValueError(
                f"{name} must be at most {self.largest_batch} images for strategy {self.name!r}, "
                f"got {count}"
            )

    @abstractmethod
    def select(
        self, model: RelevanceModel, candidates: Candidates, k: int, rng: np.random.Generator
    ) -> IntArray:
        """``min(k, len(candidates))`` of the candidates, which are rows in ascending order.

        They come as an array, or as something that reads like one. Candidates of the same worth go
        by their row. Chance, where there is any, is one number of ``rng.random`` for each.
        """

    def select_with_utilities(
        self, model: RelevanceModel, candidates: Candidates, k: int, rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """The same batch, and how much each candidate was wanted for each place in it.

        Utilities have the shape (batch, candidates). They are NaN for what was in the batch before
        or was not looked at. From a strategy that does not tell, they are 1 for the images chosen
        and 0 for the others.
        """
        batch = self.select(model, candidates, k, rng)
        positions = np.searchsorted(np.asarray(candidates), batch)
        chosen = np.zeros(len(candidates))
        chosen[positions] = 1.0
        return batch, by_place(chosen, positions)

    def score(self, model: RelevanceModel, batch: IntArray) -> float:
        """The value of a batch that this strategy makes as large as it can."""
        raise ValueError(f"strategy {self.name!r} gives batches no value, so it cannot score one")

    def set_checked(self, **parameters: Any) -> None:
        """Set parameters to what their checks made of them; for ``__post_init__`` alone."""
        for name, value in parameters.items():
            object.__setattr__(self, name, value)

    def for_user(self, user: UserModel) -> Self:
        """This strategy for the search's user; the same one where the user makes no difference."""
        return self


class Scored(Strategy):
    """The ``k`` candidates of the largest scores."""

    @abstractmethod
    def scores(self, model: RelevanceModel, images: IntArray) -> FloatArray:
        """How much each image is wanted, whatever else is in the batch."""

    def select(
        self, model: RelevanceModel, candidates: Candidates, k: int, rng: np.random.Generator
    ) -> IntArray:
        return candidates[largest(self.scores(model, np.asarray(candidates)), k)]

    def select_with_utilities(
        self, model: RelevanceModel, candidates: Candidates, k: int, rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        scores = self.scores(model, np.asarray(candidates))
        positions = largest(scores, k)
        return candidates[positions], by_place(scores, positions)

    def score(self, model: RelevanceModel, batch: IntArray) -> float:
        """The sum of scores."""
        return float(self.scores(model, batch).sum())


class Measured(Scored):
    """Scores that mean and variance tell: each shard of the pool finds its best images itself."""

    @abstractmethod
    def measure(self, model: RelevanceModel) -> Score:
        """How much images are wanted by their means and variances."""

    def scores(self, model: RelevanceModel, images: IntArray) -> FloatArray:
        return model.scores(self.measure(model), images)

    def select(
        self, model: RelevanceModel, candidates: Candidates, k: int, rng: np.random.Generator
    ) -> IntArray:
        return model.best(k, self.measure(model), candidates)


class Steps(ABC):
    """How much the images of a shard are wanted beside a batch that grows. It lives beside them."""

    def __init__(self, shard: Shard) -> None:
        self.shard = shard

    @abstractmethod
    def utilities(self, rows: Rows | None = None) -> FloatArray:
        """Of all images of the shard, or of some; any of those that are in the batch."""

    def best(self, count: int, rows: Rows | None, known: IntArray) -> tuple[IntArray, FloatArray]:
        """The images that are wanted most, for `Group.best`."""
        return best(self.utilities(rows), count, rows, known)


class Stepwise(Strategy):
    """Images one by one, each of them the one most wanted beside those before it."""

    largest_batch = 1000

    @abstractmethod
    def begin(self, model: RelevanceModel, candidates: Candidates) -> Group[Any]:
        """`Steps` beside the shards of the model."""

    @abstractmethod
    def grow(self, model: RelevanceModel, steps: Group[Any], batch: IntArray) -> None:
        """Tell it of the batch, which has grown by its last image."""

    def select(
        self, model: RelevanceModel, candidates: Candidates, k: int, rng: np.random.Generator
    ) -> IntArray:
        return np.array([image for image, _ in self._steps(model, candidates, k)])

    def select_with_utilities(
        self, model: RelevanceModel, candidates: Candidates, k: int, rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        everything = np.asarray(candidates)
        batch, utilities = [], []
        for image, steps in self._steps(model, candidates, k):
            batch.append(image)
            utilities.append(steps.gather(Steps.utilities, everything))
        return np.array(batch), by_place(np.stack(utilities), np.searchsorted(everything, batch))

    def _steps(
        self, model: RelevanceModel, candidates: Candidates, k: int
    ) -> Iterator[tuple[int, Group[Any]]]:
        """Each next image, and what it was chosen by."""
        steps, batch = self.begin(model, candidates), np.empty(0, dtype=np.int64)
        for _ in range(min(k, len(candidates))):
            if batch.size:
                self.grow(model, steps, batch)
            chosen, _ = steps.best(Steps.best, 1, without(candidates, batch))
            yield int(chosen[0]), steps
            batch = np.append(batch, chosen)


class Partial(Strategy):
    """For what costs too much over all candidates: it looks at some of them.

    All unlabelled images that its formula speaks of are then those of the sample.
    """

    largest_batch = 1000

    @abstractmethod
    def sample(
        self, model: RelevanceModel, candidates: Candidates, k: int, rng: np.random.Generator
    ) -> IntArray:
        """The candidates that are looked at, ``k`` or more, in ascending order."""

    @abstractmethod
    def choose(
        self, model: RelevanceModel, sample: IntArray, k: int
    ) -> tuple[IntArray, FloatArray]:
        """Positions of ``k`` images in the sample, and utilities as ``by_place`` takes them."""

    def select(
        self, model: RelevanceModel, candidates: Candidates, k: int, rng: np.random.Generator
    ) -> IntArray:
        sample = self.sample(model, candidates, k, rng)
        return sample[self.choose(model, sample, min(k, len(sample)))[0]]

    def select_with_utilities(
        self, model: RelevanceModel, candidates: Candidates, k: int, rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        sample = self.sample(model, candidates, k, rng)
        positions, worth = self.choose(model, sample, min(k, len(sample)))
        utilities = np.full((len(positions), len(candidates)), np.nan)
        utilities[:, np.searchsorted(np.asarray(candidates), sample)] = by_place(worth, positions)
        return sample[positions], utilities


@dataclass(frozen=True)
class Subsampled(Partial):
    """It looks at ``subsample`` of the candidates at random."""

    subsample: int = 1000

    def __post_init__(self) -> None:
        self.set_checked(subsample=checks.whole_number(self.subsample, "subsample", least=1))

    def sample(
        self, model: RelevanceModel, candidates: Candidates, k: int, rng: np.random.Generator
    ) -> IntArray:
        size = max(k, self.subsample)
        if len(candidates) <= size:
            return np.asarray(candidates)
        return candidates[np.sort(largest(rng.random(len(candidates)), size))]


@dataclass(frozen=True)
class Shortlisted(Partial):
    """It looks at the ``shortlist`` candidates of the largest P(R = 1)."""

    shortlist: int = 1000

    def __post_init__(self) -> None:
        self.set_checked(shortlist=checks.whole_number(self.shortlist, "shortlist", least=1))

    def sample(
        self, model: RelevanceModel, candidates: Candidates, k: int, rng: np.random.Generator
    ) -> IntArray:
        return np.sort(model.best(max(k, self.shortlist), positive_probability, candidates))


def by_place(utilities: FloatArray, positions: IntArray) -> FloatArray:
    """Utilities with a row for each place in the batch, and NaN for what was chosen before it.

    They may come as one row for all places.
    """
    rows = np.broadcast_to(utilities, (len(positions), utilities.shape[-1])).copy()
    for place, position in enumerate(positions):
        rows[place + 1 :, position] = np.nan
    return rows
