"""Help to compare strategies with their formulas, written out in loops over `oracle.Model`."""

from __future__ import annotations

from math import erf, log, sqrt

import numpy as np
from hypothesis import strategies as st

import oracle
from generators import problems
from ital import strategies
from ital.kernel import Kernel
from ital.model import RelevanceModel
from ital.pool import Pool

small_problems = problems(images=st.integers(8, 14), noises=(1e-3, 0.05, 0.5))


def fitted(problem) -> tuple[RelevanceModel, oracle.Model]:
    """The same process twice: ours, and the literal one."""
    model = RelevanceModel(Pool(problem.features), Kernel(**problem.kernel))
    model.update(problem.labels)
    return model, oracle.Model(problem.features, problem.labels, **problem.kernel)


def chosen(strategy, model, candidates, k):
    """The batch and, for each place in it, the utilities of the candidates left, by image."""
    batch, utilities = strategies.create(strategy).select_with_utilities(
        model, np.array(candidates), k, np.random.default_rng(0)
    )
    return batch.tolist(), [
        {i: u for i, u in zip(candidates, row.tolist(), strict=True) if u == u} for row in utilities
    ]


def same(utilities: dict[int, float], expected: dict[int, float], tolerance: float = 1e-6) -> None:
    assert utilities.keys() == expected.keys()
    for image, value in expected.items():
        assert abs(utilities[image] - value) <= tolerance * max(1.0, abs(value)), image


def is_best(image: int, expected: dict[int, float], tolerance: float = 1e-6) -> None:
    """No other image has a larger value, rounding apart."""
    best = max(expected.values())
    assert expected[image] >= best - tolerance * max(1.0, abs(best))


def single(model: oracle.Model, i: int) -> tuple[float, float]:
    mean, cov = model.predict([i])
    return float(mean[0]), float(max(cov[0, 0], 0.0))


def relevant(model: oracle.Model, i: int) -> float:
    """P(R_i = 1), eq. (5)."""
    mean, variance = single(model, i)
    return 0.5 * (1 + erf(mean / sqrt(2 * max(variance, 1e-300))))


def entropy(p: float) -> float:
    return -sum(q * log(q) for q in (p, 1 - p) if q > 0)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    lengths = sqrt(float(a @ a)) * sqrt(float(b @ b))
    return float(a @ b) / lengths if lengths > 0 else 0.0
