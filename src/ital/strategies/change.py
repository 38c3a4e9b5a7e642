"""Expected model output change: the images whose labels would change most predictions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from threading import Lock

import numpy as np

from ital.checks import IntArray
from ital.engine import for_blocks
from ital.gaussian import FloatArray
from ital.model import RelevanceModel
from ital.strategies.base import Scored
from ital.strategies.registry import register

_BLOCK = 1 << 10
"""Images whose covariances with as many others are in memory at a time, for each thread."""


@register
@dataclass(frozen=True)
class EMOC(Scored):
    """The largest expected change of the model's output over the pool X,

        E_{y ~ p_i} |y - mean_i| / (variance_i + noise) * 1/|X| sum_{x in X} |cov(i, x)|.

    A. Freytag, E. Rodner and J. Denzler: Selecting influential examples: active learning with
    expected model output changes. ECCV 2014.
    """

    name = "emoc"
    summary = "Pictures whose answers would change most of what the model says of all."

    def scores(self, model: RelevanceModel, images: IntArray) -> FloatArray:
        mean, relevant = model.mean[images], model.probabilities(images)
        surprise = relevant * np.abs(1 - mean) + (1 - relevant) * np.abs(-1 - mean)
        spread = _spread(model)[images]
        return surprise / (model.variance[images] + model.noise) * spread


def _spread(model: RelevanceModel) -> FloatArray:
    """The mean over the pool of |cov(i, x)|, for all images i.

    Block by block; each pair of blocks once, for covariances are the same both ways.
    """
    n = len(model.pool)
    blocks = [np.arange(lo, min(n, lo + _BLOCK)) for lo in range(0, n, _BLOCK)]
    pairs = list(combinations_with_replacement(range(len(blocks)), 2))
    sums, lock = np.zeros(n), Lock()

    def add(first: int, last: int) -> None:
        for i, j in pairs[first:last]:
            sizes = np.abs(model.covariances(blocks[i], blocks[j], keep=False))
            with lock:
                sums[blocks[i]] += sizes.sum(axis=1)
                if i != j:
                    sums[blocks[j]] += sizes.sum(axis=0)

    for_blocks(add, len(pairs), 1)
    return sums / n
