"""The two baselines that every method has to beat (section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ital.candidates import Candidates
from ital.checks import IntArray
from ital.model import RelevanceModel
from ital.order import largest
from ital.shard import Score, predictive_mean
from ital.strategies.base import Measured, Strategy
from ital.strategies.registry import register


@register
@dataclass(frozen=True)
class Random(Strategy):
    """Images drawn without replacement, all alike."""

    name = "random"
    summary = "Pictures drawn at random."

    def select(
        self, model: RelevanceModel, candidates: Candidates, k: int, rng: np.random.Generator
    ) -> IntArray:
        return candidates[largest(rng.random(len(candidates)), k)]


@register
@dataclass(frozen=True)
class TopScoring(Measured):
    """The images of the largest predictive mean, as a plain result list shows them."""

    name = "topscoring"
    summary = "The best results so far, as a plain result list shows them."

    def measure(self, model: RelevanceModel) -> Score:
        return predictive_mean
