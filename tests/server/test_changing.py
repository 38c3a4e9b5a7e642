"""Collections that change while searches go on over them."""

from __future__ import annotations

import gc
import shutil
import weakref
from pathlib import Path

import numpy as np
import pytest
from making import draw
from serving import API, change, counted, finished, post, run_ital

import ital
from ital.collection import index
from ital.server import Server, ServerSettings, views
from ital.server.arrangement import Arrangement
from ital.server.database import Database, EventRow
from ital.server.served import Served


@pytest.fixture
def folder(tmp_path, few_indexed) -> Path:
    return few_indexed(tmp_path / "pictures", 8)


def collection(client) -> dict:
    (one,) = client.get(f"{API}/collections").json()
    return one


def begin(client, *relevant: int, **more) -> dict:
    body = {"collection": collection(client)["id"], "relevant": relevant, **more}
    response = client.post(f"{API}/searches", json=body)
    assert response.status_code == 201, response.text
    return response.json()


def reindex(client) -> dict:
    url = f"{API}/collections/{collection(client)['id']}"
    client.post(f"{url}/index")
    return finished(client, url)


def results(client, state) -> list[dict]:
    return client.get(f"{API}/searches/{state['id']}/results").json()["results"]


def test_a_collection_that_is_made_anew_is_another(folder, make_client):
    """Its identifiers begin again, and mean other pictures."""
    with make_client(folder, index=True) as client:
        first, search = collection(client), begin(client, 1)
    shutil.rmtree(folder / ".ital")
    draw(folder / "0-before.png", 99)
    with make_client(folder, index=True) as client:
        again = collection(client)
        assert again["id"] != first["id"]
        assert client.get(f"{API}/searches", params={"collection": again["id"]}).json() == []
        assert client.get(f"{API}/searches/{search['id']}").status_code == 404


def test_what_another_process_indexed(folder, make_client):
    with make_client(folder, index=True) as client:
        before = collection(client)
        draw(folder / "more.png", 50)
        assert run_ital("index", folder)[0] == 0
        after = reindex(client)
        assert after["pictures"] == before["pictures"] + 1
        assert after["version"] != before["version"]
        assert reindex(client)["version"] == after["version"]  # nothing has changed


def test_a_version_that_was_tidied_away(folder, make_client):
    """What is served stays what it was, until it is read anew."""
    with make_client(folder, index=True) as client:
        (served,) = client.app.state.server.served.values()
        draw(folder / "more.png", 50)
        index(folder)
        # As when the files of the version that is open are no longer there.
        served.collection.source.table._table.checkout_latest()
        thumbnail = f"{API}/collections/{served.id}/pictures/1/thumbnail"
        assert client.get(thumbnail).status_code == 200
        assert reindex(client)["pictures"] == 9


def test_a_collection_is_made_anew_while_it_is_served(folder, make_client):
    with make_client(folder, index=True) as client:
        search = begin(client, 1)
        before = results(client, search)
        shutil.rmtree(folder / ".ital")
        draw(folder / "0-before.png", 99)
        info = reindex(client)
        assert "made anew" in info["indexing"]["error"]
        assert info["pictures"] == 8
        assert results(client, search) == before


def test_copies_of_a_collection_are_not_served_together(folder, tmp_path):
    index(folder)
    shutil.copytree(folder, tmp_path / "copy")
    database = Database("sqlite://")
    served = [Served(folder), Served(tmp_path / "copy")]
    with pytest.raises(ValueError, match="the same collection"):
        Server(ServerSettings(), served, database)
    database.close()


def test_the_indexer_ends_whatever_happens(folder, make_client, monkeypatch):
    def fail(*arguments, **options):
        raise RuntimeError("lance is not well")

    with make_client(folder, index=True) as client:
        with monkeypatch.context() as patch:
            patch.setattr("ital.server.served.Collection.open", fail)
            assert reindex(client)["indexing"]["error"] == "lance is not well"
        assert reindex(client)["indexing"]["error"] is None


def test_all_pictures_leave(folder, make_client):
    with make_client(folder, index=True) as client:
        search = begin(client, 1)
        for path in folder.glob("*.png"):
            path.unlink()
        (folder / "note.txt").touch()
        info = reindex(client)
        assert info["pictures"] == 0
        url = f"{API}/collections/{info['id']}"
        assert client.get(f"{url}/pictures/1/thumbnail").status_code == 404
        # What cannot be carried out leaves nothing behind.
        of_search = f"{API}/searches/{search['id']}"
        assert client.post(f"{of_search}/duplicate").status_code == 404
        assert client.post(f"{of_search}/undo", json=change(search)).status_code == 404
        assert [one["revision"] for one in client.get(f"{API}/searches").json()] == [1]


