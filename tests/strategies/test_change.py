"""emoc against its formula."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from literal import chosen, fitted, is_best, relevant, same, single, small_problems

from generators import Problem
from ital.kernel import Kernel
from ital.model import RelevanceModel
from ital.pool import Pool
from ital.strategies import change


def emoc(problem, process, i):
    mean, variance = single(process, i)
    surprise = sum(p * abs(y - mean) for y, p in probabilities(process, i).items())
    spread = 0.0
    for x in range(len(problem.features)):
        spread += abs(variance if x == i else process.predict([i, x])[1][0, 1])
    return surprise / (variance + problem.noise) * spread / len(problem.features)


def probabilities(process, i):
    p = relevant(process, i)
    return {1: p, -1: 1 - p}


@given(small_problems)
def test_literal(problem):
    model, process = fitted(problem)
    batch, utilities = chosen("emoc", model, problem.candidates, 3)
    left = list(problem.candidates)
    for image, row in zip(batch, utilities, strict=True):
        expected = {i: emoc(problem, process, i) for i in left}
        same(row, expected)
        is_best(image, expected)
        left.remove(image)


def test_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    model = RelevanceModel(Pool(rng.standard_normal((50, 3))), Kernel(1.0))
    model.update({0: 1, 1: -1, 7: 1})
    expected = np.abs(model.covariances(np.arange(50), keep=False)).mean(axis=1)
    for block in (1, 7, 50, 64):
        monkeypatch.setattr(change, "_BLOCK", block)
        np.testing.assert_allclose(change._spread(model), expected, atol=1e-14)


def test_it_is_the_change_of_the_output():
    """The formula's source: mean over x of E_y |mean of x after label y - mean of x before it|."""
    features = np.random.default_rng(3).standard_normal((10, 2))
    problem = Problem(features, {0: 1, 1: -1}, 1.0, 1.0, 0.05)
    model, process = fitted(problem)
    _, utilities = chosen("emoc", model, problem.candidates, 1)
    everything = list(range(10))
    before = process.predict(everything)[0]
    for i, utility in utilities[0].items():
        change = sum(
            p * np.abs(process.updated({i: y}).predict(everything)[0] - before).mean()
            for y, p in probabilities(process, i).items()
        )
        assert abs(utility - change) < 1e-9
