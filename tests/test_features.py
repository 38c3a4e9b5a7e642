from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from generators import seeds
from ital import features as features_module
from ital.features import Features
from ital.pool import Pool


@given(
    seeds,
    st.integers(1, 60),
    st.integers(1, 40),
    st.integers(1, 20),
    st.sampled_from([0.0, 1.0, 1e4]),
    st.sampled_from([1e-40, 1e-30, 1.0, 1e30, 1e50]),
    st.sampled_from([np.float32, np.float16]),
)
def test_singles_lose_no_digits(seed, n, d, count, offset, length, dtype):
    """Whether vectors are images of the pool, or have more digits or a wider range than these."""
    rng = np.random.default_rng(seed)
    features = (offset + rng.standard_normal((n, d))).astype(dtype)
    pool, doubles = Pool(features), features.astype(float)
    rows = rng.integers(n, size=5)
    for vectors in (doubles[rng.integers(n, size=count)], length * rng.standard_normal((count, d))):
        expected = cdist(vectors, doubles, "sqeuclidean")
        tolerance = 1e-13 * (d + d * offset**2 + length * (1 + offset) * d)
        found = pool.squared_distances(vectors)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=tolerance)
        some = pool.squared_distances(vectors, rows)
        np.testing.assert_allclose(some, expected[:, rows], rtol=1e-12, atol=tolerance)


def test_singles_in_any_order_and_a_map_of_them(tmp_path):
    features = np.random.default_rng(0).random((60, 8)).astype(np.float32)
    np.save(tmp_path / "features.npy", features)
    mapped = np.load(tmp_path / "features.npy", mmap_mode="r")
    wide = np.zeros((60, 16), dtype=np.float32)
    wide[:, ::2] = features
    expected = Pool(features).squared_distances(features[:3].astype(float))
    for one in (np.asfortranarray(features), mapped, wide[:, ::2], features[::-1][::-1]):
        np.testing.assert_array_equal(
            Pool(one).squared_distances(features[:3].astype(float)), expected
        )


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int16, np.uint8])
def test_features_are_used_as_given(dtype, monkeypatch):
    monkeypatch.setattr(features_module, "BLOCK_ELEMENTS", 64)
    features = (10 * np.random.default_rng(0).random((100, 6))).astype(dtype)
    pool = Pool(features)
    assert pool.features is features
    exact = cdist(features[:3].astype(float), features.astype(float), "sqeuclidean")
    np.testing.assert_allclose(
        pool.squared_distances(pool.vectors(np.arange(3))), exact, atol=1e-11
    )


def test_the_mean_over_the_pool_stays_in_blocks(monkeypatch):
    """However large the pool, there is no array of images x vectors."""
    features = np.random.default_rng(0).standard_normal((100, 4))
    expected = Pool(features).squared_distances(features[:7]).mean(axis=0)
    monkeypatch.setattr(features_module, "BLOCK_ELEMENTS", 40)
    seen = []

    def function(distances):
        seen.append(distances.shape)
        return distances

    found = Features(features, np.zeros(4)).mean_of(features[:7], function)
    np.testing.assert_allclose(found, expected)
    assert set(seen) == {(10, 7)}


@pytest.mark.parametrize("offset", [0.0, 3.0])
def test_averages_of_half_precision_are_as_good_as_its_digits(offset, monkeypatch):
    """They are computed in single precision, in blocks whose ends need not meet."""
    monkeypatch.setattr(features_module, "BLOCK_ELEMENTS", 96)
    rng = np.random.default_rng(0)
    features = (offset + rng.standard_normal((250, 6))).astype(np.float16)
    vectors = rng.standard_normal((31, 6)) + offset
    exact = np.exp(-0.5 * cdist(features.astype(float), vectors, "sqeuclidean")).mean(axis=1)
    pool = Pool(features)
    (found,) = pool.slices.ask(Features.mean_of, vectors, lambda squared: np.exp(-0.5 * squared))
    assert found.dtype == float
    np.testing.assert_allclose(found, exact, rtol=2e-5, atol=1e-9)
