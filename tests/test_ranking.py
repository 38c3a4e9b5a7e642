from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators import seeds
from ital import Search
from ital.ranking import Ranking, evenly, largest


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=200), st.integers(1, 250))
def test_is_a_stable_sort_cut_short(values, count):
    values = np.array(values, dtype=float)
    expected = sorted(range(len(values)), key=lambda i: (-values[i], i))
    assert largest(values, count).tolist() == expected[:count]
    assert largest(values).tolist() == expected


@given(st.lists(st.floats(0, 1), min_size=1, max_size=300), st.integers(1, 400))
def test_samples(worth, count):
    places, chances = evenly(np.array(worth), count)
    assert len(places) == min(count, len(worth))
    assert (np.diff(places) > 0).all()
    assert ((chances > 0) & (chances <= 1)).all()
    if count >= len(worth):
        assert places.tolist() == list(range(len(worth)))
        assert (chances == 1).all()


@given(seeds, st.integers(50, 400))
def test_a_sample_stands_for_all(seed, count):
    """The sum of what it stands for is that of all, within one part in so many as are drawn."""
    worth = np.sort(np.random.default_rng(seed).beta(0.05, 1.0, 5000))[::-1]
    places, chances = evenly(worth, count)
    assert (worth[places] / chances).sum() == pytest.approx(worth.sum(), rel=3 / count)
    drawn = worth[places][chances < 1] / chances[chances < 1]
    np.testing.assert_allclose(drawn, drawn[:1].repeat(len(drawn)))


@pytest.mark.parametrize("base_rate", [None, "learn"])
def test_one_order_for_results_thresholds_and_exports(base_rate):
    rng = np.random.default_rng(0)
    search = Search(rng.standard_normal((200, 4)), base_rate=base_rate, seed=0)
    search.query(relevant=[3], irrelevant=[9, 40])
    search.answer({5: True, 7: False})
    ranking = search.ranking()
    assert isinstance(ranking, Ranking)
    assert len(ranking) == 200
    assert ranking.rows.tolist() == largest(search.model.mean).tolist()
    results = search.results(17)
    assert results.ids.tolist() == ranking.rows[:17].tolist()
    np.testing.assert_array_equal(results.means, search.model.mean[results.ids])
    np.testing.assert_array_equal(results.probabilities, ranking.probabilities[:17])
    assert ranking.probabilities.sum() == pytest.approx(search.model.probabilities().sum())
    for threshold in (0.0, 0.3, 0.9, 1.1):
        above = ranking.above(threshold)
        assert above == (ranking.probabilities >= threshold).sum()
        if base_rate is not None:  # and no image that is not taken has more than one that is
            assert (ranking.probabilities[:above] >= threshold).all()
            assert (ranking.probabilities[above:] < threshold).all()


def test_it_is_sorted_anew_after_every_change():
    search = Search(np.random.default_rng(0).standard_normal((50, 4)), seed=0)
    search.query(relevant=[3])
    first = search.ranking()
    assert search.ranking() is first
    search.answer({int(first.rows[1]): False})
    assert search.ranking().rows.tolist() != first.rows.tolist()
    search.undo()
    np.testing.assert_array_equal(search.ranking().rows, first.rows)
