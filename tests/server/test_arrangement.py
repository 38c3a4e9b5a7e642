from __future__ import annotations

from datetime import UTC, date, datetime

import numpy as np
import pytest

from ital.collection import Collection
from ital.ranking import Ranking
from ital.server.arrangement import Arrangement

PATHS = ["b/2.jpg", "a/1.jpg", "b/c/3.jpg", "bc/4.jpg", "5.jpg"]
DAYS = ["2024-01-01", "2024-03-01", None, "2023-12-31", "2024-03-01"]


@pytest.fixture
def collection():
    one = Collection.from_arrays(np.eye(5), PATHS)
    moments = [
        -1 if day is None else int(datetime.fromisoformat(f"{day}T23:59:59Z").timestamp() * 1e9)
        for day in DAYS
    ]
    one.taken = np.array(moments)
    return one


RANKING = Ranking(
    np.array([4, 3, 2, 1, 0]), np.linspace(1, -1, 5), np.array([0.9, 0.8, 0.5, 0.5, 0.1])
)


def shown(collection, **asked):
    places = Arrangement(**asked).places(RANKING, collection)
    return [int(row) for row in RANKING.rows[places]]


def test_all_as_they_are(collection):
    assert shown(collection) == [4, 3, 2, 1, 0]


def test_those_above_a_threshold(collection):
    assert shown(collection, threshold=0.5) == [4, 3, 2, 1]
    assert shown(collection, threshold=1.0) == []


def test_by_name(collection):
    found = [PATHS[row] for row in shown(collection, sort="name")]
    assert found == sorted(PATHS)


def test_the_latest_first_and_of_equals_the_better(collection):
    assert shown(collection, sort="taken") == [4, 1, 0, 3, 2]


def test_a_folder_has_those_within_it_and_no_others_of_like_names(collection):
    assert shown(collection, folder="b") == [2, 0]
    assert shown(collection, folder="b/") == [2, 0]
    assert shown(collection, folder="b/c") == [2]
    assert shown(collection, folder="B") == []


def test_days_are_whole_and_what_has_none_is_left_out(collection):
    assert shown(collection, first=date(2024, 1, 1)) == [4, 1, 0]
    assert shown(collection, last=date(2024, 1, 1)) == [3, 0]
    assert shown(collection, first=date(2024, 1, 1), last=date(2024, 1, 1)) == [0]


def test_the_zone_is_that_of_the_camera():
    midnight = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()) * 10**9
    one = Collection.from_arrays(np.eye(2), ["a.jpg", "b.jpg"])
    one.taken = np.array([midnight - 1, midnight])
    ranking = Ranking(np.array([0, 1]), np.zeros(2), np.ones(2))
    assert Arrangement(first=date(2024, 1, 1)).places(ranking, one).tolist() == [1]
