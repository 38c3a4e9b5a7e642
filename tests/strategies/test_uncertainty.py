"""border, unc and sud against their formulas."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from literal import chosen, cosine, entropy, fitted, is_best, relevant, same, single, small_problems

from ital import Search
from ital.strategies import SUD


def border(problem, process, i):
    return -abs(single(process, i)[0])


def unc(problem, process, i):
    mean, variance = single(process, i)
    return -abs(mean) / sqrt(variance + problem.noise)


def sud(problem, process, i, neighbours=20):
    others = [j for j in range(len(problem.features)) if j != i]
    nearest = sorted(cosine(problem.features[i], problem.features[j]) for j in others)[-neighbours:]
    return entropy(relevant(process, i)) * sum(nearest) / len(nearest)


CASES = {
    "border": ("border", border),
    "unc": ("unc", unc),
    "sud with all as neighbours": ("sud", sud),
    "sud": (SUD(neighbours=3), lambda *given: sud(*given, neighbours=3)),
}


@pytest.mark.parametrize(("strategy", "formula"), CASES.values(), ids=CASES)
@given(problem=small_problems)
def test_literal(strategy, formula, problem):
    model, process = fitted(problem)
    batch, utilities = chosen(strategy, model, problem.candidates, 4)
    left = list(problem.candidates)
    for image, row in zip(batch, utilities, strict=True):
        expected = {i: formula(problem, process, i) for i in left}
        same(row, expected)
        is_best(image, expected)
        left.remove(image)


def test_score_is_the_sum():
    search = Search(np.arange(10.0)[:, None], "border", length_scale=3.0)
    search.query(relevant=[0], irrelevant=[9])
    mean = search.model.mean
    assert search.score([2, 4]) == pytest.approx(-abs(mean[2]) - abs(mean[4]))


def test_sud_refuses_no_neighbours():
    with pytest.raises(ValueError, match="neighbours must be a whole number of at least 1, got 0"):
        SUD(neighbours=0)
