"""uherding against its formula."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from literal import chosen, fitted, is_best, relevant, same, small_problems

from ital import Search
from ital.strategies import UHerding


def uherding(problem, process, i, batch):
    k, total = process.kernel / problem.variance, 0.0
    for t in problem.candidates:
        p = relevant(process, t)
        covered = max(k[j, t] for j in [*problem.labels, *batch])
        total += (1 - max(p, 1 - p)) * max(0.0, k[i, t] - covered)
    return total


@given(small_problems)
def test_literal(problem):
    model, process = fitted(problem)
    batch, utilities = chosen("uherding", model, problem.candidates, 4)
    for place, (image, row) in enumerate(zip(batch, utilities, strict=True)):
        left = [i for i in problem.candidates if i not in batch[:place]]
        expected = {i: uherding(problem, process, i, batch[:place]) for i in left}
        same(row, expected)
        is_best(image, expected)


def test_many_labels_and_some_from_outside():
    rng = np.random.default_rng(0)
    features, outside = rng.standard_normal((120, 4)), rng.standard_normal((2, 4))
    search = Search(features, "uherding", length_scale=2.0, base_rate=None)
    search.query(relevant=[*range(80), *outside])
    candidates = np.arange(80, 120)
    _, utilities = search.strategy.select_with_utilities(
        search.model, candidates, 1, np.random.default_rng(0)
    )

    def alike(a, b):
        return np.exp(-((a - b) ** 2).sum() / 8)

    for i, utility in zip(candidates, utilities[0], strict=True):
        total = 0.0
        for t in candidates:
            p = search.model.probabilities(np.array([t]))[0]
            covered = max(alike(x, features[t]) for x in [*features[:80], *outside])
            total += min(p, 1 - p) * max(0.0, alike(features[i], features[t]) - covered)
        assert utility == pytest.approx(total, abs=1e-12)


def test_refuses():
    with pytest.raises(ValueError, match="subsample must be a whole number of at least 1, got 0"):
        UHerding(subsample=0)
