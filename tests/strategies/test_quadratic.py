"""usdm against its formula: propagation by iterating, and the optimality conditions of its QP."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from literal import chosen, entropy, fitted, small_problems
from scipy.optimize import minimize

from generators import seeds
from ital.strategies import USDM
from ital.strategies.quadratic import minimum, propagated


def propagate(vectors, labelled, labels, neighbours):
    """Means of neighbours, again and again, until nothing moves; labels stay as they are."""
    points = [*vectors, *labelled]
    n, total = len(vectors), len(points)
    near = [set() for _ in points]
    for i in range(total):
        others = sorted(
            (j for j in range(total) if j != i), key=lambda j: np.sum((points[i] - points[j]) ** 2)
        )
        for j in others[:neighbours]:
            near[i].add(j)
            near[j].add(i)
    reached, border = set(range(n, total)), list(range(n, total))
    while border:
        for j in near[border.pop()] - reached:
            reached.add(j)
            border.append(j)
    values = [0.5] * n + [1.0 if y > 0 else 0.0 for y in labels]
    for _ in range(20_000):
        moved = 0.0
        for i in sorted(reached & set(range(n))):
            mean = sum(values[j] for j in near[i]) / len(near[i])
            moved, values[i] = max(moved, abs(mean - values[i])), mean
        if moved < 1e-12:
            break
    return values[:n]


class TestPropagation:
    @settings(max_examples=60)
    @given(seeds, st.integers(1, 25), st.integers(1, 4), st.integers(1, 6))
    def test_literal(self, seed, n, known, neighbours):
        rng = np.random.default_rng(seed)
        vectors, labelled = rng.standard_normal((n, 2)), rng.standard_normal((known, 2))
        labels = rng.choice([-1.0, 1.0], known)
        np.testing.assert_allclose(
            propagated(vectors, labelled, labels, neighbours),
            propagate(vectors, labelled, labels, neighbours),
            atol=1e-7,
        )

    def test_wherever_the_features_lie(self):
        rng = np.random.default_rng(0)
        vectors, labels = rng.standard_normal((200, 64)), np.where(np.arange(10) < 5, 1.0, -1.0)
        vectors = np.round(vectors, 3)
        near, far = (
            propagated(vectors[10:] + offset, vectors[:10] + offset, labels, 5)
            for offset in (0.0, 2.0**30)
        )
        np.testing.assert_allclose(far, near, atol=1e-6)

    def test_nothing_is_known_of_what_no_label_reaches(self):
        vectors = np.array([[0.0], [0.1], [0.2], [50.0], [50.1], [50.2]])
        relevant = propagated(vectors, np.array([[0.05]]), np.array([1.0]), 2)
        np.testing.assert_allclose(relevant, [1, 1, 1, 0.5, 0.5, 0.5])


class TestProgram:
    @settings(max_examples=100)
    @given(
        seeds,
        st.integers(1, 40),
        st.sampled_from([0.1, 1.0, 10.0]),
        st.sampled_from([1e-3, 1.0, 100.0]),
        st.integers(1, 8),
        st.booleans(),
    )
    def test_optimality_conditions(self, seed, n, length_scale, trade_off, total, copies):
        """f >= 0, sum f = total, and the gradient is least, and equal, wherever f > 0."""
        rng = np.random.default_rng(seed)
        points = rng.standard_normal((n, 2))
        if copies:
            points[: n // 2] = points[0]
        squared = ((points[:, None] - points) ** 2).sum(axis=2)
        kernel = np.exp(-squared / (2 * length_scale**2))
        worth = trade_off * rng.random(n)
        f = minimum(kernel, worth, total)
        assert f.min() >= 0
        assert f.sum() == pytest.approx(total)
        gradient = kernel @ f - worth
        # The solver keeps the matrix in single precision.
        tolerance = 1e-6 * (total + trade_off)
        assert gradient[f > 0].max() <= gradient.min() + tolerance

    @pytest.mark.parametrize("seed", range(5))
    def test_against_another_solver(self, seed):
        rng = np.random.default_rng(seed)
        points = rng.standard_normal((12, 2))
        squared = ((points[:, None] - points) ** 2).sum(axis=2)
        kernel, worth = np.exp(-squared), rng.random(12)
        other = minimize(
            lambda f: 0.5 * f @ kernel @ f - f @ worth,
            np.full(12, 4 / 12),
            jac=lambda f: kernel @ f - worth,
            bounds=[(0, None)] * 12,
            constraints={"type": "eq", "fun": lambda f: f.sum() - 4, "jac": lambda f: np.ones(12)},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        np.testing.assert_allclose(minimum(kernel, worth, 4), other.x, atol=1e-5)


@settings(max_examples=40)
@given(small_problems, st.sampled_from([0.1, 1.0, 10.0]))
def test_literal(problem, trade_off):
    model, process = fitted(problem)
    left = problem.candidates
    batch, (first, *_) = chosen(USDM(trade_off=trade_off, neighbours=3), model, left, 3)
    vectors = [problem.features[i] for i in left]
    distances = np.linalg.norm(problem.features[:, None] - problem.features, axis=2)
    pairs = np.sort(distances[np.triu_indices(len(distances), 1)])
    assume(np.diff(pairs).min(initial=1.0) > 1e-9)  # else rounding says who is nearest
    relevant = propagate(
        vectors,
        [problem.features[i] for i in problem.labels],
        list(problem.labels.values()),
        3,
    )
    worth = {i: trade_off * entropy(p) / log(2) for i, p in zip(left, relevant, strict=True)}
    gradient = {i: sum(process.kernel[i, j] * first[j] for j in left) - worth[i] for i in left}
    least = min(gradient.values())
    assert sum(first.values()) == pytest.approx(3)
    for i in left:
        assert first[i] >= 0
        assert first[i] == 0 or gradient[i] <= least + 1e-5 * (3 + trade_off)
    expected = sorted(left, key=lambda i: (-first[i], gradient[i]))[:3]
    for i, j in zip(batch, expected, strict=True):
        assert i == j or (first[i] == first[j] and abs(gradient[i] - gradient[j]) < 1e-5)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"trade_off": 0.0}, "trade_off must be"),
        ({"neighbours": 0}, "neighbours must be a whole number of at least 1, got 0"),
        ({"subsample": 0}, "subsample must be a whole number of at least 1, got 0"),
    ],
)
def test_refuses(parameters, message):
    with pytest.raises(ValueError, match=message):
        USDM(**parameters)