def test_a_picture_leaves_that_was_asked_about(folder, make_client):
    """Answers about the others count; that about it is kept in the history."""
    with make_client(folder, index=True) as client:
        search = begin(client, 1)
        asked = [one["id"] for one in search["batch"]]
        gone = folder / search["batch"][0]["name"]
        kept = gone.read_bytes()
        gone.unlink()
        reindex(client)
        state = post(client, search, "answers", answers=dict.fromkeys(asked, "no"))
        assert state["irrelevant"] == len(asked)
        listed = {one["id"]: one["label"] for one in results(client, state)}
        assert asked[0] not in listed
        assert all(listed[one] == "no" for one in asked[1:])
        (_, last) = client.get(f"{API}/searches/{state['id']}/history").json()["rounds"]
        said = {one["id"]: (one["label"], one["name"]) for one in last["labels"]}
        assert said[asked[0]] == ("no", "a picture that has gone")
        # When the file returns, it is a picture of its own.
        gone.write_bytes(kept)
        reindex(client)
        labels = {one["name"]: one["label"] for one in results(client, state)}
        assert labels[gone.name] is None
        never = {"answers": {"4711": "yes"}}
        url = f"{API}/searches/{search['id']}"
        assert client.post(f"{url}/answers", json=change(state, **never)).status_code == 404
        assert client.get(url).json()["revision"] == state["revision"]


def test_a_search_is_over_one_state_of_its_collection(folder, make_client):
    """However the collection changes while it is looked at."""
    with make_client(folder, index=True) as client:
        search = begin(client, 8)
        server = client.app.state.server
        with server.searches.memory.open(search["id"]) as opened:
            names = [one.name for one in views.results(opened, 0, 8, Arrangement()).results]
            (folder / "0.png").unlink()
            index(folder)
            (served,) = server.served.values()
            served.reopen()
            assert [one.name for one in views.results(opened, 0, 8, Arrangement()).results] == names
        assert "0.png" not in [one["name"] for one in results(client, search)]


def test_what_was_searched_before_leaves_memory(folder, make_client):
    with make_client(folder, index=True) as client:
        server = client.app.state.server
        (served,) = server.served.values()
        pools = []
        for number in range(3):
            begin(client, 1)
            pools.append(weakref.ref(served.collection.pool))
            draw(folder / f"more-{number}.png", 60 + number)
            reindex(client)
        begin(client, 1)
        gc.collect()
        assert [pool() for pool in pools] == [None] * 3
        assert len(server.searches.memory) == 1


def test_thumbnails_change_with_their_pictures(folder, make_client):
    path = "pictures/1/thumbnail"
    with make_client(folder, index=True) as client:
        first = client.get(f"{API}/collections/{collection(client)['id']}/{path}")
    draw(folder / "0.png", 77)
    with make_client(folder, index=True) as client:
        url = f"{API}/collections/{collection(client)['id']}/{path}"
        headers = {"If-None-Match": first.headers["etag"]}
        second = client.get(url, headers=headers)
        assert second.status_code == 200
        assert second.content != first.content
        tag = second.headers["etag"]
        for known in (tag, f'"other", W/{tag}', "*"):
            assert client.get(url, headers={"If-None-Match": known}).status_code == 304


def test_an_upload_that_cannot_be_compared_any_more(folder, make_client, tmp_path):
    """The search goes on without it."""
    outside = draw(tmp_path / "outside.png", 3).read_bytes()
    with make_client(folder, index=True) as client:
        url = f"{API}/collections/{collection(client)['id']}/uploads"
        upload = client.post(url, content=outside).json()["id"]
        both, only = (begin(client, *ids, uploads=[upload]) for ids in ((1,), ()))
        assert only["cover"] is None
        assert only["cover_upload"] == upload
    index(folder, dimension=3)
    with make_client(folder) as client:
        state = post(client, both, "answers", answers={"2": "no"})
        assert (state["rounds"], state["relevant"]) == (1, 2)
        assert len(results(client, both)) == 8
        orphan = client.get(f"{API}/searches/{only['id']}").json()
        assert orphan["batch"] == []
        assert "have gone" in orphan["summary"]
        assert len(results(client, orphan)) == 8
        url = f"{API}/searches/{only['id']}"
        assert client.get(f"{url}/explanation/1").json()["influences"] == []
        assert client.get(f"{url}/export").status_code == 400
        stale = change({"revision": 0}, answers={"2": "no"})
        assert client.post(f"{url}/answers", json=stale).status_code == 409


