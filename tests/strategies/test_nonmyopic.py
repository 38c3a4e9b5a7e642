"""ens against its formula, by refitting the process to every possible label."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from literal import chosen, fitted, is_best, relevant, same, small_problems

from ital import Search
from ital.strategies import ENS


def ens(process, i, left, budget):
    p = relevant(process, i)
    total = p
    for label, share in ((1.0, p), (-1.0, 1 - p)):
        after = process.updated({i: label})
        likeliest = sorted((relevant(after, u) for u in left if u != i), reverse=True)
        total += share * sum(likeliest[: max(0, budget - 1)])
    return total


@settings(max_examples=40)
@given(small_problems, st.sampled_from([1, 2, 4, 40]))
def test_literal(problem, budget):
    model, process = fitted(problem)
    batch, utilities = chosen(ENS(budget=budget), model, problem.candidates, 3)
    left = list(problem.candidates)
    for place, (image, row) in enumerate(zip(batch, utilities, strict=True)):
        expected = {i: ens(process, i, left, budget - place) for i in left}
        same(row, expected, 1e-5)
        is_best(image, expected, 1e-5)
        left.remove(image)
        p = relevant(process, image)
        assume(abs(p - 0.5) > 1e-6)  # else either label would do
        process = process.updated({image: 1.0 if p > 0.5 else -1.0})


def test_without_further_questions_it_takes_the_likeliest():
    features = np.random.default_rng(0).standard_normal((50, 3))
    search = Search(features, ENS(budget=1), length_scale=1.0)
    search.query(relevant=[0])
    search.answer({3: False})
    candidates = np.setdiff1d(np.arange(50), [0, 3])
    likeliest = candidates[np.argmax(search.model.probabilities(candidates))]
    assert search.suggest(1).tolist() == [likeliest]


def test_it_looks_at_the_likeliest_alone():
    features = np.random.default_rng(0).standard_normal((50, 3))
    search = Search(features, ENS(shortlist=10), length_scale=1.0)
    search.query(relevant=[0])
    candidates = np.arange(1, 50)
    _, utilities = search.strategy.select_with_utilities(
        search.model, candidates, 2, np.random.default_rng(0)
    )
    assert np.isnan(utilities).sum(axis=1).tolist() == [39, 40]
    relevant = search.model.probabilities(candidates)
    looked_at = ~np.isnan(utilities[0])
    assert relevant[looked_at].min() > relevant[~looked_at].max()


@pytest.mark.parametrize("name", ["budget", "shortlist"])
def test_refuses(name):
    with pytest.raises(ValueError, match=f"{name} must be a whole number of at least 1, got 0"):
        ENS(**{name: 0})
