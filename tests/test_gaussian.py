from __future__ import annotations

from itertools import permutations, product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special

import oracle
from generators import gaussians, seeds, signs
from ital import gaussian


def bivariate_reference(h: float, k: float, rho: float) -> float:
    """Phi2 to 20 digits: Plackett's integral over the angle, graded towards its end."""
    with mpmath.workdps(20):
        h, k, rho = (mpmath.mpf(float(x)) for x in (h, k, rho))
        end = mpmath.asin(rho)

        def density(angle):
            return mpmath.exp(
                -(h * h + k * k - 2 * h * k * mpmath.sin(angle)) / (2 * mpmath.cos(angle) ** 2)
            )

        points = [mpmath.mpf(0)] + [end * (1 - mpmath.mpf(4) ** -j) for j in range(1, 24)] + [end]
        area = mpmath.quad(density, points, method="gauss-legendre")
        return float(mpmath.ncdf(h) * mpmath.ncdf(k) + area / (2 * mpmath.pi))


class TestBivariate:
    @settings(max_examples=80)
    @given(
        h=st.sampled_from([0.0, 1e-300, 1e-8, -1e-3, 0.3, -1.0, 2.5, -6.0]),
        gap=st.sampled_from([0.0, 1e-7, 1e-3, -0.4, 2.0]),
        closeness=st.sampled_from([1e-12, 1e-9, 1e-6, 1e-3, 0.05, 0.07, 0.08, 0.2, 0.36, 0.5, 1.0]),
        sign=signs,
    )
    def test_is_exact_up_to_correlations_close_to_one(self, h, gap, closeness, sign):
        k, rho = sign * h + gap, sign * (1 - closeness)
        assert abs(gaussian.bivariate(h, k, rho) - bivariate_reference(h, k, rho)) <= 1e-12

    @given(h=st.floats(-9, 9), k=st.floats(-9, 9))
    def test_limits_of_full_correlation(self, h, k):
        assert gaussian.bivariate(h, k, 1.0) == pytest.approx(special.ndtr(min(h, k)), abs=1e-15)
        opposite = max(0.0, special.ndtr(h) - special.ndtr(-k))
        assert gaussian.bivariate(h, k, -1.0) == pytest.approx(opposite, abs=1e-15)

    @given(rho=st.floats(-1, 1))
    def test_at_the_origin(self, rho):
        expected = 0.25 + np.arcsin(rho) / (2 * np.pi)
        assert gaussian.bivariate(0.0, 0.0, rho) == pytest.approx(expected, abs=1e-12)

    def test_far_in_the_tails(self):
        h = np.array([np.inf, -np.inf, 1e300, -1e300, 60.0])
        for rho in (-1.0, -0.999999, -0.3, 0.0, 0.9, 1.0):
            value = gaussian.bivariate(h, 0.7, rho)
            assert value == pytest.approx(special.ndtr(0.7) * (h > 0), abs=1e-15)

    def test_broadcasts_over_more_than_one_chunk(self):
        h = np.linspace(-3, 3, 301)[:, None]
        k = np.linspace(-2, 3, 300)
        table = gaussian.bivariate(h, k, 0.4)
        assert table.shape == (301, 300)
        np.testing.assert_allclose(
            table, gaussian.bivariate(k[:, None], h[:, 0], 0.4).T, atol=1e-15
        )
        for i, j in [(0, 0), (17, 250), (300, 299)]:
            assert abs(table[i, j] - bivariate_reference(h[i, 0], k[j], 0.4)) < 1e-12


