"""Uncertainty sampling: the images that the model is least sure of, each for itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ital import checks
from ital.checks import IntArray
from ital.gaussian import FloatArray
from ital.model import RelevanceModel
from ital.shard import Score
from ital.strategies.base import Measured, Scored
from ital.strategies.registry import register


def nearness(mean: FloatArray, variance: FloatArray) -> FloatArray:
    """To the border between relevant and irrelevant images: the larger, the nearer."""
    return -np.abs(mean)


def _nearness_in_deviations(mean: FloatArray, variance: FloatArray, noise: float) -> FloatArray:
    return -np.abs(mean) / np.sqrt(variance + noise)


@register
@dataclass(frozen=True)
class Border(Measured):
    """Images next to the decision border: the smallest |mean|.

    S. Tong and E. Chang: Support vector machine active learning for image retrieval. ACM
    Multimedia 2001.
    """

    name = "border"
    summary = "Pictures nearest to the border between relevant and irrelevant."

    def measure(self, model: RelevanceModel) -> Score:
        return nearness


@register
@dataclass(frozen=True)
class Uncertainty(Measured):
    """Images next to the border in units of what a label deviates by: the smallest
    |mean| / sqrt(variance + noise).

    A. Kapoor, K. Grauman, R. Urtasun and T. Darrell: Active learning with Gaussian processes for
    object categorization. ICCV 2007.
    """

    name = "unc"
    summary = "Pictures nearest to the border, measured by how uncertain each of them is."

    def measure(self, model: RelevanceModel) -> Score:
        return partial(_nearness_in_deviations, noise=model.noise)


@register
@dataclass(frozen=True)
class SUD(Scored):
    """Sampling by uncertainty and density: the largest H(p_i) times the mean cosine similarity of
    image i to its ``neighbours`` nearest neighbours in the pool.

    J. Zhu, H. Wang, T. Yao and B. K. Tsou: Active learning with sampling by uncertainty and density
    for word sense disambiguation and text classification. COLING 2008.
    """

    neighbours: int = 20

    name = "sud"
    summary = "Uncertain pictures that have many others like them."

    def __post_init__(self) -> None:
        self.set_checked(neighbours=checks.whole_number(self.neighbours, "neighbours", least=1))

    def scores(self, model: RelevanceModel, images: IntArray) -> FloatArray:
        return model.entropies(images) * model.pool.density(self.neighbours)[images]
