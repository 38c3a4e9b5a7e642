"""What a strategy is: something that picks a batch of images to ask about."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Self

import numpy as np

from ital.checks import IntArray
from ital.model import RelevanceModel
from ital.user import UserModel


class Strategy(ABC):
    """Parameters and nothing else: the model, the candidates and chance are given to it.

    A subclass is a frozen dataclass; its fields are the parameters.
    """

    name: ClassVar[str]

    @abstractmethod
    def select(
        self, model: RelevanceModel, candidates: IntArray, k: int, rng: np.random.Generator
    ) -> IntArray:
        """``min(k, len(candidates))`` of the candidates, which are indices in ascending order."""

    def score(self, model: RelevanceModel, batch: IntArray) -> float:
        """The value of a batch that this strategy makes as large as it can."""
        raise ValueError(f"strategy {self.name!r} gives batches no value, so it cannot score one")

    def for_user(self, user: UserModel) -> Self:
        """This strategy for the search's user; the same one where the user makes no difference."""
        return self
