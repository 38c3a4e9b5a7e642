"""Collections that are in no folder, served from Python."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from fastapi.testclient import TestClient
from making import draw
from serving import API, post

from ital import Collection
from ital.server import Database, ServedCollection, Server, ServerSettings, create_app

COUNT = 30
KEYS = [f"task-{number}" for number in range(COUNT)]


@pytest.fixture
def serve(tmp_path):
    def make(collection, **options):
        database = Database(f"sqlite:///{tmp_path}/searches.sqlite")
        served = ServedCollection(collection, "Tasks", **options)
        server = Server(ServerSettings(), [served], database)
        return TestClient(create_app(server), base_url="http://localhost")

    return make


def features(count=COUNT):
    return np.random.default_rng(0).normal(size=(count, 6))


def test_arrays_are_searched_and_taken_away(serve, tmp_path):
    one = Collection.from_arrays(features(), ids=KEYS, name="tasks")
    with serve(one) as client:
        (info,) = client.get(f"{API}/collections").json()
        assert (info["name"], info["pictures"], info["can_embed"]) == ("Tasks", COUNT, False)
        listed = client.get(f"{API}/collections/{info['id']}/pictures").json()["pictures"]
        assert sorted(picture["name"] for picture in listed) == sorted(KEYS)
        body = {"collection": info["id"], "relevant": [one.by_key["task-3"]], "name": "Threes"}
        state = client.post(f"{API}/searches", json=body).json()
        said = {str(picture["id"]): "no" for picture in state["batch"]}
        state = post(client, state, "answers", answers=said)
        url = f"{API}/searches/{state['id']}"
        table = list(csv.DictReader(io.StringIO(client.get(f"{url}/export?top=3").text)))
        assert table[0]["key"] == "task-3"
        saved = client.get(f"{url}/file").content
    # Another day, with more of them: the search is there, and what was saved can be loaded.
    more = Collection.from_arrays(features(COUNT + 1), ids=[*KEYS, "new"], name="tasks")
    with serve(more) as client:
        again = client.get(url).json()
        assert (again["name"], again["rounds"]) == ("Threes", 1)
        assert client.get(f"{url}/results").json()["total"] == COUNT + 1
        assert (
            json.loads(client.get(f"{url}/file").content)["events"] == json.loads(saved)["events"]
        )


def test_what_arrays_have_not_is_said(serve):
    one = Collection.from_arrays(features())
    with serve(one) as client:
        (info,) = client.get(f"{API}/collections").json()
        url = f"{API}/collections/{info['id']}"
        body = {"collection": info["id"], "relevant": [3]}
        search = f"{API}/searches/{client.post(f'{API}/searches', json=body).json()['id']}"
        for method, address, status, words in (
            ("GET", f"{url}/pictures/3/thumbnail", 404, "picture 3 has no thumbnail and no file"),
            ("GET", f"{url}/pictures/3/view", 404, "picture 3 has no file"),
            ("GET", f"{url}/pictures/3/original", 404, "picture 3 has no file"),
            ("POST", f"{url}/index", 400, "in no folder that could be indexed"),
            ("POST", f"{url}/uploads", 400, "were described elsewhere"),
            ("GET", f"{search}/export?format=zip", 400, "the format zip needs files"),
        ):
            response = client.request(
                method, address, content=b"x" if "uploads" in address else None
            )
            assert response.status_code == status, response.text
            assert words in response.json()["detail"]
        assert len(client.get(f"{search}/export?format=json").json()["pictures"]) == COUNT


def test_arrays_with_files_show_their_pictures(serve, tmp_path):
    names = [f"{number}.png" for number in range(3)]
    for number, name in enumerate(names):
        draw(tmp_path / "in" / name, number)
    with serve(Collection.from_arrays(np.eye(3), names, root=tmp_path / "in")) as client:
        (info,) = client.get(f"{API}/collections").json()
        url = f"{API}/collections/{info['id']}/pictures/2"
        assert client.get(f"{url}/thumbnail").headers["content-type"] == "image/jpeg"
        assert client.get(f"{url}/original").content == (tmp_path / "in" / "1.png").read_bytes()


def test_unnamed_arrays_are_known_by_their_digits(serve):
    def identifier(array):
        with serve(Collection.from_arrays(array)) as client:
            return client.get(f"{API}/collections").json()[0]["id"]

    assert identifier(features()) == identifier(features())
    assert identifier(features()) != identifier(features()[::-1])


def test_results_are_listed_while_others_may_search(serve):
    """A search is locked until its results are cut, and not until they are written."""

    class Paths(list):
        locked = ()

        def __getitem__(self, place):
            self.locked = (*self.locked, slot.lock.locked())
            return super().__getitem__(place)

    one = Collection.from_arrays(features())
    with serve(one) as client:
        body = {"relevant": [3], "collection": client.get(f"{API}/collections").json()[0]["id"]}
        state = client.post(f"{API}/searches", json=body).json()
        slot = client.app.state.server.searches.memory._slots[state["id"]]
        one.paths = Paths(one.paths)
        client.get(f"{API}/searches/{state['id']}/export?top=5")
        assert one.paths.locked == (False,) * 5
        # Where a page of results is shown, it is looked at within.
        client.get(f"{API}/searches/{state['id']}/results?limit=2")
        assert one.paths.locked[5:] == (True,) * 2
