"""Draws of how many images are relevant, against sums over pairs and over all images."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from generators import seeds
from ital import Search, census
from ital.baserate import ASKED, Posterior, Rare
from ital.census import Census, root
from ital.prior import Belief
from test_baserate import evidence


def clusters(n: int, seed: int = 0, **settings) -> Search:
    """A search that has seen one image of five kinds, and two answers."""
    rng = np.random.default_rng(seed)
    centres = 2 * rng.standard_normal((5, 6))
    features = centres[np.arange(n) % 5] + rng.standard_normal((n, 6))
    search = Search(features, seed=0, **settings)
    search.query(relevant=[0])
    search.answer({1: False, 5: True})
    return search


def test_the_variance_is_the_sum_over_pairs():
    """Var(N) = sum of P(both relevant) - p_i p_j, with one scale and one border."""
    search = clusters(8, base_rate=None)
    mean, cov = search.model.joint(np.arange(8))
    p = search.model.probabilities()
    expected = 0.0
    for i in range(8):
        for j in range(8):
            pair = [i, j] if i != j else [i]
            if min(cov[i, i], cov[j, j]) < 1e-5:
                continue  # a label is known, and adds nothing
            normal = multivariate_normal(-mean[pair], cov[np.ix_(pair, pair)], allow_singular=True)
            expected += normal.cdf(np.zeros(len(pair))) - p[i] * p[j]
    drawn = Census.of(search.model, search.ranking()).relevant(8)
    assert drawn.mean() == pytest.approx(p.sum(), abs=4 * np.sqrt(expected / census.DRAWS))
    assert drawn.var() == pytest.approx(expected, rel=0.25)


def test_draws_are_whole_numbers():
    """Of all images, where they are counted one by one, and of a sample that stands for them."""
    for search in (clusters(600), clusters(60)):
        counted = search.census()
        for first in (0, 1, 17, 60, len(search)):
            drawn = counted.relevant(first)
            np.testing.assert_array_equal(drawn, np.round(drawn))
            assert ((drawn >= 0) & (drawn <= first)).all()
    assert search.census() is counted, "once a change"
    search.answer({7: False})
    assert search.census() is not counted


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_sample_tells_what_all_images_would(seed, monkeypatch):
    """Within a third of the interval's width: draws, too, differ."""
    search = clusters(1500, seed)
    some = Census.of(search.model, search.ranking())
    assert len(some.places) == census.IMAGES
    monkeypatch.setattr(census, "IMAGES", 1500)
    everything = Census.of(search.model, search.ranking())
    assert len(everything.places) == 1500
    for first in (100, 1500):
        ends = [np.quantile(one.relevant(first), [0.1, 0.9]) for one in (some, everything)]
        width = max(ends[1][1] - ends[1][0], 5.0)
        np.testing.assert_allclose(*ends, atol=width / 3)


def test_relevance_is_correlated():
    """Draws vary far more than those of independent images would."""
    search = clusters(600)
    p = search.model.probabilities()
    assert search.census().relevant(600).var() > 3 * (p * (1 - p)).sum()


def test_the_same_labels_give_the_same_draws():
    one, other = clusters(100).census(), clusters(100).census()
    np.testing.assert_array_equal(one.excess, other.excess)


@given(seeds, st.integers(1, 6))
def test_roots_of_copies(seed, copies):
    vectors = np.random.default_rng(seed).standard_normal((3, 3)).repeat(copies, axis=0)
    covariance = vectors @ vectors.T
    found = root(covariance)
    np.testing.assert_allclose(found @ found.T, covariance, atol=1e-6 * covariance.max())


def test_the_root_of_nothing():
    assert not root(np.zeros((3, 3))).any()
    assert root(np.empty((0, 0))).shape == (0, 0)


def test_beliefs_are_drawn_as_often_as_they_are_likely():
    belief = Belief(scales=(1.0, 4.0), borders=(0.5, -0.5), weights=(0.25, 0.75))
    scales, borders = belief.draws(4000, np.random.default_rng(0))
    assert (scales == 4.0).mean() == pytest.approx(0.75, abs=0.03)
    assert ((scales == 4.0) == (borders == -0.5)).all()


@given(seeds, st.integers(0, 12))
def test_draws_are_cautious(seed, answers):
    """A batch of answers counts as one, and the prior for two thirds; written out."""
    seen = evidence(np.random.default_rng(seed), answers)
    posterior, belief = Posterior.of(seen, None, ASKED), Rare().belief(seen)
    weights = np.exp(posterior.prior * 2 / 3 + posterior.likelihood / 4)
    weights = weights[weights > 1e-6 * weights.sum()]
    np.testing.assert_allclose(belief.weights, weights / weights.sum(), atol=1e-12)