def test_uploads_leave_with_the_last_search_of_them(folder, make_client, tmp_path):
    outside = draw(tmp_path / "outside.png", 3).read_bytes()
    with make_client(folder, index=True) as client:
        url = f"{API}/collections/{collection(client)['id']}/uploads"
        upload = client.post(url, content=outside).json()["id"]
        searches = [begin(client, uploads=[upload]) for _ in range(2)]
        for search, status in zip(searches, (200, 404), strict=True):
            assert client.delete(f"{API}/searches/{search['id']}").status_code == 204
            assert client.get(f"{url}/{upload}/thumbnail").status_code == status


def test_the_length_scale_goes_back_to_the_median(folder, make_client):
    with make_client(folder, index=True) as client:
        search = begin(client, 1)
        first = [one["mean"] for one in results(client, search)]
        narrow = post_settings(client, search, {"length_scale": 0.1})
        assert [one["mean"] for one in results(client, search)] != pytest.approx(first)
        post_settings(client, narrow, {})
        assert [one["mean"] for one in results(client, search)] == pytest.approx(first)


def post_settings(client, state, settings) -> dict:
    url = f"{API}/searches/{state['id']}/settings"
    response = client.put(url, json=change(state, settings=settings))
    assert response.status_code == 200, response.text
    return response.json()


class TestProgress:
    """How many pictures match does not depend on what is in memory."""

    said = ({"2": "no", "3": "unsure"}, {"4": "yes", "5": "unsure"}, {"6": "no", "7": "unsure"})

    def run(self, client, forget: bool, learn: bool) -> list[dict]:
        state = begin(client, 1, settings={"user": {"learn": learn}})
        for answers in self.said:
            if forget:
                client.app.state.server.searches.memory.forget(state["id"])
            state = counted(client, post(client, state, "answers", answers=answers))
        return state["progress"]

    def test_it_is_the_same(self, folder, make_client):
        with make_client(folder, index=True) as client:
            held, forgotten, learnt = (
                self.run(client, *how) for how in ((False, False), (True, False), (False, True))
            )
            assert len(held) == 3
            for other in (forgotten, learnt):
                for one, another in zip(held, other, strict=True):
                    assert one == pytest.approx(another)
            # By the definition, from the library.
            search = ital.Collection.open(folder).search()
            search.query(relevant=[1])
            search.answer({2: False, 3: None})
            search.answer({4: True, 5: None})
            search.answer({6: False, 7: None})
            expected = search.model.told().sum()
            assert held[-1]["relevant"] == pytest.approx(expected)
            drawn = search.census().relevant(len(search))
            ends = [held[-1]["low"], held[-1]["high"]]
            assert ends == pytest.approx(np.quantile(drawn, [0.1, 0.9]))

    def test_it_follows_the_settings(self, folder, make_client):
        with make_client(folder, index=True) as client:
            state = begin(client, 1)
            state = post(client, state, "answers", answers={"2": "no", "3": "yes", "4": "yes"})
            state = counted(client, state)
            wide = counted(client, post_settings(client, state, {"length_scale": 0.08}))
            search = ital.Collection.open(folder).search(length_scale=0.08)
            search.query(relevant=[1])
            search.answer({2: False, 3: True, 4: True})
            relevant = search.model.told().sum()
            assert wide["progress"][-1]["relevant"] == pytest.approx(relevant)
            assert state["progress"][-1]["relevant"] != pytest.approx(relevant)

    def test_what_an_older_version_noted_is_still_shown(self, folder, make_client):
        """It knew of no intervals, and of figures that there are no more."""
        noted = {"relevant": 3.5, "certainty": 0.9, "change": 0.2}
        with make_client(folder, index=True) as client:
            state = begin(client, 1)
            state = post(client, state, "answers", answers={"2": "no"})
            with client.app.state.server.database.writing() as session:
                session.get(EventRow, (state["id"], 2)).insight = noted
            state = counted(client, post(client, state, "answers", answers={"3": "yes"}))
            before, now = state["progress"]
            assert before == {"round": 1, "relevant": 3.5, "low": None, "high": None}
            assert now["low"] <= now["relevant"] <= now["high"]
