"""Looking ahead: what would be left to doubt if an image had its label."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import special

from ital import checks
from ital.checks import IntArray
from ital.gaussian import FloatArray, binary_entropy
from ital.model import RelevanceModel
from ital.order import largest
from ital.strategies.base import Subsampled
from ital.strategies.registry import register
from ital.strategies.view import View


@register
@dataclass(frozen=True)
class MCMI(Subsampled):
    """MCMI[min], optimistic mutual information: one by one the image whose most favourable label
    leaves the least sum of entropies,

        argmin_i min_y sum_{u in U, u != i} H(R_u | R_i = y),

    after which it counts as labelled with that y. U is the sample without the batch.

    Y. Guo and R. Greiner: Optimistic active learning using mutual information. IJCAI 2007.
    """

    name = "mcmi"
    summary = "Pictures whose likeliest answers would leave the least doubt about the others."
    largest_batch = 100

    def choose(
        self, model: RelevanceModel, sample: IntArray, k: int
    ) -> tuple[IntArray, FloatArray]:
        view = View.of(model, sample)
        positions: list[int] = []
        utilities = np.full((k, len(sample)), -np.inf)
        for place in range(k):
            left = np.setdiff1d(np.arange(len(sample)), positions)
            doubts = view.after(left, left, _entropies)
            utilities[place, left] = -doubts.min(axis=0)
            position = int(np.argmax(utilities[place]))
            positions.append(position)
            view = view.labelled(position, bool(np.argmin(doubts[:, left == position])))
        return np.array(positions), utilities


@register
@dataclass(frozen=True)
class AdaptAL(Subsampled):
    """Adaptive active learning. The information density of an image is its mutual information with
    the other unlabelled images U under the prior,

        d_i = 1/2 log(K_ii / variance_{i given U without i}).

    For each beta the image of the largest H(p_i)^beta d_i^(1 - beta) is short-listed, and then the
    next ones as long as there are fewer than k in all. Of these the k are taken whose labels leave
    the least expected error,

        sum_y P(R_i = y) sum_{u in U, u != i} min_r P(R_u = r | R_i = y).

    X. Li and Y. Guo: Adaptive active learning for image classification. CVPR 2013.
    """

    betas: tuple[float, ...] = tuple(step / 10 for step in range(1, 11))

    name = "adaptal"
    summary = "Uncertain, typical pictures whose answers would leave the fewest errors."

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.betas, Iterable) or not (betas := tuple(self.betas)):
            raise ValueError(f"betas must be one or more numbers from 0 to 1, got {self.betas!r}")
        self.set_checked(betas=tuple(checks.probability(beta, "betas") for beta in betas))

    def choose(
        self, model: RelevanceModel, sample: IntArray, k: int
    ) -> tuple[IntArray, FloatArray]:
        uncertainty, density = model.entropies(sample), _information_density(model, sample)
        # By their first k at the latest there are k of them.
        lists = np.array(
            [largest(uncertainty**beta * density ** (1 - beta), k) for beta in self.betas]
        )
        lengths = range(-(-k // len(lists)), k + 1)
        listed = next(
            found for length in lengths if len(found := np.unique(lists[:, :length])) >= k
        )
        doubts = View.of(model, sample).after(listed, np.arange(len(sample)), _errors)
        relevant = model.probabilities(sample[listed])
        utilities = np.full(len(sample), -np.inf)
        utilities[listed] = -((1 - relevant) * doubts[0] + relevant * doubts[1])
        return largest(utilities, k), utilities


def _entropies(z: FloatArray) -> FloatArray:
    """The sum of H(R) in each row."""
    result: FloatArray = binary_entropy(special.ndtr(z)).sum(axis=1)
    return result


def _errors(z: FloatArray) -> FloatArray:
    """The sum in each row of the probabilities that the likelier answer is wrong."""
    result: FloatArray = special.ndtr(-np.abs(z)).sum(axis=1)
    return result


def _information_density(model: RelevanceModel, images: IntArray) -> FloatArray:
    """1/2 log(K_ii / variance_{i given the others}), labels of the others having noise."""
    covariance, variance = model.prior_joint(images)
    n, least = len(images), np.finfo(float).eps * variance.max()
    # Among copies of an image, rounding would make the matrix indefinite without some noise.
    noise = max(model.least_noise, n * n * least)
    matrix = covariance + noise * np.eye(n)
    # The diagonal of the inverse holds 1 / (variance given the others + noise).
    rest = 1 / np.diagonal(np.linalg.inv((matrix + matrix.T) / 2)) - noise
    variance = np.maximum(variance, least)
    density: FloatArray = 0.5 * np.log(variance / np.clip(rest, least, variance))
    return density
