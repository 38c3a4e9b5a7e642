"""Uncertainty and diversity as one quadratic program."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import spsolve

from ital import checks
from ital.checks import IntArray
from ital.gaussian import FloatArray, binary_entropy
from ital.model import RelevanceModel
from ital.strategies.base import Subsampled
from ital.strategies.registry import register

_TOLERANCE, _ITERATIONS = 1e-9, 1_000_000
"""Of the quadratic program: violation of its optimality conditions, relative to its numbers."""


@register
@dataclass(frozen=True)
class USDM(Subsampled):
    """Uncertainty sampling with diversity maximisation: the k largest elements of

        argmin_f 1/2 f' K f - trade_off f' h    with f >= 0 and sum f = k.

    h are the entropies, in bits, of the relevance that label propagation over the graph of
    ``neighbours`` nearest neighbours predicts. Elements that are 0 follow in the order of what more
    of them would cost.

    Y. Yang, Z. Ma, F. Nie, X. Chang and A. G. Hauptmann: Multi-class active learning by uncertainty
    sampling with diversity maximization. International Journal of Computer Vision 113, 2015.
    """

    trade_off: float = 1.0
    neighbours: int = 5

    name = "usdm"
    summary = "Uncertain and diverse pictures in the best balance of the two."

    def __post_init__(self) -> None:
        super().__post_init__()
        self.set_checked(
            trade_off=checks.positive(self.trade_off, "trade_off"),
            neighbours=checks.whole_number(self.neighbours, "neighbours", least=1),
        )

    def choose(
        self, model: RelevanceModel, sample: IntArray, k: int
    ) -> tuple[IntArray, FloatArray]:
        relevant = propagated(
            model.pool.vectors(sample),
            model.labelled_vectors,
            np.array(list(model.labels.values())),
            self.neighbours,
        )
        worth = self.trade_off * binary_entropy(relevant) / math.log(2)
        kernel = model.kernel_matrix(sample, sample)
        kernel = (kernel + kernel.T) / 2
        f = minimum(kernel, worth, k)
        cost = kernel @ f - worth
        order: IntArray = np.lexsort((cost, -f))[:k]
        return order, f


def propagated(
    vectors: FloatArray, labelled: FloatArray, labels: FloatArray, neighbours: int
) -> FloatArray:
    """P(R = 1) of vectors by label propagation: the mean of their neighbours, labels being fixed.

    Two vectors are neighbours if one is among the nearest of the other. Where no label is
    connected, nothing is known: 1/2.
    """
    from sklearn.neighbors import kneighbors_graph  # takes long to import

    n, total = len(vectors), len(vectors) + len(labelled)
    relevant = np.full(n, 0.5)
    if not len(labelled):
        return relevant
    points = np.vstack([vectors, labelled])
    # Distances come from norms there, which an offset that all share would leave no digits.
    points -= np.median(points, axis=0)
    nearest = kneighbors_graph(points, min(neighbours, total - 1))
    graph = nearest.maximum(nearest.T).tocsr()
    _, component = csgraph.connected_components(graph, directed=False)
    reached = np.flatnonzero(np.isin(component[:n], component[n:]))
    if reached.size:
        laplacian = sparse.csr_array(csgraph.laplacian(graph))
        fixed = -laplacian[reached][:, n:] @ (labels > 0).astype(float)
        solved = np.atleast_1d(spsolve(laplacian[reached][:, reached].tocsc(), fixed))
        relevant[reached] = np.clip(solved, 0.0, 1.0)
    return relevant


def minimum(kernel: FloatArray, worth: FloatArray, total: float) -> FloatArray:
    """argmin_f 1/2 f' K f - f' worth with f >= 0 and sum f = total.

    On sum f = total, the linear term is part of a quadratic one: f' worth =
    f' (worth 1' + 1 worth') f / (2 total). What is left is the dual problem of a one-class support
    vector machine whose upper bounds, with nu < 1/n, bind nothing. Its solver moves along e_i - e_j
    only, where the added term has no curvature, so that the problem stays convex for it.
    """
    from sklearn.svm import OneClassSVM  # takes long to import

    if len(kernel) == 1:
        return np.array([float(total)])  # no room to move: the solver has nothing to say here
    gram = kernel - (worth[:, None] + worth) / total
    gram /= max(np.abs(gram).max(), np.finfo(float).tiny)
    machine = OneClassSVM(
        kernel="precomputed", nu=0.5 / len(gram), tol=_TOLERANCE, max_iter=_ITERATIONS
    ).fit(gram)
    f = np.zeros(len(gram))
    f[machine.support_] = machine.dual_coef_[0]
    f *= total / f.sum()
    return f
