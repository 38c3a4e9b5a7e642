"""Searches that begin with words, over HTTP."""

from __future__ import annotations

import shutil

import pytest
from networks import means
from serving import API, change, post

from ital.collection import describe, index


@pytest.fixture
def folder(shapes, tmp_path):
    """The drawings, to do with as a test likes."""
    return shutil.copytree(shapes, tmp_path / "drawings")


def begin(client, status=201, **more):
    (one,) = client.get(f"{API}/collections").json()
    response = client.post(f"{API}/searches", json={"collection": one["id"], **more})
    assert response.status_code == status, response.text
    return response.json()


def kinds(client, state, count=20) -> list[str]:
    url = f"{API}/searches/{state['id']}/results?limit={count}"
    return [one["name"].rpartition(" ")[0] for one in client.get(url).json()["results"]]


def answered(client, state, wanted="red circle") -> dict:
    said = {
        str(one["id"]): "yes" if one["name"].startswith(wanted) else "no" for one in state["batch"]
    }
    return post(client, state, "answers", answers=said)


def test_words_find_what_they_say(shapes, make_client):
    with make_client(shapes) as client:
        (collection,) = client.get(f"{API}/collections").json()
        assert collection["knows_words"]
        state = begin(client, text="  Red circle, not square ")
        assert (state["text"], state["name"]) == ("Red circle, not square",) * 2
        assert (state["relevant"], state["cover"], state["can_undo"]) == (0, None, False)
        assert state["text_problem"] is None
        assert len(state["batch"]) == 4
        assert "only likeness to what you began with is known" in state["summary"]
        assert kinds(client, state).count("red circle") >= 19
        named = begin(client, text="blue", name="My blue ones", relevant=[1])
        assert (named["name"], named["relevant"]) == ("My blue ones", 1)
        assert begin(client, text="a" * 300)["name"] == "a" * 200
        listed = client.get(f"{API}/searches").json()
        assert [one["text"] for one in listed] == ["a" * 300, "blue", "Red circle, not square"]


def test_words_outlast_undo_copies_and_restarts(shapes, make_client):
    with make_client(shapes) as client:
        state = begin(client, text="red circle", key="once")
        again = begin(client, text="red circle", key="once")
        assert again["id"] == state["id"]
        assert begin(client, 400, text="red", key="once")["detail"].startswith("key once was used")
        before = kinds(client, state, 100)
        told = answered(client, state, "blue square")
        assert kinds(client, told, 100) != before
        undone = post(client, told, "undo")
        assert kinds(client, undone, 100) == before
        copy = client.post(f"{API}/searches/{state['id']}/duplicate").json()
        assert (copy["text"], kinds(client, copy, 100)) == ("red circle", before)
        redone = post(client, undone, "redo")
        after = kinds(client, redone, 100)
        audit = client.post(
            f"{API}/searches/{state['id']}/audit", json=change(redone, threshold=0.1, batch=3)
        )
        assert audit.status_code == 201, audit.text
    with make_client(shapes) as client:
        again = client.get(f"{API}/searches/{state['id']}").json()
        assert again["text"] == "red circle"
        assert kinds(client, again, 100) == after
        found = client.get(f"{API}/searches/{state['id']}/audit").json()
        assert found["batch"] == audit.json()["batch"]
        assert found["taken"] == audit.json()["taken"]


def test_nothing_need_be_known_of_any_picture(shapes, make_client):
    """Words are something to go by even where all pictures were skipped."""
    with make_client(shapes) as client:
        state = begin(client, text="red circle")
        before = kinds(client, state)
        said = {str(one["id"]): "unsure" for one in state["batch"]}
        state = post(client, state, "answers", answers=said)
        assert kinds(client, state) == before
        assert len(state["batch"]) == 4


def test_why_a_picture_is_where_it_is(shapes, make_client):
    with make_client(shapes) as client:
        state = begin(client, text="red circle")
        url = f"{API}/searches/{state['id']}"
        ranked = client.get(f"{url}/results?limit=1000").json()["results"]

        def why(place):
            return client.get(f"{url}/explanation/{ranked[place]['id']}").json()

        assert (why(0)["words"], why(0)["influences"]) == (1, [])
        assert why(-1)["words"] == -1
        answered(client, state)
        told = why(0)
        shares = [one["share"] for one in told["influences"]]
        assert len(shares) == 4
        assert 0 < told["words"] < 1
        assert sum(map(abs, [*shares, told["words"]])) == pytest.approx(1)
        other = begin(client, relevant=[3])
        assert client.get(f"{API}/searches/{other['id']}/explanation/3").json()["words"] is None


def test_what_is_refused_leaves_nothing(client, shapes, make_client):
    (collection,) = client.get(f"{API}/collections").json()
    assert not collection["knows_words"]
    detail = begin(client, 400, text="red circle")["detail"]
    assert detail.startswith("text needs a model that knows words, but lite0 does not")
    assert "see ital models" in detail
    with make_client(shapes) as client:
        detail = begin(client, 400, text=", ,")["detail"]
        assert detail == "text must be 1 to 16 phrases, got 0"
        detail = begin(client, 400)["detail"]
        assert detail == "a search needs words or at least one picture to begin with"
        for text in ("", "  ", "line\nbreak", "a" * 1001, ["red"]):
            assert "text" in begin(client, 422, text=text)["detail"]
        assert client.get(f"{API}/searches").json() == []


def test_words_that_another_model_does_not_know(folder, towers, tmp_path, make_client):
    """Nothing that was said is lost, and the words count again when their model is back."""
    with make_client(folder) as client:
        fresh = begin(client, text="red circle")
        told = answered(client, begin(client, text="red circle"))
        before = kinds(client, told, 100)
    index(folder, model=describe(str(means(tmp_path / "m.onnx"))))
    with make_client(folder) as client:
        state = client.get(f"{API}/searches/{told['id']}").json()
        assert state["text_problem"].startswith("text needs a model that knows words")
        assert (state["text"], state["relevant"]) == ("red circle", told["relevant"])
        assert len(state["batch"]) == 4
        state = answered(client, state)
        post(client, state, "undo")
        state = client.get(f"{API}/searches/{fresh['id']}").json()
        assert state["summary"] == "The words that this search began with do not count any more."
        assert state["batch"] == []
    index(folder, model=describe(str(towers / "model.onnx")))  # it has its text model since before
    with make_client(folder) as client:
        state = client.get(f"{API}/searches/{told['id']}").json()
        assert state["text_problem"] is None
        assert kinds(client, state, 100) == before
