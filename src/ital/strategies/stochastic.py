"""Chance in the order of scores, so that a batch is not so many times the same image."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ital import checks
from ital.candidates import Candidates
from ital.checks import IntArray
from ital.gaussian import FloatArray
from ital.model import RelevanceModel
from ital.order import largest, largest_within
from ital.strategies.base import Strategy, by_place
from ital.strategies.registry import register

_TINY = float(np.finfo(float).tiny)

_MOST = math.log(math.log(2)) + 1e-9
"""log I at the most, and as much as rounding may add: no image with little chance is looked at."""


@register
@dataclass(frozen=True)
class PowerBALD(Strategy):
    """The k largest of

        beta log I_i + g_i    with g_i ~ Gumbel(0, 1),

    which draws images one by one with probabilities proportional to I_i^beta. I_i is BALD, the
    mutual information of an image's label and the process. Houlsby et al. (2011) approximate it for
    labels that the process leaves in doubt; here relevance is the sign of the process, eq. (5), so
    that nothing would be left to doubt, and I_i is H(R_i).

    A. Kirsch, S. Farquhar, P. Atighehchian, A. Jesson, F. Branchaud-Charron and Y. Gal: Stochastic
    batch acquisition: a simple baseline for deep active learning. TMLR 2023.
    """

    beta: float = 1.0

    name = "powerbald"
    summary = "Pictures drawn at random, uncertain ones more often than others."

    def __post_init__(self) -> None:
        self.set_checked(beta=checks.positive(self.beta, "beta"))

    def select(
        self, model: RelevanceModel, candidates: Candidates, k: int, rng: np.random.Generator
    ) -> IntArray:
        chance = _gumbel(rng, len(candidates))
        bounds = self.beta * _MOST + chance
        positions, _ = largest_within(
            bounds, lambda at: self._perturbed(model, candidates[at], chance[at]), k
        )
        return candidates[positions]

    def select_with_utilities(
        self, model: RelevanceModel, candidates: Candidates, k: int, rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        chance = _gumbel(rng, len(candidates))
        perturbed = self._perturbed(model, np.asarray(candidates), chance)
        positions = largest(perturbed, k)
        return candidates[positions], by_place(perturbed, positions)

    def _perturbed(self, model: RelevanceModel, images: IntArray, chance: FloatArray) -> FloatArray:
        told = np.log(np.maximum(model.entropies(images), _TINY))
        perturbed: FloatArray = self.beta * told + chance
        return perturbed


def _gumbel(rng: np.random.Generator, count: int) -> FloatArray:
    chance: FloatArray = -np.log(-np.log(np.maximum(rng.random(count), _TINY)))
    return chance
