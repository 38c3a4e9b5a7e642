"""Pictures that show the same thing, as one in the API."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from making import draw
from PIL import Image
from serving import API, answers, finished

from ital.collection import index
from ital.server import Server, ServerSettings, create_app
from ital.server.database import Database, sqlite_url
from ital.server.served import Served


@pytest.fixture
def folder(tmp_path) -> Path:
    """Six pictures, and three copies of the first."""
    place = tmp_path / "pictures"
    for number in range(6):
        draw(place / f"{number}.png", number, (320, 240))
    copies(place, 0, (90, 80, 70))
    index(place)
    return place


def copies(place: Path, number: int, qualities) -> None:
    with Image.open(place / f"{number}.png") as image:
        for quality in qualities:
            image.save(place / f"{number}-{quality}.jpg", quality=quality)


@pytest.fixture
def serve(folder, tmp_path):
    """A client, with stacks or without."""

    def make(stacks=True):
        database = Database(sqlite_url(tmp_path / "searches.sqlite"))
        server = Server(ServerSettings(), [Served(folder, stacks=stacks)], database)
        return TestClient(create_app(server), base_url="http://localhost")

    return make


def begin(client, relevant: str) -> tuple[dict, dict[str, int]]:
    """A search, and the pictures by their names."""
    (one,) = client.get(f"{API}/collections").json()
    page = client.get(f"{API}/collections/{one['id']}/pictures").json()
    named = {picture["name"]: picture["id"] for picture in page["pictures"]}
    body = {"collection": one["id"], "relevant": [named[relevant]], "settings": {"batch": 8}}
    return client.post(f"{API}/searches", json=body).json(), named


def results(client, state, what="results") -> dict:
    return client.get(f"{API}/searches/{state['id']}/{what}").json()


def say(client, state, picture: int, answer: str, **options) -> dict:
    body = answers(state, **{f"p{picture}": answer}) | options
    return client.post(f"{API}/searches/{state['id']}/answers", json=body).json()


def test_one_question_and_one_tile_for_a_stack(serve):
    with serve() as client:
        state, named = begin(client, "5.png")
        asked = [picture["name"] for picture in state["batch"]]
        assert len(asked) == 5  # one of the stack, and those that are like no other
        assert sorted(picture["stack"] for picture in state["batch"]) == [1, 1, 1, 1, 4]
        page = results(client, state)
        assert page["total"] == len(page["results"]) == 6
        assert [one["rank"] for one in page["results"]] == list(range(1, 7))
        opened = results(client, state, f"stacks/{named['0-80.jpg']}")
        assert opened["total"] == 4
        assert {one["name"] for one in opened["results"]} == {
            "0.png",
            "0-70.jpg",
            "0-80.jpg",
            "0-90.jpg",
        }
        means = [one["mean"] for one in opened["results"]]
        assert means == sorted(means, reverse=True)
        assert results(client, state, f"stacks/{named['3.png']}")["total"] == 1
        assert client.get(f"{API}/searches/{state['id']}/stacks/99").status_code == 404


def test_an_answer_is_for_the_stack_until_a_picture_gets_its_own(serve):
    with serve() as client:
        state, named = begin(client, "5.png")
        state = say(client, state, named["0.png"], "yes")
        assert not any(picture["name"].startswith("0") for picture in state["batch"])

        def said():
            opened = results(client, state, f"stacks/{named['0.png']}")
            return {one["name"]: one["label"] for one in opened["results"]}

        assert set(said().values()) == {"yes"}
        state = say(client, state, named["0-70.jpg"], "no", alone=True)
        assert said() == {"0.png": "yes", "0-80.jpg": "yes", "0-90.jpg": "yes", "0-70.jpg": "no"}
        # What is said next of any of them is of the whole stack again, in one step, and no
        # further picture gets a label.
        before = state
        state = say(client, state, named["0-90.jpg"], "unsure")
        assert set(said().values()) == {"unsure"}
        rounds = results(client, state, "history")["rounds"]
        assert {one["name"] for one in rounds[-1]["labels"]} == {"0.png", "0-70.jpg"}
        body = {"revision": state["revision"], "key": "back"}
        state = client.post(f"{API}/searches/{state['id']}/undo", json=body).json()
        assert said()["0-70.jpg"] == "no"
        assert [state[name] for name in ("relevant", "irrelevant")] == [
            before[name] for name in ("relevant", "irrelevant")
        ]


def test_pictures_of_one_stack_at_once_are_each_for_themselves(serve):
    with serve() as client:
        state, named = begin(client, "5.png")
        body = answers(state, **{f"p{named['0.png']}": "yes", f"p{named['0-70.jpg']}": "no"})
        client.post(f"{API}/searches/{state['id']}/answers", json=body)
        opened = results(client, state, f"stacks/{named['0.png']}")
        labels = {one["name"]: one["label"] for one in opened["results"]}
        assert (labels["0.png"], labels["0-70.jpg"]) == ("yes", "no")


def test_thresholds_tell_how_many_results_they_leave(serve):
    with serve() as client:
        state, named = begin(client, "5.png")
        state = say(client, state, named["0.png"], "yes")
        table = results(client, state, "thresholds")["thresholds"]
        assert (table[0]["count"], table[0]["stacks"]) == (9, 6)
        for one in table[::10]:
            url = f"{API}/searches/{state['id']}/results"
            page = client.get(url, params={"threshold": one["probability"]}).json()
            assert page["total"] == one["stacks"]


def test_stacks_are_taken_away_whole_or_their_best(serve):
    with serve() as client:
        state, named = begin(client, "0-80.jpg")
        state = say(client, state, named["3.png"], "no")

        def taken(**options):
            url = f"{API}/searches/{state['id']}/export"
            text = client.get(url, params={"top": 1, **options}).text
            return [row["path"] for row in csv.DictReader(io.StringIO(text))]

        assert len(taken()) == 1
        assert len(taken(stacks="whole")) == 4
        assert len(taken(top=2, stacks="whole")) == 5  # the second is like no other
        assert len(taken(top=5, stacks="best")) == 5
        labels = client.get(f"{API}/searches/{state['id']}/export", params={"stacks": "whole"}).text
        assert labels.count(",yes,") == 4


def test_without_stacks_all_pictures_are_by_themselves(serve):
    with serve(stacks=False) as client:
        state, _ = begin(client, "5.png")
        assert len(state["batch"]) == 8
        assert {picture["stack"] for picture in state["batch"]} == {1}
        assert results(client, state)["total"] == 9


def test_stacks_change_with_the_collection(serve, folder):
    with serve() as client:
        state, _ = begin(client, "5.png")
        copies(folder, 2, (90,))
        url = f"{API}/collections/{state['collection']}"
        client.post(f"{url}/index")
        finished(client, url)
        assert results(client, state)["total"] == 6
        again, _ = begin(client, "5.png")
        assert sorted(picture["stack"] for picture in again["batch"]) == [1, 1, 1, 2, 4]
