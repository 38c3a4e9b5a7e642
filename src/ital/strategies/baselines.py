"""The two baselines that every method has to beat (section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ital.checks import IntArray
from ital.gaussian import FloatArray
from ital.model import RelevanceModel
from ital.ranking import largest
from ital.strategies.base import Scored, Strategy
from ital.strategies.registry import register


@register
@dataclass(frozen=True)
class Random(Strategy):
    """Images drawn without replacement, all alike."""

    name = "random"
    summary = "Pictures drawn at random."

    def select(
        self, model: RelevanceModel, candidates: IntArray, k: int, rng: np.random.Generator
    ) -> IntArray:
        return candidates[largest(rng.random(len(candidates)), k)]


@register
@dataclass(frozen=True)
class TopScoring(Scored):
    """The images of the largest predictive mean, as a plain result list shows them."""

    name = "topscoring"
    summary = "The best results so far, as a plain result list shows them."

    def scores(self, model: RelevanceModel, images: IntArray) -> FloatArray:
        return model.mean[images]
