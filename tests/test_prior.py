"""The process given its average over the pool, against whole matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators import seeds
from ital.engine import ThreadEngine
from ital.features import Features
from ital.kernel import Kernel
from ital.pool import Pool
from ital.prior import (
    _IMAGES,
    PAPER,
    Belief,
    Conditioned,
    Covariance,
    Points,
    PriorSlice,
    Scored,
    epsilon,
)
from ital.scores import Scores

TRUST = 0.07
"""The variance of the weight of scores."""


def literal(pool: np.ndarray, vectors: np.ndarray, kernel: Kernel, scores=0.0) -> np.ndarray:
    """The conditional Gaussian of pool and vectors, given the average over some of the pool.

    On top of it comes a normal weight, independent of it, times the ``scores`` of all of these.
    """
    some = pool[:: -(-len(pool) // _IMAGES)]
    points = np.concatenate([pool, vectors, some])
    squared = ((points[:, None] - points[None]) ** 2).sum(-1)
    joint = kernel.variance * np.exp(-squared / (2 * kernel.length_scale**2))
    weights = np.zeros(len(points))
    weights[-len(some) :] = 1 / len(some)
    known = weights @ joint
    within = (weights @ joint @ weights) * (1 + max(0.01, min(1.0, (100 / len(pool)) ** 2)))
    conditional = joint - np.outer(known, known) / within
    return conditional[: -len(some), : -len(some)] + TRUST * np.outer(scores, scores)


@given(
    seeds,
    st.sampled_from([1, 2, 3, 17, 300]),
    st.sampled_from([1e-3, 0.3, 1.0, 30.0, 1e6]),
    st.sampled_from([0.5, 1.0, 2.0]),
    st.booleans(),
    st.sampled_from([1, 3]),
    st.booleans(),
)
def test_equals_the_conditional_gaussian(
    seed, n, length_scale, variance, identical, shards, scored
):
    """For pools of one image, of copies, and where the kernel tells all images apart or none."""
    rng = np.random.default_rng(seed)
    features = np.ones((n, 2)) if identical else rng.standard_normal((n, 2))
    vectors, kernel = rng.standard_normal((3, 2)), Kernel(length_scale, variance)
    pool = Pool(features, engine=ThreadEngine(shards))
    covariance, s, own = Conditioned(pool, kernel), np.zeros(n), np.zeros(3)
    if scored:
        scores, own = Scores(rng.standard_normal(n), n), rng.standard_normal(3)
        s = scores.values
        covariance = Scored(covariance, scores, TRUST)
    over = covariance.slices
    expected = literal(features, vectors, kernel, np.append(s, own))
    outside, inside = Points(vectors, own), Points(features, s)
    # Squared distances are right within the rounding of the squares of the vectors.
    close = {"atol": 1e-9 + 1e-14 / length_scale**2, "rtol": 1e-9}
    variances = over.gather(PriorSlice.variances, None)
    np.testing.assert_allclose(variances, np.diag(expected)[:n], **close)
    np.testing.assert_allclose(covariance.variances_at(outside), np.diag(expected)[n:], **close)
    given = vectors, covariance.terms_at(outside)
    with_pool = over.gather(PriorSlice.covariances, None, *given)
    np.testing.assert_allclose(with_pool, expected[n:, :n], **close)
    rows = rng.integers(n, size=4)
    terms = over.gather(PriorSlice.terms, rows)
    np.testing.assert_allclose(terms, covariance.terms_at(inside[rows]), **close)
    given = features[rows], terms
    for some in (rows, None):
        found = over.gather(PriorSlice.covariances, some, *given)
        np.testing.assert_allclose(
            found, expected[rows][:, rows if some is not None else slice(n)], **close
        )
    np.testing.assert_allclose(covariance.between(outside, outside), expected[n:, n:], **close)
    np.testing.assert_allclose(covariance.between(inside, outside), expected[:n, n:], **close)
    assert (variances > 0).all(), "labels could teach nothing"


def test_the_average_is_computed_once_for_a_pool_and_a_kernel(monkeypatch):
    pool = Pool(np.random.default_rng(0).standard_normal((50, 3)))
    first = Conditioned.of(pool, Kernel(1.0))
    assert Conditioned.of(pool, Kernel(2.0)) is not first
    monkeypatch.setattr(Features, "mean_of", None)  # a pass over the pool would fail now
    assert Conditioned.of(pool, Kernel(1.0)) is first


def test_an_average_that_a_pool_knows_is_not_made_again(monkeypatch):
    """By its name, which is that of all that it depends on."""
    features, kernel = np.random.default_rng(0).standard_normal((300, 3)), Kernel(1.0)
    known = Conditioned(Pool(features), kernel)
    pool = Pool(features)
    pool.kept(known.name, lambda: known.average)
    others = [Conditioned(pool, Kernel(1.0, 2.0)), Conditioned(Pool(features + 1), kernel)]
    others.append(Conditioned(Pool(features[:299]), kernel))
    assert known.name not in {one.name for one in others}
    monkeypatch.setattr(Features, "mean_of", None)  # a pass over the pool would fail now
    again = Conditioned(pool, Kernel(1.0, noise=0.1))
    rows = np.arange(300)
    np.testing.assert_array_equal(again.slices.gather(PriorSlice.terms, rows)[0], known.average)


def test_the_papers_prior_is_the_kernel():
    pool, kernel = Pool(np.eye(3)), Kernel(1.0, 2.0)
    covariance = PAPER.covariance(pool, kernel)
    assert type(covariance) is Covariance
    over = covariance.slices
    assert over.gather(PriorSlice.variances, None).tolist() == [2] * 3
    points = Points.of(np.eye(3))
    assert covariance.variances_at(points).tolist() == [2] * 3
    given = points.vectors, covariance.terms_at(points)
    np.testing.assert_allclose(
        over.gather(PriorSlice.covariances, None, *given), covariance.between(points, points)
    )
    assert PAPER.mean == 0
    assert PAPER.reading(0.25, 0.5) == (1.0, 0.0)
    assert PAPER.belief(None) == Belief(1.0, 0.0)
    assert PAPER.along_ranking(np.array([0.5, 0.7])).tolist() == [0.5, 0.7]


@pytest.mark.parametrize(
    ("mean", "label", "score"), [(-1.0, 1.0, 1.0), (0.0, 1.0, 1.0), (1.0, -1.0, -1.0)]
)
def test_a_score_reaches_a_quarter_further_than_labels_in_a_direction_like_others(
    mean, label, score
):
    """Than that of a relevant image of score 1, which is like no other.

    Where most images are relevant, it is an irrelevant one of score -1. The variance of directions
    is the mean of eigenvalues, each counted by the part of the process that it makes up.
    """
    features, kernel = np.random.default_rng(0).standard_normal((90, 3)), Kernel(1.5, 2.0)
    covariance = literal(features, np.empty((0, 3)), kernel, np.zeros(90))
    eigenvalues = np.linalg.eigvalsh(covariance) / 90
    direction = (eigenvalues**2).sum() / eigenvalues.sum()
    variance = np.diag(covariance).mean()
    seen = direction * score / (variance + direction * score**2) * (label - mean)
    reach, trust = Scored.weight(Pool(features), kernel, mean)
    assert reach == pytest.approx(1.25 * seen)
    assert reach > 0
    assert trust == pytest.approx(variance * (0.6 * reach) ** 2)


def test_the_average_is_known_better_the_larger_the_pool():
    found = [epsilon(n) for n in (1, 100, 200, 1000, 10**6)]
    assert found == pytest.approx([1.0, 1.0, 0.25, 0.01, 0.01])


@pytest.mark.parametrize("n", [255, 256, 257, 1000])
def test_a_few_hundred_images_stand_for_all(n):
    rows = Pool(np.zeros((n, 1))).sample(_IMAGES)
    assert len(rows) <= _IMAGES
    assert rows[0] == 0
    assert len(set(np.diff(rows).tolist())) == 1
