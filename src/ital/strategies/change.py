"""Expected model output change: the images whose labels would change most predictions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ital.checks import IntArray
from ital.engine import for_blocks
from ital.gaussian import FloatArray
from ital.model import RelevanceModel
from ital.strategies.base import Scored
from ital.strategies.registry import register

_BLOCK_ELEMENTS = 1 << 20
"""Covariances in memory at a time, for each thread."""


@register
@dataclass(frozen=True)
class EMOC(Scored):
    """The largest expected change of the model's output over the pool X,

        E_{y ~ p_i} |y - mean_i| / (variance_i + noise) * 1/|X| sum_{x in X} |cov(i, x)|.

    A. Freytag, E. Rodner and J. Denzler: Selecting influential examples: active learning with
    expected model output changes. ECCV 2014.
    """

    name = "emoc"

    def scores(self, model: RelevanceModel, images: IntArray) -> FloatArray:
        mean, relevant = model.mean[images], model.probabilities(images)
        surprise = relevant * np.abs(1 - mean) + (1 - relevant) * np.abs(-1 - mean)
        spread = np.empty(len(images))

        def fill(lo: int, hi: int) -> None:
            covariances = model.covariances(images[lo:hi], keep=False)
            spread[lo:hi] = np.abs(covariances, out=covariances).mean(axis=1)

        for_blocks(fill, len(images), max(1, _BLOCK_ELEMENTS // len(model.pool)))
        return surprise / (model.variance[images] + model.kernel.noise) * spread
