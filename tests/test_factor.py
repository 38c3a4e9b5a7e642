from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import solve_triangular

from generators import seeds
from ital.factor import Factor, substitute
from ital.kernel import Kernel
from ital.pool import Pool
from ital.prior import Covariance, Points

NOISES = st.sampled_from([1e-6, 0.1])


def observed(count: int, seed: int, noise: float) -> tuple[Factor, np.ndarray]:
    """L of vectors some of which are copies, or nearly so, and the matrix that it belongs to."""
    vectors = np.random.default_rng(seed).standard_normal((count, 3))
    vectors[1::7], vectors[2::7] = vectors[0], vectors[0] + 1e-4
    factor = Factor(Covariance(Pool(vectors), Kernel(1.0, noise=noise)), 3)
    factor.extend(Points.of(vectors), np.full(count, noise))
    squared = ((vectors[:, None] - vectors) ** 2).sum(-1)
    return factor, np.exp(-squared / 2) + noise * np.eye(count)


@given(count=st.integers(2, 120), seed=seeds, noise=NOISES)
def test_it_is_the_factor(count, seed, noise):
    factor, matrix = observed(count, seed, noise)
    np.testing.assert_allclose(factor.lower @ factor.lower.T, matrix, atol=1e-12)
    assert (np.triu(factor.lower, 1) == 0).all()


@pytest.mark.parametrize("count", [1, 32, 33, 100, 500])
def test_substitution_is_that_of_scipy(count):
    factor, _ = observed(count, 0, 1e-6)
    right = np.random.default_rng(1).standard_normal((count, 50))
    found = right.copy()
    substitute(factor.lower, found)
    # Copies make L as good as singular. What is told apart then is the residual.
    expected = solve_triangular(factor.lower, right, lower=True)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(factor.lower @ found, right, atol=1e-13 * np.abs(expected).max())


@given(count=st.integers(2, 60), seed=seeds, noise=NOISES, data=st.data())
def test_rows_that_are_taken_out_leave_the_factor_of_the_others(count, seed, noise, data):
    factor, matrix = observed(count, seed, noise)
    before, vectors = factor.lower.copy(), factor.vectors.copy()
    out = data.draw(st.sets(st.integers(0, count - 1), min_size=1))
    first, change = factor.remove(sorted(out))
    left = [i for i in range(count) if i not in out]
    assert first == min(out)
    assert change.shape == (len(left) - first, count - first)
    np.testing.assert_array_equal(factor.vectors, vectors[left])
    np.testing.assert_allclose(
        factor.lower @ factor.lower.T, matrix[np.ix_(left, left)], atol=1e-12
    )
    assert (factor.lower.diagonal() > 0).all()
    assert (np.triu(factor.lower, 1) == 0).all()
    np.testing.assert_array_equal(factor.lower[:first, :first], before[:first, :first])
    # A rotation, of which V loses no digit.
    np.testing.assert_allclose(change @ change.T, np.eye(len(change)), atol=1e-12)


def test_the_last_rows_take_nothing_with_them():
    factor, _ = observed(40, 0, 0.1)
    before = factor.lower.copy()
    first, change = factor.remove(range(25, 40))
    assert (first, len(change)) == (25, 0)
    np.testing.assert_array_equal(factor.lower, before[:25, :25])
