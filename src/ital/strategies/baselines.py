"""The two baselines that every method has to beat (section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ital.checks import IntArray
from ital.model import RelevanceModel
from ital.ranking import largest
from ital.strategies.base import Strategy


@dataclass(frozen=True)
class Random(Strategy):
    """Images drawn without replacement, all alike."""

    name = "random"

    def select(
        self, model: RelevanceModel, candidates: IntArray, k: int, rng: np.random.Generator
    ) -> IntArray:
        chosen: IntArray = rng.choice(candidates, min(k, len(candidates)), replace=False)
        return chosen


@dataclass(frozen=True)
class TopScoring(Strategy):
    """The images of the largest predictive mean, as a plain result list shows them."""

    name = "topscoring"

    def select(
        self, model: RelevanceModel, candidates: IntArray, k: int, rng: np.random.Generator
    ) -> IntArray:
        return candidates[largest(model.mean[candidates], k)]

    def score(self, model: RelevanceModel, batch: IntArray) -> float:
        """The sum of predictive means."""
        return float(model.mean[batch].sum())
