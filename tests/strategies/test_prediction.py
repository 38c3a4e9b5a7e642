"""epig against its formula, and how it draws targets."""

from __future__ import annotations

from itertools import product
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from literal import chosen, entropy, fitted, is_best, relevant, same, small_problems

import oracle
from ital import Search
from ital.kernel import Kernel
from ital.model import RelevanceModel
from ital.pool import Pool
from ital.strategies import EPIG, prediction


def information(process, i, t):
    joint = 0.0
    for r in product((-1, 1), repeat=2):
        p = oracle.relevance_probability(process, [i, t], r)
        joint -= p * log(p) if p > 0 else 0.0
    return entropy(relevant(process, i)) + entropy(relevant(process, t)) - joint


def epig(process, i, targets):
    others = [t for t in targets if t != i]
    return sum(information(process, i, t) for t in others) / max(1, len(others))


@settings(max_examples=25)
@given(small_problems)
def test_literal(problem):
    model, process = fitted(problem)
    batch, utilities = chosen("epig", model, problem.candidates, 3)
    left = {i: epig(process, i, problem.candidates) for i in problem.candidates}
    for image, row in zip(batch, utilities, strict=True):
        same(row, left, 2e-5)
        is_best(image, left, 2e-5)
        del left[image]


def spread() -> tuple[RelevanceModel, np.ndarray]:
    model = RelevanceModel(Pool(np.linspace(0, 6, 12)[:, None]), Kernel(1.0))
    model.update({0: 1, 11: -1})
    return model, np.arange(1, 11)


def test_targets_are_drawn_in_proportion_to_relevance():
    model, candidates = spread()
    relevant = model.probabilities(candidates)
    rng, counts = np.random.default_rng(0), np.zeros(10)
    for _ in range(4000):
        counts[prediction._drawn(rng.random(10), relevant.__getitem__, 1)] += 1
    np.testing.assert_allclose(counts / 4000, relevant / relevant.sum(), atol=0.03)


def test_targets_do_not_depend_on_the_sample():
    """Of images that are all alike, the sample has no more targets than its share."""
    rng, both = np.random.default_rng(0), 0
    for _ in range(2000):
        numbers = rng.random(10)
        sample = np.argsort(-numbers)[:5]
        both += np.isin(prediction._drawn(numbers, np.ones(10).__getitem__, 1), sample).sum()
    assert both / 2000 == pytest.approx(0.5, abs=0.05)


def test_a_few_targets():
    model, candidates = spread()
    numbers = np.random.default_rng(0).random(10)
    targets = candidates[prediction._drawn(numbers, model.probabilities(candidates).__getitem__, 3)]
    assert len(set(targets.tolist())) == 3
    _, (row,) = EPIG(targets=3).select_with_utilities(
        model, candidates, 1, np.random.default_rng(0)
    )
    process = oracle.Model(np.linspace(0, 6, 12)[:, None], {0: 1.0, 11: -1.0}, 1.0, 1.0, 1e-6)
    expected = [epig(process, i, targets.tolist()) for i in candidates.tolist()]
    np.testing.assert_allclose(row, expected, atol=2e-5)


def test_what_was_not_sampled_has_no_utility():
    features = np.random.default_rng(0).standard_normal((50, 3))
    search = Search(features, EPIG(targets=5, subsample=10), length_scale=1.0)
    search.query(relevant=[0])
    _, utilities = search.strategy.select_with_utilities(
        search.model, np.arange(1, 50), 2, np.random.default_rng(0)
    )
    assert np.isnan(utilities).sum(axis=1).tolist() == [39, 40]


@pytest.mark.parametrize("name", ["targets", "subsample"])
def test_refuses(name):
    with pytest.raises(ValueError, match=f"{name} must be a whole number of at least 1, got 0"):
        EPIG(**{name: 0})
