from __future__ import annotations

import numpy as np
import pytest

import ital
from ital import Search, strategies
from ital.engine import ThreadEngine
from ital.groups import Groups
from ital.pool import Pool

BURST = 30


def pictures(seed=0):
    """Ten pictures of each of two kinds, and a burst of 30 more of the first kind, shuffled."""
    rng = np.random.default_rng(seed)
    kinds = rng.standard_normal((2, 6)) * 2
    alone = np.concatenate([kind + rng.standard_normal((10, 6)) * 0.5 for kind in kinds])
    burst = kinds[0] + 0.6 + rng.standard_normal((BURST, 6)) * 0.01
    order = rng.permutation(20 + BURST)
    features = np.concatenate([alone, burst])[order]
    return features, np.flatnonzero(order >= 20), np.flatnonzero(order < 10)


@pytest.mark.parametrize("strategy", strategies.names())
def test_a_burst_costs_one_question(strategy):
    features, burst, first = pictures()
    search = Search(features, strategy, seed=1, groups=[burst.tolist()])
    search.query(relevant=[int(first[0])])
    asked: list[int] = []
    while len(search.candidates):
        batch = search.suggest(min(3, search.strategy.largest_batch or 3)).tolist()
        asked += batch
        search.answer({one: one in burst or one in first for one in batch})
    assert len(asked) == len(set(asked)) == 20  # the others, and one of the burst
    assert len(set(asked) & set(burst.tolist())) == 1
    assert search.answers.keys() == set(range(len(features)))
    assert all(search.answers[int(one)] is True for one in burst)
    assert len(search.labels) == 21
    with pytest.raises(RuntimeError, match="no image left"):
        search.suggest(1)


def test_an_answer_of_its_own_is_for_one_image_alone():
    features, burst, first = pictures()
    one, two, three = burst[:3].tolist()
    search = Search(features, seed=1, groups=[burst])
    search.query(relevant=[int(first[0])])
    search.answer({two: True})
    assert search.answers[one] is search.answers[three] is True
    assert one not in search.labels
    search.answer({one: False})
    assert (search.answers[one], search.answers[two], search.answers[three]) == (False, True, True)
    search.undo()
    assert search.answers[one] is True
    search.undo()
    assert one not in search.answers
    assert burst[0] in search.candidates[:]
    search.answer({three: None})
    assert search.answers[one] is None
    assert not set(burst.tolist()) & set(search.candidates[:].tolist())


def test_without_groups_nothing_changes():
    features, _burst, first = pictures()
    plain, alone = Search(features, seed=1), Search(features, seed=1, groups=np.arange(50))
    for search in (plain, alone):
        search.query(relevant=[int(first[0])])
    for _ in range(3):
        batch = plain.suggest(4)
        assert batch.tolist() == alone.suggest(4).tolist()
        for search in (plain, alone):
            search.answer({int(one): one in first for one in batch})
    assert plain.answers == plain.labels == alone.answers


def test_names_of_images_and_shards_and_saved_searches(tmp_path):
    features, burst, first = pictures()
    ids = np.arange(50) * 3 + 7
    pool = Pool(features, ids, "kind", engine=ThreadEngine())
    groups = [ids[burst].tolist()]
    search = Search(pool, seed=1, groups=groups)
    search.query(relevant=[int(ids[first[0]])])
    search.answer({int(ids[burst[4]]): True})
    assert all(search.answers[int(one)] is True for one in ids[burst])
    assert not np.isin(search.suggest(8), ids[burst]).any()
    search.save(tmp_path / "search.json")
    again = Search.load(tmp_path / "search.json", pool, groups=groups)
    assert again.answers == search.answers
    assert again.suggest(8).tolist() == search.suggest(8).tolist()
    assert ital.Search.load(tmp_path / "search.json", pool).answers == search.labels


def test_numbers_and_lists_say_the_same():
    pool = Pool(np.random.default_rng(0).standard_normal((6, 2)))
    numbers = Groups.of(np.array([4, 9, 4, 1, 9, 4]), pool)
    lists = Groups.of([[5, 0, 2], [1, 4], []], pool)
    assert numbers.first.tolist() == lists.first.tolist() == [0, 1, 0, 3, 1, 0]
    assert numbers.members(2).tolist() == lists.members(5).tolist() == [0, 2, 5]
    assert lists.members(3).tolist() == [3]
    assert lists.known(np.array([4])).tolist() == [1, 2, 4, 5]
    assert lists.best(np.array([5, 4, 0, 3, 1])).tolist() == [0, 1, 3]
    assert Groups.of(lists, pool) is lists


@pytest.mark.parametrize(
    ("groups", "error", "words"),
    [
        (np.zeros(4, int), ValueError, "6 whole numbers"),
        (np.zeros(6), ValueError, "6 whole numbers"),
        ("abc", TypeError, "lists of images"),
        (3, TypeError, "lists of images"),
        ([1, 2], TypeError, "got 1 among them"),
        ([[1, 7]], IndexError, "groups must be an index from 0 to 5, got 7"),
        ([[1, 2], [2, 3]], ValueError, "got 2 twice"),
        (Groups(np.arange(5)), ValueError, "6 whole numbers"),
    ],
)
def test_groups_that_are_none_are_refused(groups, error, words):
    with pytest.raises(error, match=words):
        Search(np.eye(6), groups=groups)
