"""Clusters of uncertain images, and one image that stands for each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ital import checks
from ital.candidates import Candidates
from ital.checks import IntArray
from ital.gaussian import FloatArray
from ital.model import RelevanceModel
from ital.strategies.base import Strategy, by_place
from ital.strategies.registry import register
from ital.strategies.uncertainty import nearness

_SAME = 1e-9
"""Squared kernel distance, in units of the variance, within which images are the same."""


@register
@dataclass(frozen=True)
class TCAL(Strategy):
    """Triple criteria active learning: uncertainty, diversity and density.

    The ``factor`` * k images of the smallest |mean| are put into k clusters by kernel k-means. Of
    each cluster the image is taken whose mean kernel distance sqrt(K_ii + K_jj - 2 K_ij) to the
    others of its cluster is the least.

    B. Demir and L. Bruzzone: A novel active learning method in relevance feedback for content-based
    remote sensing image retrieval. IEEE Transactions on Geoscience and Remote Sensing 53, 2015.
    """

    factor: int = 4

    name = "tcal"
    summary = "The most typical picture of each cluster of uncertain ones."
    largest_batch = 100

    def __post_init__(self) -> None:
        self.set_checked(factor=checks.whole_number(self.factor, "factor", least=1))

    def select(
        self, model: RelevanceModel, candidates: Candidates, k: int, rng: np.random.Generator
    ) -> IntArray:
        images, _, positions = self._chosen(model, candidates, min(k, len(candidates)))
        return images[positions]

    def select_with_utilities(
        self, model: RelevanceModel, candidates: Candidates, k: int, rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """Utilities are minus the mean distances within the cluster, and -inf for the others."""
        images, distances, positions = self._chosen(model, candidates, min(k, len(candidates)))
        utilities = np.full((len(positions), len(candidates)), -np.inf)
        places = np.searchsorted(np.asarray(candidates), images)
        utilities[:, places] = distances
        return images[positions], by_place(utilities, places[positions])

    def _chosen(
        self, model: RelevanceModel, candidates: Candidates, k: int
    ) -> tuple[IntArray, FloatArray, IntArray]:
        """Uncertain images, their utilities for each place of a batch, and which of them it has."""
        images = model.best(self.factor * k, nearness, candidates)
        kernel = model.kernel_matrix(images, images)
        squared = np.maximum(2 * (model.kernel.variance - (kernel + kernel.T) / 2), 0.0)
        np.fill_diagonal(squared, 0.0)
        clusters = _clusters(kernel, squared, k, _SAME * model.kernel.variance)

        utilities = np.full((k, len(images)), -np.inf)
        positions: list[int] = []
        for cluster in clusters:
            distances = np.sqrt(squared[np.ix_(cluster, cluster)]).sum(axis=1)
            distances /= max(1, len(cluster) - 1)
            utilities[len(positions), cluster] = -distances
            positions.append(int(cluster[np.argmin(distances)]))
        # Of images that are all the same there are fewer clusters: the most uncertain ones follow.
        for position in range(len(images)):
            if len(positions) < k and position not in positions:
                utilities[len(positions), position] = 0.0
                positions.append(position)
        return images, utilities, np.array(positions)


def _clusters(kernel: FloatArray, squared: FloatArray, k: int, same: float) -> list[IntArray]:
    """At most ``k`` clusters by kernel k-means, each in ascending order, by their first members.

    K = E E' makes k-means on the rows of E that in the kernel's space.
    """
    from sklearn.cluster import KMeans  # takes a second to import, which others need not wait for

    values, vectors = np.linalg.eigh((kernel + kernel.T) / 2)
    rows = vectors * np.sqrt(np.maximum(values, 0.0))
    different = int((~np.tril(squared <= same, -1).any(axis=1)).sum())
    # Images come in the order of their uncertainty, so that fixed chance treats all pools alike.
    labels = KMeans(min(k, different), n_init=10, random_state=0).fit(rows).labels_
    _, first = np.unique(labels, return_index=True)
    return [np.flatnonzero(labels == labels[place]) for place in np.sort(first)]
