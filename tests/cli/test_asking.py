from __future__ import annotations

import numpy as np
import pytest

from ital import Answer, Search, insight
from ital.cli.asking import Asking

FEATURES = np.random.default_rng(0).normal(size=(12, 4))


def begun() -> tuple[Search, list[int], Asking]:
    search, saved = Search(FEATURES, seed=0), []
    search.query(relevant=[3])
    return search, saved, Asking(search, 3, lambda: saved.append(len(search.labels)))


def test_rounds_are_those_of_a_search_that_is_answered_at_once():
    search, saved, asking = begun()
    other = Search(FEATURES, seed=0)
    other.query(relevant=[3])
    for _ in range(2):
        batch = insight.likeliest_first(other, other.suggest(3))
        other.answer({int(one): FEATURES[one, 0] > 0 for one in batch})
        for number, one in enumerate(batch, start=1):
            assert asking.question == one
            assert asking.number == (number, 3)
            assert asking.answer(Answer.of(FEATURES[one, 0] > 0)) == (number == 3)
    for one, its in zip(search.events, other.events, strict=True):
        assert (one.kind, one.labels, list(one.asked)) == (its.kind, its.labels, list(its.asked))
        for image, how in one.asked.items():
            assert how.strategy == its.asked[image].strategy
            assert how.probability == pytest.approx(its.asked[image].probability)
    assert saved == list(range(2, 8)), "each answer is saved at once"


def test_the_way_back_leads_through_all_answers():
    search, saved, asking = begun()
    asked = []
    for number in range(5):
        asked.append((asking.question, search.labels))
        asking.answer(list(Answer)[number % 3])
    for question, labels in reversed(asked):
        assert asking.undo()
        assert (asking.question, search.labels) == (question, labels)
    assert not asking.undo()
    assert saved == [2, 3, 4, 5, 6, 5, 4, 3, 2, 1]
    # And it goes on from there.
    assert not asking.answer(Answer.NO)
    assert search.labels[asked[0][0]] is False


def test_to_the_last_picture():
    search, _, asking = begun()
    while asking.question is not None:
        asking.answer(Answer.NO)
    assert len(search.labels) == 12
    assert asking.undo()
    assert asking.question is not None
