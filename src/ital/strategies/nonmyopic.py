"""Active search: questions that find relevant images, now and with those that follow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import special

from ital import checks
from ital.checks import IntArray
from ital.gaussian import FloatArray, positive_probability
from ital.model import RelevanceModel
from ital.strategies.base import Shortlisted
from ital.strategies.registry import register
from ital.strategies.view import View


@register
@dataclass(frozen=True)
class ENS(Shortlisted):
    """Efficient nonmyopic search: the most relevant images to be found by ``budget`` questions of
    which this is the first, if the others were asked all at once after it,

        p_i + sum_y P(R_i = y) (the sum of the budget - 1 largest P(R_u = 1 | R_i = y), u != i).

    The images are chosen one by one, each with one question less to follow. One that is chosen
    counts as labelled with its likelier label, an oracle of the sequential simulation by which the
    second paper makes batches. The budget is that of a search which goes on: answers do not use it
    up. Images beyond the ``shortlist`` likeliest are neither asked about nor counted, where the
    papers prune the pool by bounds that certain other models have.

    S. Jiang, G. Malkomes, G. Converse, A. Shofner, B. Moseley and R. Garnett: Efficient nonmyopic
    active search. ICML 2017. S. Jiang, G. Malkomes, M. Abbott, B. Moseley and R. Garnett: Efficient
    nonmyopic batch active search. NeurIPS 2018.
    """

    budget: int = 40

    name = "ens"
    summary = "Pictures that are likely to be relevant, and to lead to many others that are."
    largest_batch = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        self.set_checked(budget=checks.whole_number(self.budget, "budget", least=1))

    def choose(
        self, model: RelevanceModel, sample: IntArray, k: int
    ) -> tuple[IntArray, FloatArray]:
        view = View.of(model, sample)
        positions: list[int] = []
        utilities = np.full((k, len(sample)), -np.inf)
        for place in range(k):
            left = np.setdiff1d(np.arange(len(sample)), positions)
            relevant = positive_probability(view.mean[left], view.variance[left])
            follow = max(0, self.budget - 1 - place)
            found = view.after(left, left, partial(_largest_sums, count=follow))
            utilities[place, left] = relevant + (1 - relevant) * found[0] + relevant * found[1]
            position = int(np.argmax(utilities[place]))
            positions.append(position)
            view = view.labelled(position, bool(relevant[left == position][0] > 0.5))
        return np.array(positions), utilities


def _largest_sums(z: FloatArray, count: int) -> FloatArray:
    """The sum of the ``count`` largest probabilities Phi(z) of each row."""
    first = max(0, z.shape[1] - count)
    if 0 < first < z.shape[1]:
        z = np.partition(z, first, axis=1)
    sums: FloatArray = special.ndtr(z[:, first:]).sum(axis=1)
    return sums
