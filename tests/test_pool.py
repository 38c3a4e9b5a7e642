from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist

from generators import seeds
from ital import pool as pool_module
from ital.pool import Pool


@given(seeds, st.integers(1, 60), st.integers(1, 8), st.sampled_from([0.0, 1e3, 1e6]))
def test_distances_equal_scipys_wherever_the_features_lie(seed, n, d, offset):
    rng = np.random.default_rng(seed)
    features = offset + rng.standard_normal((n, d))
    features[rng.integers(n)] = features[0]
    vectors = offset + rng.standard_normal((3, d))
    pool = Pool(features)
    expected = cdist(vectors, features, "sqeuclidean")
    rows = rng.integers(n, size=5)
    tolerance = 1e-12 * (1 + offset)
    np.testing.assert_allclose(pool.squared_distances(vectors), expected, atol=tolerance)
    np.testing.assert_allclose(
        pool.squared_distances(vectors, rows), expected[:, rows], atol=tolerance
    )
    np.testing.assert_allclose(pool.distances_between(vectors, features), expected, atol=tolerance)


def test_a_memory_map_is_not_read_into_memory(tmp_path):
    features = np.random.default_rng(0).random((50, 4)).astype(np.float32)
    np.save(tmp_path / "features.npy", features)
    mapped = np.load(tmp_path / "features.npy", mmap_mode="r")
    pool = Pool(mapped)
    assert np.shares_memory(pool.features, mapped)
    assert pool.fingerprint == Pool(features).fingerprint


@pytest.mark.parametrize("scale", [1e-139, 1.0, 1e150])
def test_features_of_any_scale_whose_squares_are_numbers(scale):
    features = np.random.default_rng(0).random((15, 3))  # pairs have one in the middle
    pool = Pool(scale * features)
    np.testing.assert_allclose(pool.median_distance() / scale, np.median(pdist(features)))


@pytest.mark.parametrize("value", [0.0, 1.0, 1e-300])
def test_images_that_are_all_the_same_have_no_scale(value):
    assert Pool(np.full((5, 2), value)).median_distance() == 1


@pytest.mark.parametrize("offset", [0.0, 1e-300, 1e-150])
def test_features_that_differ_by_less_than_squares_can_tell(offset):
    features = np.full((3, 2), offset)
    features[2, 1] += 1e-160 + offset * 1e-12
    with pytest.raises(ValueError, match="features must differ by 1e-140 or more"):
        Pool(features)


def test_masked_values_are_refused_and_masks_of_nothing_are_not():
    features = np.arange(6.0).reshape(3, 2)
    with pytest.raises(ValueError, match="features must have no masked values, got 1"):
        Pool(np.ma.masked_equal(features, 3.0))
    with pytest.raises(ValueError, match="ids must have no masked values, got 1"):
        Pool(features, np.ma.masked_equal([1, 2, 3], 2))
    assert len(Pool(np.ma.masked_equal(features, 9.0))) == 3


def test_lists_are_features_too():
    assert Pool([[0, 1], [2, 3], [4, 5]]).dimension == 2


def test_the_fingerprint_knows_values_shape_and_type():
    features = np.arange(12, dtype=np.float32).reshape(3, 4)
    changed = features.copy()
    changed[2, 3] += 1
    others = [changed, features.reshape(4, 3), features.astype(float), features[::-1]]
    fingerprints = [Pool(x).fingerprint for x in [features, *others]]
    assert len(set(fingerprints)) == len(fingerprints)
    assert Pool(np.asfortranarray(features)).fingerprint == fingerprints[0]


def test_one_image_far_away_costs_the_others_no_digits():
    features = np.random.default_rng(0).standard_normal((200, 8))
    features[0] = 1e12
    pool = Pool(features)
    expected = cdist(features[1:4], features[1:], "sqeuclidean")
    np.testing.assert_allclose(pool.squared_distances(features[1:4])[:, 1:], expected, atol=1e-11)
    assert pool.median_distance() == pytest.approx(np.median(pdist(features[1:])), rel=0.05)


class TestMedianDistance:
    def test_of_all_pairs_when_there_are_few(self):
        features = np.random.default_rng(0).random((200, 5))
        assert Pool(features).median_distance() == pytest.approx(np.median(pdist(features)))

    def test_of_a_sample_when_there_are_many(self):
        features = np.random.default_rng(0).random((5000, 5))
        expected = np.median(pdist(features[::3]))
        assert Pool(features).median_distance() == pytest.approx(expected, rel=0.02)

    def test_among_copies(self):
        features = np.zeros((100, 3)) + 7.3
        assert Pool(features).median_distance() == 1.0
        features[0] += [3, 0, 4]
        assert Pool(features).median_distance() == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([[1.0, 2.0], [3.0]], "features must be vectors of equal length"),
        ([1.0, 2.0], r"features must be vectors of equal length.*got the shape \(2,\)"),
        (np.zeros((0, 3)), r"got the shape \(0, 3\)"),
        (np.zeros((3, 0)), r"got the shape \(3, 0\)"),
        ([["a", "b"]], "got elements of type <U1"),
        (np.zeros((2, 2), dtype=complex), "got elements of type complex128"),
        (np.zeros((2, 2), dtype=bool), "got elements of type bool"),
        ([[1.0, np.nan], [1.0, 2.0]], "1 of 2 rows hold NaN.*the first of them row 0"),
        ([[1.0, 2.0], [np.inf, 2.0], [-np.inf, 2.0]], "2 of 3 rows hold NaN.*row 1"),
    ],
)
def test_refuses_what_are_no_features(features, message):
    with pytest.raises(ValueError, match=message):
        Pool(features)


