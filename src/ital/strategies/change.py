"""Change of the model's output: the images whose labels would change most predictions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from threading import Lock

import numpy as np

from ital.checks import IntArray
from ital.engine import for_blocks
from ital.gaussian import FloatArray
from ital.model import RelevanceModel
from ital.strategies.base import Scored, Shortlisted
from ital.strategies.registry import register
from ital.strategies.view import View, readings

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
        (mean, variance), relevant = model.moments(images), model.probabilities(images)
        no, yes = readings(model)
        surprise = relevant * np.abs(yes - mean) + (1 - relevant) * np.abs(no - mean)
        spread = _spread(model)[images]
        scores: FloatArray = surprise / (variance + model.noise) * spread
        return scores


@register
@dataclass(frozen=True)
class GAL(Shortlisted):
    """Greedy active learning: one by one the image whose label changes the classifier most, even if
    it is the label that changes it less,

        argmax_i min_y |means after R_i = y - means| = min_y |y - mean_i| / (variance_i + noise)
                                                       * sqrt(sum_{x in X} cov(i, x)^2),

    after which it counts as labelled with that y. X are the ``shortlist`` likeliest images, the
    candidate set of the paper.

    What is certain of the method is the maximum of minima and the pseudo-label that stays, from the
    code published with the paper. The change is that of the parameters there, of a linear support
    vector machine; this is its counterpart for a process, whose means are its parameters. That code
    has no Gaussian process, and the full text was not at hand: the measure that the paper has for
    one, with a guarantee of 1 - 1/e that is not claimed here, may be another. The code deviates
    from its description twice: the change for the positive label is computed from the negative one,
    so that both are the same, and only one label of each image is followed where a figure shows a
    tree of both.

    L. Bar, B. Lerner, N. Darshan and R. Ben-Ari: Active learning via classifier impact and greedy
    selection for interactive image retrieval. arXiv:2412.02310, 2024.
    """

    shortlist: int = 200

    name = "gal"
    summary = "Good results whose answers would change the others most, whichever they are."
    largest_batch = 100

    def choose(
        self, model: RelevanceModel, sample: IntArray, k: int
    ) -> tuple[IntArray, FloatArray]:
        view = View.of(model, sample)
        positions: list[int] = []
        utilities = np.empty((k, len(sample)))
        for place in range(k):
            surprise = np.abs(np.array(view.labels)[:, None] - view.mean)
            spread = np.sqrt(np.einsum("ij,ij->i", view.covariance, view.covariance))
            utilities[place] = surprise.min(axis=0) * spread / (view.variance + view.noise)
            utilities[place, positions] = -np.inf
            position = int(np.argmax(utilities[place]))
            positions.append(position)
            view = view.labelled(position, bool(np.argmin(surprise[:, position])))
        return np.array(positions), utilities


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
