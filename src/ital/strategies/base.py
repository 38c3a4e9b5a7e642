"""What a strategy is: something that picks a batch of images to ask about."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ital import checks
from ital.checks import IntArray
from ital.gaussian import FloatArray
from ital.model import RelevanceModel
from ital.ranking import largest
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
        self, model: RelevanceModel, candidates: IntArray, k: int, rng: np.random.Generator
    ) -> IntArray:
        """``min(k, len(candidates))`` of the candidates, which are indices in ascending order.

        Candidates of the same worth go by their index. Chance, where there is any, is one number
        of ``rng.random`` for each candidate.
        """

    def select_with_utilities(
        self, model: RelevanceModel, candidates: IntArray, k: int, rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """The same batch, and how much each candidate was wanted for each place in it.

        Utilities have the shape (batch, candidates). They are NaN for what was in the batch before
        or was not looked at. From a strategy that does not tell, they are 1 for the images chosen
        and 0 for the others.
        """
        batch = self.select(model, candidates, k, rng)
        positions = np.searchsorted(candidates, batch)
        chosen = np.zeros(len(candidates))
        chosen[positions] = 1.0
        return batch, by_place(chosen, positions)

    def score(self, model: RelevanceModel, batch: IntArray) -> float:
        """The value of a batch that this strategy makes as large as it can."""
        raise ValueError(f"strategy {self.name!r} gives batches no value, so it cannot score one")

    def keep(self, **parameters: Any) -> None:
        """Keep parameters as they are after their check; for ``__post_init__`` alone."""
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
        self, model: RelevanceModel, candidates: IntArray, k: int, rng: np.random.Generator
    ) -> IntArray:
        return candidates[largest(self.scores(model, candidates), k)]

    def select_with_utilities(
        self, model: RelevanceModel, candidates: IntArray, k: int, rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        scores = self.scores(model, candidates)
        positions = largest(scores, k)
        return candidates[positions], by_place(scores, positions)

    def score(self, model: RelevanceModel, batch: IntArray) -> float:
        """The sum of scores."""
        return float(self.scores(model, batch).sum())


class Stepwise(Strategy):
    """Images one by one, each of them the one most wanted beside those before it."""

    largest_batch = 1000

    @abstractmethod
    def utilities(
        self, model: RelevanceModel, candidates: IntArray, batch: list[int]
    ) -> Iterator[FloatArray]:
        """How much each candidate is wanted next. ``batch`` grows by one before each further time.

        Candidates that are in the batch may have any utility.
        """

    def select(
        self, model: RelevanceModel, candidates: IntArray, k: int, rng: np.random.Generator
    ) -> IntArray:
        return candidates[[position for position, _ in self._steps(model, candidates, k)]]

    def select_with_utilities(
        self, model: RelevanceModel, candidates: IntArray, k: int, rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        positions, utilities = zip(*self._steps(model, candidates, k), strict=True)
        return candidates[list(positions)], by_place(np.stack(utilities), np.array(positions))

    def _steps(
        self, model: RelevanceModel, candidates: IntArray, k: int
    ) -> Iterator[tuple[int, FloatArray]]:
        """The position of each next image, and the utilities that it was chosen by."""
        batch: list[int] = []
        taken = np.zeros(len(candidates), dtype=bool)
        steps = self.utilities(model, candidates, batch)
        for _ in range(min(k, len(candidates))):
            utilities = np.where(taken, -np.inf, next(steps))
            position = int(np.argmax(utilities))
            taken[position] = True
            batch.append(int(candidates[position]))
            yield position, utilities


class Partial(Strategy):
    """For what costs too much over all candidates: it looks at some of them.

    All unlabelled images that its formula speaks of are then those of the sample.
    """

    largest_batch = 1000

    @abstractmethod
    def sample(
        self, model: RelevanceModel, candidates: IntArray, k: int, rng: np.random.Generator
    ) -> IntArray:
        """Positions of the candidates that are looked at, ``k`` or more, in ascending order."""

    @abstractmethod
    def choose(
        self, model: RelevanceModel, sample: IntArray, k: int
    ) -> tuple[IntArray, FloatArray]:
        """Positions of ``k`` images in the sample, and utilities as ``by_place`` takes them."""

    def select(
        self, model: RelevanceModel, candidates: IntArray, k: int, rng: np.random.Generator
    ) -> IntArray:
        sample = candidates[self.sample(model, candidates, k, rng)]
        return sample[self.choose(model, sample, min(k, len(sample)))[0]]

    def select_with_utilities(
        self, model: RelevanceModel, candidates: IntArray, k: int, rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        looked_at = self.sample(model, candidates, k, rng)
        sample = candidates[looked_at]
        positions, worth = self.choose(model, sample, min(k, len(sample)))
        utilities = np.full((len(positions), len(candidates)), np.nan)
        utilities[:, looked_at] = by_place(worth, positions)
        return sample[positions], utilities


@dataclass(frozen=True)
class Subsampled(Partial):
    """It looks at ``subsample`` of the candidates at random."""

    subsample: int = 1000

    def __post_init__(self) -> None:
        self.keep(subsample=checks.whole_number(self.subsample, "subsample", least=1))

    def sample(
        self, model: RelevanceModel, candidates: IntArray, k: int, rng: np.random.Generator
    ) -> IntArray:
        size = max(k, self.subsample)
        if len(candidates) <= size:
            return np.arange(len(candidates))
        return np.sort(largest(rng.random(len(candidates)), size))


@dataclass(frozen=True)
class Shortlisted(Partial):
    """It looks at the ``shortlist`` candidates of the largest P(R = 1)."""

    shortlist: int = 1000

    def __post_init__(self) -> None:
        self.keep(shortlist=checks.whole_number(self.shortlist, "shortlist", least=1))

    def sample(
        self, model: RelevanceModel, candidates: IntArray, k: int, rng: np.random.Generator
    ) -> IntArray:
        likeliest = largest(model.probabilities(candidates), max(k, self.shortlist))
        return np.sort(likeliest)


def by_place(utilities: FloatArray, positions: IntArray) -> FloatArray:
    """Utilities with a row for each place in the batch, and NaN for what was chosen before it.

    They may come as one row for all places.
    """
    rows = np.broadcast_to(utilities, (len(positions), utilities.shape[-1])).copy()
    for place, position in enumerate(positions):
        rows[place + 1 :, position] = np.nan
    return rows
