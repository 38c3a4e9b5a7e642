"""Scores of images, standardised, against the definition."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, rankdata

from generators import seeds
from ital.pool import Pool
from ital.scores import Scores


def literal(scores: np.ndarray) -> np.ndarray:
    """The mean, over the places that images of one score take together, of normal quantiles."""
    n = len(scores)
    first, last = (rankdata(scores, method=which).astype(int) for which in ("min", "max"))
    places = norm.ppf((np.arange(n) + 0.5) / n)
    return np.array([places[lo - 1 : hi].mean() for lo, hi in zip(first, last, strict=True)])


@given(seeds, st.integers(1, 60), st.sampled_from(["any", "few", "tag", "huge"]))
def test_normal_quantiles_of_places(seed, n, kind):
    rng = np.random.default_rng(seed)
    scores = {
        "any": rng.standard_normal(n),
        "few": rng.integers(4, size=n),
        "tag": rng.random(n) < 0.1,
        "huge": rng.choice([-1.0, 0.0, 1.0], n) * 1.7e308,
    }[kind]
    values = Scores(scores, n).values
    np.testing.assert_allclose(values, literal(np.asarray(scores, dtype=float)), atol=1e-12)
    assert abs(values.sum()) < 1e-12 * n
    np.testing.assert_array_equal(values, Scores(np.arctan(scores.astype(float)), n).values)


def test_an_outlier_is_the_first_and_no_more():
    scores = np.arange(100.0)
    same = Scores(scores, 100).values
    scores[-1] = 1e300
    np.testing.assert_array_equal(Scores(scores, 100).values, same)
    assert same.std() == pytest.approx(1, abs=0.02)
    assert same.max() < 3


def test_a_constant_score_says_nothing():
    for n in (1, 7, 1000):
        assert not Scores(np.full(n, 0.3), n).values.any()


def test_a_rare_tag_is_worth_what_the_first_places_are():
    tagged = np.arange(1000) >= 990
    values = Scores(tagged, 1000).values
    assert values[-1] == pytest.approx(norm.ppf((np.arange(990, 1000) + 0.5) / 1000).mean())
    assert values[0] == pytest.approx(-values[-1] / 99)


@given(seeds, st.integers(1, 30))
def test_scores_of_others_lie_between_those_of_the_pool(seed, n):
    rng = np.random.default_rng(seed)
    given = rng.integers(10, size=n).astype(float)
    scores = Scores(given, n)
    np.testing.assert_array_equal(scores.at(given, n), scores.values)
    others = np.sort(rng.uniform(-2, 12, 20))
    found = scores.at(others, 20)
    assert (np.diff(found) >= 0).all()
    beyond = scores.at([-1e9, 1e9], 2)
    assert beyond.tolist() == [scores.values.min(), scores.values.max()]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1.0, 2.0], "prior must be 3 numbers, one for each image, got the shape (2,)"),
        (
            [[1.0], [2.0], [3.0]],
            "prior must be 3 numbers, one for each image, got the shape (3, 1)",
        ),
        ([1.0, np.nan, np.inf], "prior must be finite, but 2 of 3 rows hold NaN, infinite"),
        (
            ["a", "b", "c"],
            "prior must be 3 numbers, one for each image, got the shape (3,) and type",
        ),
        ([[1.0], [2.0, 3.0], 4.0], "prior must be 3 numbers; NumPy says"),
        (np.ma.masked_array([1.0, 2, 3], [0, 1, 0]), "prior must have no masked values, got 1"),
        (0.5, "prior must be 3 numbers, one for each image, got the shape ()"),
    ],
)
def test_refuses_what_is_no_score(given, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Scores(given, 3)


def test_what_is_given_may_change_afterwards():
    given = np.array([1.0, 2.0, 3.0])
    scores = Scores(given, 3)
    given[:] = 0
    assert scores.given.tolist() == [1, 2, 3]


def test_known_again_by_a_sample():
    """But for rounding, and by the images that are still there."""
    rng = np.random.default_rng(0)
    given, ids = rng.standard_normal(200), np.arange(200) * 3
    pool = Pool(rng.standard_normal((200, 2)), ids)
    scores = Scores(given, 200)
    sample = scores.sample(pool)
    assert len(sample) <= 64
    assert scores.fit(sample, pool)
    assert Scores(given.astype(np.float32), 200).fit(sample, pool)
    assert not Scores(given[::-1], 200).fit(sample, pool)
    assert not Scores(given + 0.1, 200).fit(sample, pool)
    fewer = Pool(pool.features[50:], ids[50:])
    assert Scores(given[50:], 150).fit(sample, fewer)
    assert not Scores(given[:150], 150).fit(sample, fewer)
    constant = Scores(np.ones(200), 200)
    assert constant.fit(constant.sample(pool), pool)