def cosine(a, b):
    if not a.any() or not b.any():
        return 0.0
    a, b = a / np.abs(a).max(), b / np.abs(b).max()  # so that no square overflows or vanishes
    return a @ b / np.sqrt((a @ a) * (b @ b))


class TestCosines:
    @given(
        seeds,
        st.integers(1, 12),
        st.integers(1, 5),
        st.sampled_from([1e-130, 1e-3, 1.0, 1e120]),
        st.sampled_from([np.float64, np.float32]),
    )
    def test_literal(self, seed, n, d, scale, dtype):
        features = np.random.default_rng(seed).standard_normal((n, d)) * scale
        features = np.clip(features, -1e15, 1e15).astype(dtype) if scale > 1 else features
        features[0] = 0.0
        others = np.random.default_rng(seed + 1).standard_normal((3, d)) * min(scale, scale**1.5)
        rows = np.arange(0, n, 2)
        pool = Pool(features)
        expected = np.array([[cosine(a, b) for b in features.astype(float)] for a in others])
        np.testing.assert_allclose(pool.cosines(others), expected, atol=1e-12)
        np.testing.assert_allclose(pool.cosines(others, rows), expected[:, rows], atol=1e-12)
        assert pool.features is features

    def test_vectors_are_left_alone(self):
        vectors = np.array([[3.0, 4.0]])
        assert Pool([[1.0, 0.0]]).cosines(vectors).tolist() == [[0.6]]
        assert vectors.tolist() == [[3.0, 4.0]]


class TestDensity:
    @given(seeds, st.integers(1, 30), st.integers(1, 35))
    def test_literal(self, seed, n, neighbours):
        features = np.random.default_rng(seed).standard_normal((n, 3))
        similar = 1 - cdist(features, features, "cosine")
        expected = []
        for i in range(n):
            nearest = sorted(similar[i, j] for j in range(n) if j != i)[-neighbours:]
            expected.append(np.mean(nearest) if nearest else 0.0)
        np.testing.assert_allclose(Pool(features).density(neighbours), expected, atol=1e-12)

    def test_in_blocks_and_once(self, monkeypatch):
        monkeypatch.setattr(pool_module, "BLOCK_ELEMENTS", 8)
        features = np.random.default_rng(0).standard_normal((50, 3))
        pool = Pool(features)
        density = pool.density(4)
        similar = np.sort(1 - cdist(features, features, "cosine"), axis=1)
        np.testing.assert_allclose(density, similar[:, -5:-1].mean(axis=1), atol=1e-12)
        assert pool.density(4) is density
        assert pool.density(5) is not density


class TestIdentifiers:
    FEATURES = np.random.default_rng(0).normal(size=(4, 3))

    def test_rows_have_names_of_their_own(self):
        pool = Pool(self.FEATURES, ids=[2, 3, 7, 40])
        assert pool.identifiers(np.array([3, 0])).tolist() == [40, 2]
        assert [pool.row(image) for image in (2, 3, 7, 40)] == [0, 1, 2, 3]
        assert [pool.row(image) for image in (-1, 0, 4, 41)] == [None] * 4
        assert 7 in pool
        assert 8 not in pool
        assert pool.identifier(np.int64(7), "image") == 7
        with pytest.raises(IndexError, match="image must be an identifier"):
            pool.identifier(0, "image")
        with pytest.raises(TypeError, match="image must be a whole number"):
            pool.identifier(True, "image")

    def test_row_numbers_are_the_names_if_there_are_no_others(self):
        pool = Pool(self.FEATURES)
        assert pool.identifiers(np.array([3, 0])).tolist() == [3, 0]
        assert [pool.row(image) for image in (-1, 0, 3, 4)] == [None, 0, 3, None]
        with pytest.raises(IndexError, match="image must be an index from 0 to 3"):
            pool.identifier(4, "image")

    def test_names_belong_to_the_fingerprint(self):
        prints = {
            Pool(self.FEATURES, ids).fingerprint for ids in (None, [0, 1, 2, 3], [1, 2, 3, 4])
        }
        assert len(prints) == 3
        assert Pool(self.FEATURES, [1, 2, 3, 4], "given").fingerprint == "given"

    @pytest.mark.parametrize(
        "ids", [[1, 2, 3], [1, 2, 2, 3], [3, 2, 1, 0], [-1, 0, 1, 2], [0.5] * 4]
    )
    def test_bad_names(self, ids):
        with pytest.raises(ValueError, match="ids must be"):
            Pool(self.FEATURES, ids)
