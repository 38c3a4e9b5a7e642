"""Many answers at once: acknowledged when they are on disk, and learnt after that."""

from __future__ import annotations

import pytest
from serving import API, answers, change, counted, post

from ital import insight

MANY = {str(picture): "no" if picture % 2 else "yes" for picture in range(5, 35)}


@pytest.fixture
def marked(client, search, server):
    """The state that is acknowledged, while nobody can have learnt anything."""
    with server.searches.memory.open(search["id"]):
        return post(client, search, "answers", answers=MANY)


def get(client, state, what=""):
    return client.get(f"{API}/searches/{state['id']}{what}").json()


def test_they_are_acknowledged_before_they_are_learnt(client, search, marked):
    assert marked["learning"]
    assert (marked["revision"], marked["rounds"]) == (2, 1)
    assert (marked["relevant"], marked["irrelevant"]) == (16, 15)
    assert marked["can_undo"]
    assert (marked["batch"], marked["progress"], marked["outlook"]) == ([], [], None)


def test_whoever_asks_gets_what_was_learnt(client, marked):
    results = get(client, marked, "/results")
    assert results["revision"] == marked["revision"]
    labels = {str(one["id"]): one["label"] for one in results["results"] if one["label"]}
    assert labels == {"3": "yes"} | MANY
    state = get(client, marked)
    assert not state["learning"]
    assert len(state["batch"]) == 4
    # What is said of a round is noted, whenever it is learnt.
    assert [one["round"] for one in state["progress"]] == [1]
    (asked, *_) = state["batch"]
    after = counted(client, post(client, state, "answers", answers={asked["id"]: "no"}))
    assert after["progress"][0] == state["progress"][0]
    assert len(after["progress"]) == 2


def test_they_are_one_step_of_undo_and_redo(client, search, server, marked):
    with server.searches.memory.open(search["id"]):
        undone = post(client, marked, "undo")
    assert undone["learning"]
    assert (undone["relevant"], undone["irrelevant"], undone["can_undo"]) == (1, 0, False)
    state = get(client, undone)
    assert [one["id"] for one in state["batch"]] == [one["id"] for one in search["batch"]]
    again = post(client, state, "redo")
    assert again["learning"]
    assert (again["relevant"], again["irrelevant"]) == (16, 15)
    assert len(get(client, again, "/history")["rounds"]) == 2


def test_a_repeated_request_is_applied_once(client, search, marked):
    again = post(client, search, "answers", answers=MANY)
    assert again["revision"] == marked["revision"]
    assert not again["learning"]


def test_another_change_finds_the_search_moved_on(client, search, marked):
    address = f"{API}/searches/{search['id']}/answers"
    response = client.post(address, json=answers(search, p4="yes") | {"key": "other"})
    assert response.status_code == 409
    assert response.json()["state"]["revision"] == marked["revision"]
    assert not response.json()["state"]["learning"]


def test_few_answers_are_learnt_before_they_are_acknowledged(client, search):
    few = dict(list(MANY.items())[:24])
    assert not post(client, search, "answers", answers=few)["learning"]


def test_the_next_questions_do_not_wait_for_where_the_search_stands(client, search, monkeypatch):
    def count(search):
        raise AssertionError("it takes longer than the questions")

    with monkeypatch.context() as patch:
        patch.setattr(insight, "relevant", count)
        patch.setattr(insight, "outlook", count)
        state = post(client, search, "answers", answers={"7": "no"})
    assert (state["counted"], state["progress"], state["outlook"]) == (False, [], None)
    assert "is being counted" in state["summary"]
    whole = counted(client, state)
    assert (whole["counted"], len(whole["progress"])) == (True, 1)
    assert "match" in whole["summary"]
    assert whole["batch"] == state["batch"] != search["batch"]
    # What was noted of a round stays, and is there at once after the next.
    after = post(client, whole, "answers", answers={"8": "no"})
    assert after["progress"] == whole["progress"]


def test_many_that_are_refused_change_nothing(client, search):
    address = f"{API}/searches/{search['id']}/answers"
    response = client.post(address, json=change(search, answers=MANY | {"4711": "no"}))
    assert response.status_code == 404
    assert get(client, search)["revision"] == search["revision"]
