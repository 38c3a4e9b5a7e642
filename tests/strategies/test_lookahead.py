"""mcmi and adaptal against their formulas, by refitting the process to every possible label."""

from __future__ import annotations

from itertools import pairwise
from math import log

import numpy as np
import pytest
from hypothesis import assume, given, settings
from literal import chosen, entropy, fitted, is_best, relevant, same, small_problems

from ital import Search
from ital.strategies import MCMI, AdaptAL


def entropy_left(process, i, label, unlabelled):
    after = process.updated({i: label})
    return sum(entropy(relevant(after, u)) for u in unlabelled if u != i)


@settings(max_examples=40)
@given(small_problems)
def test_mcmi(problem):
    model, process = fitted(problem)
    batch, utilities = chosen("mcmi", model, problem.candidates, 3)
    left = list(problem.candidates)
    for image, row in zip(batch, utilities, strict=True):
        expected, labels = {}, {}
        for i in left:
            doubts = {label: entropy_left(process, i, label, left) for label in (-1.0, 1.0)}
            expected[i] = -min(doubts.values())
            labels[i] = min(doubts, key=lambda label: doubts[label])
            assume(abs(doubts[-1.0] - doubts[1.0]) > 1e-6)  # else either label would do
        same(row, expected, 1e-5)
        is_best(image, expected, 1e-5)
        left.remove(image)
        process = process.updated({image: labels[image]})


def density(process, i, unlabelled):
    """1/2 log(K_ii / variance of i given the others)."""
    others = [u for u in unlabelled if u != i]
    k = process.kernel
    variance = k[i, i]
    if others:
        known = k[np.ix_(others, others)] + process.noise * np.eye(len(others))
        variance -= k[i, others] @ np.linalg.solve(known, k[others, i])
    return 0.5 * log(k[i, i] / variance)


def expected_error(process, i, unlabelled):
    total = 0.0
    for label, share in ((1.0, relevant(process, i)), (-1.0, 1 - relevant(process, i))):
        after = process.updated({i: label})
        for u in unlabelled:
            if u != i:
                p = relevant(after, u)
                total += share * min(p, 1 - p)
    return total


@settings(max_examples=60)
@given(small_problems)
def test_adaptal(problem):
    model, process = fitted(problem)
    k, left = 2, problem.candidates
    batch, (row, _) = chosen("adaptal", model, left, k)
    orders = []
    for step in range(1, 11):
        beta = step / 10
        worth = {
            i: entropy(relevant(process, i)) ** beta * density(process, i, left) ** (1 - beta)
            for i in left
        }
        orders.append(sorted(left, key=lambda i: -worth[i]))
        # Any of two copies may be listed.
        assume(all(worth[a] - worth[b] > 1e-9 for a, b in pairwise(orders[-1])))
    listed: set[int] = set()
    for place in range(len(left)):
        if len(listed) < k:
            listed |= {order[place] for order in orders}
    expected = {i: -expected_error(process, i, left) for i in listed}
    same({i: u for i, u in row.items() if np.isfinite(u)}, expected, 1e-5)
    is_best(batch[0], expected, 1e-5)
    is_best(batch[1], {i: u for i, u in expected.items() if i != batch[0]}, 1e-5)


def test_the_sample_follows_the_seed():
    features = np.random.default_rng(0).standard_normal((200, 3))
    batches = []
    for seed in (1, 1, 2):
        search = Search(features, ("mcmi", {"subsample": 10}), length_scale=1.0, seed=seed)
        search.query(relevant=[0])
        batches.append(search.suggest(4).tolist())
    assert batches[0] == batches[1] != batches[2]


def test_what_was_not_sampled_has_no_utility():
    features = np.random.default_rng(0).standard_normal((50, 3))
    search = Search(features, AdaptAL(subsample=10), length_scale=1.0)
    search.query(relevant=[0])
    candidates = np.arange(1, 50)
    _, utilities = search.strategy.select_with_utilities(
        search.model, candidates, 2, np.random.default_rng(0)
    )
    assert np.isnan(utilities).sum(axis=1).tolist() == [39, 40]


@pytest.mark.parametrize(
    ("strategy", "parameters", "message"),
    [
        (MCMI, {"subsample": 0}, "subsample must be a whole number of at least 1, got 0"),
        (AdaptAL, {"betas": [0.5, 1.5]}, "betas must be a probability from 0 to 1, got 1.5"),
        (AdaptAL, {"betas": []}, "betas must be one or more numbers from 0 to 1, got"),
        (AdaptAL, {"betas": 0.5}, "betas must be one or more numbers from 0 to 1, got 0.5"),
    ],
)
def test_refuses(strategy, parameters, message):
    with pytest.raises(ValueError, match=message):
        strategy(**parameters)
