from __future__ import annotations

import numpy as np
import pytest

from ital import Search
from ital.order import largest
from ital.ranking import Ranking


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
    assert ranking.probabilities.sum() == pytest.approx(search.model.told().sum())
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
