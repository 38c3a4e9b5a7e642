from __future__ import annotations

import numpy as np
import pytest

from ital.history import Asked, Event, History, joined, outside


def said(*rounds: dict[int, int], query: dict[int, int] | None = None) -> History:
    first = Event("query", query or {0: 1})
    return History([first, *(Event("answer", labels) for labels in rounds)])


def test_labels_are_the_latest_in_the_order_in_which_images_came_to_have_one():
    history = said({3: -1, 4: 0}, {5: 1, 3: 1}, {4: 1, 5: 0})
    assert history.labels == {0: 1, 3: 1, 4: 1, 5: 0}
    assert list(history.labels) == [0, 3, 5, 4]


def test_examples_are_what_nobody_asked_about():
    history = said({3: 1, 0: -1}, query={0: 1, 7: -1})
    assert history.examples == {7}
    assert said({0: 1}).examples == {0}
    assert said({0: 0}).examples == set()


def test_names_of_vectors_from_outside():
    assert [outside(number) for number in range(3)] == [-1, -2, -3]
    vectors = {-1: np.zeros(2)}
    history = History([Event("query", {-1: 1}, vectors)])
    assert history.next_name({}) == -2
    assert history.next_name({-2: np.ones(2)}) == -3
    assert history.vectors.keys() == {-1}
    later = History([Event("query", {-5: 1}, {-5: np.zeros(2)})])
    assert later.next_name({}) == -6
    assert History().next_name({}) == -1


def test_answers_one_by_one_are_a_round():
    how = Asked("border", 0.25)
    one, other = Event("answer", {3: 1}, asked={3: how}), Event("answer", {4: 0, 3: -1})
    assert joined([one, other]) == Event("answer", {3: -1, 4: 0}, asked={3: how})


class TestUser:
    """As if eight more questions had been answered, all of them rightly."""

    def test_nothing_is_known(self):
        assert (History().user().p_label, History().user().p_mistake) == (1.0, 0.0)

    def test_skips(self):
        user = said({1: 1, 2: 0, 3: 0, 4: -1}).user()
        assert user.p_label == pytest.approx(10 / 12)
        assert user.p_mistake == 0

    def test_corrections_and_contradictions(self):
        history = said({1: 1, 2: -1}, {1: -1})
        assert history.user().p_mistake == pytest.approx(1 / 11)
        assert history.user(contradictions=1).p_mistake == pytest.approx(2 / 11)
        assert history.user(contradictions=100).p_mistake == 0.5
