"""Searches from the browser to the library, and back."""

from __future__ import annotations

import json

import pytest
from making import draw
from serving import API, post

from ital import Collection, UserModel, insight
from ital.answers import Answer


@pytest.fixture
def begun(client, search):
    """A search with two rounds, the second not only of answers to questions."""
    asked = [one["id"] for one in search["batch"]]
    state = post(client, search, "answers", answers={str(one): "no" for one in asked[:3]})
    more = {str(state["batch"][0]["id"]): "yes", "3": "unsure"}
    return post(client, state, "answers", answers=more)


def file_of(client, state):
    response = client.get(f"{API}/searches/{state['id']}/file")
    assert response.status_code == 200, response.text
    return response


def opened(client, collection, content, **options):
    url = f"{API}/collections/{collection}/searches"
    return client.post(url, content=content, params=options)


def test_from_the_browser_to_the_library(client, begun, indexed, tmp_path):
    """Labels, their order, how it came to them and the way back are the same."""
    response = file_of(client, begun)
    assert response.headers["content-disposition"].endswith("filename*=utf-8''One.json")
    (tmp_path / "one.json").write_bytes(response.content)
    mine = Collection.open(indexed).load_search(tmp_path / "one.json")
    results = client.get(f"{API}/searches/{begun['id']}/results").json()["results"]
    assert [one["id"] for one in results] == mine.results().ids.tolist()
    chances = [one["probability"] for one in results]
    assert chances == pytest.approx(mine.results().probabilities.tolist(), rel=1e-9)
    batch = insight.likeliest_first(mine, mine.suggest(4))
    assert batch.tolist() == [one["id"] for one in begun["batch"]]
    first, second = mine.events[1:]
    assert {how.strategy for how in first.asked.values()} == {"context"}
    assert all(0 < how.probability < 1 for how in first.asked.values())
    assert [how.strategy for how in second.asked.values()] == ["context", None]
    mine.undo()
    assert sorted(mine.labels.values()) == [False, False, False, True]


def test_from_the_library_to_the_browser(client, collection, indexed, tmp_path):
    own = Collection.open(indexed)
    mine = own.search(strategy="border", user=UserModel(0.9, 0.1), seed=2**60 + 1)
    mine.query(relevant=[5, own.embed(draw(tmp_path / "x.png", 99))])
    mine.answer({int(one): one % 2 == 0 for one in mine.suggest(3)})
    mine.answer({7: None})
    response = opened(client, collection, mine.to_json(), name="From a file")
    assert response.status_code == 201, response.text
    state = response.json()
    assert (state["name"], state["rounds"]) == ("From a file", 2)
    assert state["settings"]["strategy"] == "border"
    assert state["settings"]["user"] == {"p_label": 0.9, "p_mistake": 0.1, "learn": False}
    assert state["settings"]["length_scale"] is None
    results = client.get(f"{API}/searches/{state['id']}/results").json()["results"]
    assert [one["id"] for one in results] == mine.results().ids.tolist()
    history = client.get(f"{API}/searches/{state['id']}/history").json()["rounds"]
    assert [one["kind"] for one in history] == ["query", "answer", "answer"]
    # Of the example from outside there is what the model saw, and no picture.
    (upload,) = [one["upload"] for one in history[0]["labels"] if one["upload"]]
    url = f"{API}/collections/{collection}/uploads/{upload}/thumbnail"
    assert client.get(url).status_code == 404
    # And so back: the same labels by the same way, the example included.
    again = json.loads(file_of(client, state).content)
    assert again["events"] == json.loads(mine.to_json())["events"]
    undone = post(client, state, "undo")
    assert json.loads(file_of(client, undone).content)["events"] == again["events"][:2]


def test_examples_from_outside_are_known_again(client, collection, tmp_path):
    picture = draw(tmp_path / "x.png", 99).read_bytes()
    url = f"{API}/collections/{collection}/uploads"
    upload = client.post(url, content=picture).json()["id"]
    body = {"collection": collection, "uploads": [upload]}
    state = client.post(f"{API}/searches", json=body).json()
    copy = opened(client, collection, file_of(client, state).content).json()
    assert copy["cover_upload"] == upload
    assert copy["name"] == "Search 2"


def test_a_file_is_opened_once_for_each_key(client, collection, begun):
    content = file_of(client, begun).content
    first, again = (opened(client, collection, content, key="k").json()["id"] for _ in range(2))
    assert first == again
    other = opened(client, collection, content, key="k", name="Another")
    assert other.status_code == 400
    assert "key k was used for another change" in other.json()["detail"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda content: b"nonsense", "must be a saved search"),
        (lambda content: content.replace(b'"version": 1', b'"version": 9'), "of version 1"),
        (lambda content: content.replace(b'"noise": 1e-06', b'"noise": 0.1'), "noise must be"),
        (lambda content: content.replace(b'"seed": ', b'"seed": -'), "seed"),
        (lambda content: content.replace(b"[3, 1]", b"[4711, 1]"), "no picture 4711"),
        (lambda content: content.replace(b"[3, 1]", b"[%d, 1]" % 10**30), f"no picture {10**30}"),
        (lambda content: content.replace(b"[3, 1]", b"[3, 0]"), "at least one picture"),
        (lambda content: content.replace(b'"parameters": {', b'"parameters": {"x": 1, '), "take"),
    ],
)
def test_files_that_cannot_be_opened(client, collection, search, change, words):
    response = opened(client, collection, change(file_of(client, search).content))
    assert response.status_code in (400, 404)
    assert words in response.json()["detail"]
    assert len(client.get(f"{API}/searches").json()) == 1


def test_what_the_browser_has_no_place_for_is_refused(client, collection, indexed):
    mine = Collection.open(indexed).search(strategy=("ital", {"posterior": "exact"}))
    mine.query(relevant=[1])
    response = opened(client, collection, mine.to_json())
    assert response.status_code == 400
    assert "strategy must have the parameters that it has by itself" in response.json()["detail"]


def test_a_file_may_not_be_of_any_size(make_client, indexed):
    with make_client(indexed, upload_bytes=100) as client:
        (one,) = client.get(f"{API}/collections").json()
        assert opened(client, one["id"], b"x" * 101).status_code == 413


def test_an_answer_is_kept_when_nothing_is_in_memory(client, server, search):
    """How it came to it is not known then."""
    server.searches.memory.forget(search["id"])
    image = search["batch"][0]["id"]
    state = post(client, search, "answers", answers={str(image): "yes"})
    event = json.loads(file_of(client, state).content)["events"][1]
    assert event["labels"] == [[image, Answer.YES.number]]
    assert event["asked"] == []
