"""powerbald against its formula, and the probabilities that it draws with."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from literal import chosen, entropy, fitted, relevant, same, small_problems

from ital.kernel import Kernel
from ital.model import RelevanceModel
from ital.pool import Pool
from ital.strategies import PowerBALD


@given(small_problems, st.sampled_from([0.5, 1.0, 4.0]))
def test_literal(problem, beta):
    model, process = fitted(problem)
    batch, utilities = chosen(PowerBALD(beta), model, problem.candidates, 4)
    numbers = np.random.default_rng(0).random(len(problem.candidates)).tolist()
    expected = {}
    for i, u in zip(problem.candidates, numbers, strict=True):
        told = entropy(relevant(process, i))
        if told < 1e-6:  # the logarithm shows what is left of rounding
            return
        expected[i] = beta * log(told) - log(-log(u))
    for image, row in zip(batch, utilities, strict=True):
        same(row, expected, 1e-4)
        assert expected[image] == pytest.approx(max(expected.values()), abs=1e-4)
        del expected[image]


@pytest.mark.parametrize("beta", [1.0, 3.0])
def test_it_draws_by_powers_of_the_information(beta):
    model = RelevanceModel(Pool(np.arange(6.0)[:, None]), Kernel(2.0))
    model.update({0: 1, 5: -1})
    candidates, rng = np.arange(1, 5), np.random.default_rng(0)
    draws = [int(PowerBALD(beta).select(model, candidates, 1, rng)[0]) for _ in range(4000)]
    worth = model.entropies(candidates) ** beta
    found = [draws.count(i) / 4000 for i in candidates]
    assert worth.max() > 1.1 * worth.min()
    np.testing.assert_allclose(found, worth / worth.sum(), atol=0.03)


def test_refuses():
    with pytest.raises(ValueError, match="beta must be a positive number from 1e-150 to 1e150"):
        PowerBALD(0.0)
