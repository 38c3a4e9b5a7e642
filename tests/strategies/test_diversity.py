"""var, maxdet, border_div and rbmal against their formulas."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from literal import chosen, cosine, fitted, is_best, relevant, same, single, small_problems

from ital import Search
from ital.strategies import BorderDiversity


def var(problem, process, i, batch):
    gain = single(process, i)[1]
    for j in batch:
        gain -= process.predict([i, j])[1][0, 1]
    return gain


def maxdet(problem, process, i, batch):
    """The variance after labels of the batch, whatever they are."""
    return single(process.updated(dict.fromkeys(batch, 1.0)), i)[1]


def border_div(problem, process, i, batch, weight=0.5):
    mean = abs(single(process, i)[0])
    if not batch:
        return -mean
    k = process.kernel
    likest = max(abs(k[i, j]) / sqrt(k[i, i] * k[j, j]) for j in batch)
    return -(weight * mean + (1 - weight) * likest)


def rbmal(problem, process, i, batch):
    known = [*problem.labels, *batch]
    unlabelled = len(problem.features) - len(known)
    alpha = unlabelled / (unlabelled + len(known))
    likest = max(cosine(problem.features[i], problem.features[j]) for j in known)
    p = relevant(process, i)
    return alpha * (1 - likest) + (1 - alpha) * (1 - max(p, 1 - p))


@pytest.mark.parametrize("formula", [var, maxdet, border_div, rbmal], ids=lambda f: f.__name__)
@given(problem=small_problems)
def test_literal(formula, problem):
    model, process = fitted(problem)
    batch, utilities = chosen(formula.__name__, model, problem.candidates, 4)
    for place, (image, row) in enumerate(zip(batch, utilities, strict=True)):
        left = [i for i in problem.candidates if i not in batch[:place]]
        expected = {i: formula(problem, process, i, batch[:place]) for i in left}
        same(row, expected)
        is_best(image, expected)


@given(small_problems, st.sampled_from([0.0, 0.2, 1.0]))
def test_the_weight_of_border_div(problem, weight):
    model, process = fitted(problem)
    batch, utilities = chosen(BorderDiversity(weight), model, problem.candidates, 3)
    for place, row in enumerate(utilities):
        left = [i for i in problem.candidates if i not in batch[:place]]
        same(row, {i: border_div(problem, process, i, batch[:place], weight) for i in left})


@pytest.mark.parametrize("weight", [-0.1, 1.1, float("nan")])
def test_border_div_refuses(weight):
    with pytest.raises(ValueError, match="weight must be a probability from 0 to 1, got"):
        BorderDiversity(weight)


def searched(problem, strategy):
    search = Search(problem.features, strategy, base_rate=None, **problem.kernel)
    search.query(
        relevant=[i for i, y in problem.labels.items() if y > 0],
        irrelevant=[i for i, y in problem.labels.items() if y < 0],
    )
    return search


@given(small_problems)
def test_score_of_var(problem):
    _, process = fitted(problem)
    search = searched(problem, "var")
    batch = problem.candidates[:3]
    cov = process.predict(batch)[1]
    pairs = sum(cov[i, j] for j in range(len(batch)) for i in range(j))
    assert search.score(batch) == pytest.approx(np.trace(cov) - pairs, abs=1e-6)


@given(small_problems)
def test_score_of_maxdet(problem):
    """The determinant is the product of the variances that the batch was chosen by, with noise."""
    _, process = fitted(problem)
    batch = problem.candidates[:3]
    known = [
        log(maxdet(problem, process, i, batch[:n]) + problem.noise) for n, i in enumerate(batch)
    ]
    assert searched(problem, "maxdet").score(batch) == pytest.approx(sum(known), abs=1e-5)


def test_rbmal_with_many_labels_and_some_from_outside():
    rng = np.random.default_rng(0)
    features, outside = rng.standard_normal((120, 4)), rng.standard_normal((2, 4))
    search = Search(features, "rbmal", length_scale=2.0, base_rate=None)
    search.query(relevant=[*range(80), *outside])
    candidates = np.arange(80, 120)
    _, utilities = search.strategy.select_with_utilities(
        search.model, candidates, 1, np.random.default_rng(0)
    )
    known = [*features[:80], *outside]
    for i, utility in zip(candidates, utilities[0], strict=True):
        p = search.model.probabilities(np.array([i]))[0]
        likest = max(cosine(features[i], vector) for vector in known)
        expected = 40 / 122 * (1 - likest) + 82 / 122 * min(p, 1 - p)
        assert utility == pytest.approx(expected, abs=1e-12)
