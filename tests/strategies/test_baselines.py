from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from literal import chosen, fitted, is_best, same, single, small_problems

from ital import Search
from ital.pool import Pool


class TestRandom:
    def test_all_images_are_drawn_alike(self):
        counts, pool = np.zeros(10), Pool(np.arange(10.0)[:, None])
        for seed in range(900):
            search = Search(pool, "random", seed=seed, base_rate=None)
            search.query(relevant=[0])
            counts[search.suggest(3)] += 1
        # Each of nine images is drawn with probability 1/3: 300 times, give or take 14.
        assert counts[0] == 0
        assert np.abs(counts[1:] - 300).max() < 5 * 14

    def test_draws_differ_from_round_to_round(self):
        search = Search(np.arange(100.0)[:, None], "random", seed=1)
        search.query(relevant=[0])
        first = search.suggest(4)
        search.answer({int(first[0]): None})
        assert set(search.suggest(4)) != set(first)

    def test_no_score(self):
        search = Search(np.arange(10.0)[:, None], "random", seed=1)
        search.query(relevant=[0])
        with pytest.raises(ValueError, match="strategy 'random' gives batches no value"):
            search.score([1])


class TestTopScoring:
    @given(small_problems)
    def test_literal(self, problem):
        model, process = fitted(problem)
        batch, utilities = chosen("topscoring", model, problem.candidates, 3)
        left = list(problem.candidates)
        for image, row in zip(batch, utilities, strict=True):
            expected = {i: single(process, i)[0] for i in left}
            same(row, expected)
            is_best(image, expected)
            left.remove(image)
