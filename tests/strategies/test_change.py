"""emoc and gal against their formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from literal import chosen, fitted, is_best, relevant, same, single, small_problems

from generators import Problem
from ital.kernel import Kernel
from ital.model import RelevanceModel
from ital.pool import Pool
from ital.strategies import GAL, change


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
def test_emoc(problem):
    model, process = fitted(problem)
    batch, utilities = chosen("emoc", model, problem.candidates, 3)
    left = list(problem.candidates)
    for image, row in zip(batch, utilities, strict=True):
        expected = {i: emoc(problem, process, i) for i in left}
        same(row, expected)
        is_best(image, expected)
        left.remove(image)


def moved(process, i, label, images):
    """The norm of what one more label does to the means."""
    before = process.predict(images)[0]
    return float(np.linalg.norm(process.updated({i: label}).predict(images)[0] - before))


@settings(max_examples=60)
@given(small_problems)
def test_gal(problem):
    model, process = fitted(problem)
    batch, utilities = chosen("gal", model, problem.candidates, 3)
    left = list(problem.candidates)
    for image, row in zip(batch, utilities, strict=True):
        changes = {
            i: {y: moved(process, i, y, problem.candidates) for y in (-1.0, 1.0)} for i in left
        }
        expected = {i: min(both.values()) for i, both in changes.items()}
        same(row, expected, 1e-5)
        is_best(image, expected, 1e-5)
        left.remove(image)
        irrelevant, relevant = changes[image].values()
        assume(abs(irrelevant - relevant) > 1e-6)  # else either label would do
        process = process.updated({image: -1.0 if irrelevant < relevant else 1.0})


def test_gal_looks_at_the_likeliest_alone():
    model = RelevanceModel(Pool(np.arange(12.0)[:, None]), Kernel(2.0))
    model.update({0: 1, 11: -1})
    candidates = np.arange(1, 11)
    _, utilities = GAL(shortlist=4).select_with_utilities(
        model, candidates, 1, np.random.default_rng(0)
    )
    likeliest = np.argsort(-model.probabilities(candidates))[:4]
    assert np.flatnonzero(~np.isnan(utilities[0])).tolist() == sorted(likeliest.tolist())


def test_gal_refuses():
    with pytest.raises(ValueError, match="shortlist must be a whole number of at least 1, got 0"):
        GAL(shortlist=0)


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
        expected = sum(
            p * np.abs(process.updated({i: y}).predict(everything)[0] - before).mean()
            for y, p in probabilities(process, i).items()
        )
        assert abs(utility - expected) < 1e-9