class TestSignProbabilities:
    @settings(max_examples=150)
    @given(gaussians(st.integers(1, 6)))
    def test_are_probabilities_and_sum_to_one(self, case):
        table = gaussian.sign_probabilities(case.mean, case.cov)
        assert table.shape == (2,) * len(case.mean)
        assert (table >= 0).all()
        assert (table <= 1).all()
        assert table.sum() == pytest.approx(1.0, abs=1e-7)

    @settings(max_examples=100)
    @given(gaussians(st.integers(2, 5)), seeds)
    def test_do_not_depend_on_the_order_of_dimensions(self, case, seed):
        order = np.random.default_rng(seed).permutation(len(case.mean))
        table = gaussian.sign_probabilities(case.mean, case.cov)
        other = gaussian.sign_probabilities(case.mean[order], case.cov[np.ix_(order, order)])
        np.testing.assert_allclose(other, table.transpose(order), atol=case.tolerance)

    def test_six_dimensions_do_not_depend_on_the_order_either(self):
        rng = np.random.default_rng(3)
        for copy in (None, 0.0, 1e-7, 1e-3):
            basis = rng.standard_normal((6, 6))
            if copy is not None:
                basis[5] = basis[0] + copy * rng.standard_normal(6)
            mean, cov = 0.3 * rng.standard_normal(6), basis @ basis.T
            order = rng.permutation(6)
            table = gaussian.sign_probabilities(mean, cov)
            other = gaussian.sign_probabilities(mean[order], cov[np.ix_(order, order)])
            np.testing.assert_allclose(other, table.transpose(order), atol=2e-8)

    @settings(max_examples=100)
    @given(gaussians(st.integers(2, 6)), st.integers(0, 5))
    def test_marginals_are_the_tables_of_fewer_dimensions(self, case, dropped):
        dropped %= len(case.mean)
        kept = [i for i in range(len(case.mean)) if i != dropped]
        table = gaussian.sign_probabilities(case.mean, case.cov).sum(axis=dropped)
        fewer = gaussian.sign_probabilities(case.mean[kept], case.cov[np.ix_(kept, kept)])
        np.testing.assert_allclose(table, fewer, atol=case.tolerance)

    @settings(max_examples=30)
    @given(gaussians(st.just(3)))
    def test_three_dimensions_equal_a_conditional_integral(self, case):
        """P(s) is the integral of the bivariate table given the first dimension's value."""
        mean, cov = case.mean, case.cov
        if cov[0, 0] < 1e-6:
            return
        deviation = np.sqrt(cov[0, 0])
        slope = cov[1:, 0] / cov[0, 0]
        rest = cov[1:, 1:] - np.outer(slope, cov[0, 1:])

        def density(y):
            table = gaussian.sign_probabilities(mean[1:] + slope * (y - mean[0]), rest)
            return table.ravel() * np.exp(-0.5 * ((y - mean[0]) / deviation) ** 2) / deviation

        # Steps lie where the conditional mean of a dimension without own variance crosses 0.
        with np.errstate(divide="ignore"):
            steps = mean[0] - mean[1:] / np.where(slope == 0, np.inf, slope)
        low, high = mean[0] - 12 * deviation, mean[0] + 12 * deviation
        table = gaussian.sign_probabilities(mean, cov)
        for sign, (a, b) in enumerate([(low, min(0.0, high)), (max(0.0, low), high)]):
            if a >= b:
                np.testing.assert_allclose(table[sign], 0.0, atol=1e-9)
                continue
            value, _ = integrate.quad_vec(
                density, a, b, epsabs=1e-9, limit=5000, points=[s for s in steps if a < s < b]
            )
            expected = value.reshape(2, 2) / np.sqrt(2 * np.pi)
            np.testing.assert_allclose(table[sign], expected, atol=1e-6)

    @pytest.mark.parametrize("d", [2, 3, 4, 5, 6])
    def test_agree_with_scipy_at_its_tightest(self, d):
        rng = np.random.default_rng(d)
        points = rng.standard_normal((d, 3))
        cov = np.exp(-((points[:, None] - points[None]) ** 2).sum(-1) / 4)
        mean = 0.7 * rng.standard_normal(d)
        table = gaussian.sign_probabilities(mean, cov)
        tolerance = 1e-5 if d <= 4 else 1e-4
        patterns = list(product((-1, 1), repeat=d))
        for r in patterns if d <= 4 else patterns[:: 2 ** (d - 4)]:
            expected = oracle.sign_probability(mean, cov, r, points=200_000)
            assert table[tuple((s + 1) // 2 for s in r)] == pytest.approx(expected, abs=tolerance)

    @pytest.mark.parametrize("d", [2, 3, 4, 5, 6])
    def test_independent_dimensions_multiply(self, d):
        mean = np.linspace(-1.5, 1.2, d)
        table = gaussian.sign_probabilities(mean, np.diag(np.linspace(0.5, 3, d)))
        p = special.ndtr(mean / np.sqrt(np.linspace(0.5, 3, d)))
        for index in np.ndindex(*table.shape):
            expected = np.prod([q if i else 1 - q for i, q in zip(index, p, strict=True)])
            assert table[index] == pytest.approx(expected, abs=1e-14)

    @pytest.mark.parametrize("d", [3, 4, 5, 6])
    def test_equal_correlations_of_one_half_give_one_over_d_plus_one(self, d):
        """The classical case: all correlations 1/2, all means 0."""
        table = gaussian.sign_probabilities(np.zeros(d), 0.5 + 0.5 * np.eye(d))
        assert table[(1,) * d] == pytest.approx(1 / (d + 1), abs=1e-12)
        assert table[(0,) * d] == pytest.approx(1 / (d + 1), abs=1e-12)

    @pytest.mark.parametrize("d", [2, 3, 4, 5, 6])
    def test_identical_dimensions_have_one_sign(self, d):
        table = gaussian.sign_probabilities(np.full(d, 0.4), np.ones((d, d)))
        assert table[(1,) * d] == pytest.approx(special.ndtr(0.4), abs=1e-6)
        assert table[(0,) * d] == pytest.approx(special.ndtr(-0.4), abs=1e-6)

    def test_two_pairs_of_copies(self):
        basis = np.array([[1.0, 0.3], [0.2, 1.0]])
        cov = np.repeat(np.repeat(basis @ basis.T, 2, axis=0), 2, axis=1)
        mean = np.repeat([0.3, -0.5], 2)
        pair = gaussian.sign_probabilities(mean[::2], cov[::2, ::2])
        expected = np.zeros((2, 2, 2, 2))
        for a, b in product((0, 1), repeat=2):
            expected[a, a, b, b] = pair[a, b]
        for order in permutations(range(4)):
            table = gaussian.sign_probabilities(
                mean[list(order)], cov[np.ix_(order, order)]
            ).transpose(np.argsort(order))
            np.testing.assert_allclose(table, expected, atol=1e-6)

    def test_without_variance_the_mean_decides(self):
        table = gaussian.sign_probabilities([2.0, -1.0, 0.0], np.zeros((3, 3)))
        expected = np.zeros((2, 2, 2))
        expected[1, 0, :] = 0.5
        np.testing.assert_array_equal(table, expected)
        assert gaussian.positive_probability([3.0, -3.0, 0.0], 0.0).tolist() == [1.0, 0.0, 0.5]

    def test_means_far_in_the_tail(self):
        cov = 0.6 + 0.4 * np.eye(4)
        table = gaussian.sign_probabilities([1e9, -50.0, 0.2, 1e308], cov)
        pair = gaussian.sign_probabilities([0.2], cov[2:3, 2:3])
        np.testing.assert_allclose(table[1, 0, :, 1], pair, atol=1e-12)
        assert table.sum() == pytest.approx(1.0, abs=1e-12)

    def test_rows_are_independent_of_each_other(self):
        rng = np.random.default_rng(0)
        basis = rng.standard_normal((5, 40, 4, 4))
        basis[:, ::3, 3] = basis[:, ::3, 0] + 1e-6
        mean, cov = rng.standard_normal((5, 40, 4)), basis @ basis.swapaxes(-1, -2)
        tables = gaussian.sign_probabilities(mean, cov)
        assert tables.shape == (5, 40, 2, 2, 2, 2)
        for i, j in [(0, 0), (2, 3), (4, 39)]:
            alone = gaussian.sign_probabilities(mean[i, j], cov[i, j])
            np.testing.assert_allclose(tables[i, j], alone, atol=1e-12)

    @settings(max_examples=40)
    @given(gaussians(st.integers(2, 5)))
    def test_extending_a_vector_gives_its_table(self, case):
        m = len(case.mean) - 1
        head = gaussian.sign_probabilities(case.mean[:m], case.cov[:m, :m])
        table = gaussian.extended_probabilities(
            case.mean[:m],
            case.cov[:m, :m],
            head,
            case.mean[m:],
            case.cov[m, m:],
            case.cov[:m, m:],
        )
        np.testing.assert_allclose(
            table[0], gaussian.sign_probabilities(case.mean, case.cov), atol=case.tolerance
        )

    @settings(max_examples=200)
    @given(gaussians(st.integers(2, 3)))
    def test_coarse_entropies_are_off_by_less_than_said(self, case):
        m = len(case.mean) - 1
        head = gaussian.sign_probabilities(case.mean[:m], case.cov[:m, :m])
        parts = case.mean[:m], case.cov[:m, :m], head, case.mean[m:]
        last = case.cov[m, m:], case.cov[:m, m:]
        fine, coarse = (
            gaussian.entropy(gaussian.extended_probabilities(*parts, *last, rules), m + 1)
            for rules in (gaussian.FINE, gaussian.COARSE)
        )
        assert abs(fine - coarse) < gaussian.COARSE_ERROR / 2

    def test_refuses_what_is_no_gaussian_vector_of_up_to_six(self):
        with pytest.raises(ValueError, match="1 to 6 dimensions, got 7"):
            gaussian.sign_probabilities(np.zeros(7), np.eye(7))
        with pytest.raises(ValueError, match=r"cov must have the shape \(2, 2\), got \(3, 3\)"):
            gaussian.sign_probabilities(np.zeros(2), np.eye(3))


def test_entropy_of_certain_and_even_tables():
    assert gaussian.entropy(np.array([0.0, 1.0])) == 0.0
    assert gaussian.entropy(np.full((3, 2, 2), 0.25), 2) == pytest.approx(np.log(4))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_binary_entropy(probabilities):
    p = np.array(probabilities)
    expected = special.entr(p) + special.entr(1 - p)
    np.testing.assert_allclose(gaussian.binary_entropy(p), expected, atol=1e-14)


@given(st.floats(-1e3, 1e3), st.sampled_from([0.0, 1e-12, 0.3, 1.0, 1e6]))
def test_sign_entropy(mean, variance):
    mean = mean if abs(mean) > 1e-150 else 0.0  # the squares of lesser ones are 0
    exact = gaussian.binary_entropy(gaussian.positive_probability(mean, variance))
    if variance or mean:
        assert abs(gaussian.sign_entropy(mean, variance) - exact) <= 0.0028 * np.log(2)
    assert gaussian.sign_entropy(0.0, variance) == np.log(2)
