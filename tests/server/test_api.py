"""The API as its users see it, with a real collection and a real database."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile

import numpy as np
import pytest
from making import draw
from PIL import Image
from serving import API, answers, change, counted, finished, post

import ital
from ital import insight
from ital.collection.store import Store
from ital.engine import ClusterError


class TestCollections:
    def test_what_there_is(self, client, collection):
        info = client.get(f"{API}/collections/{collection}").json()
        assert info["name"] == "pictures"
        assert info["pictures"] == 40
        assert info["can_embed"]
        assert info["indexing"]["running"] is False
        assert client.get(f"{API}/collections/{collection}/skipped").json() == []
        assert client.get(f"{API}/collections/none").status_code == 404

    def test_windows(self, client, collection):
        url = f"{API}/collections/{collection}/pictures"
        page = client.get(url, params={"offset": 38, "limit": 10}).json()
        assert page == {
            "total": 40,
            "offset": 38,
            "pictures": [
                {"id": 39, "name": "38.png", "stack": 1},
                {"id": 40, "name": "39.png", "stack": 1},
            ],
        }
        assert client.get(url, params={"offset": 100}).json()["pictures"] == []
        for wrong in ({"limit": 0}, {"limit": 1001}, {"offset": -1}):
            assert client.get(url, params=wrong).status_code == 422

    def test_pictures(self, client, collection, indexed):
        url = f"{API}/collections/{collection}/pictures/4"
        small = client.get(f"{url}/thumbnail")
        assert small.headers["content-type"] == "image/jpeg"
        assert "max-age" in small.headers["cache-control"]
        again = client.get(f"{url}/thumbnail", headers={"If-None-Match": small.headers["etag"]})
        assert again.status_code == 304
        assert again.content == b""
        content = (indexed / "03.png").read_bytes()
        view = client.get(f"{url}/view")
        assert view.content == content
        assert view.headers["content-type"] == "image/png"
        original = client.get(f"{url}/original")
        assert original.content == content
        assert "attachment" in original.headers["content-disposition"]
        part = client.get(f"{url}/original", headers={"Range": "bytes=10-19"})
        assert part.status_code == 206
        assert part.content == content[10:20]
        for missing in ("0", "999", "9007199254740992"):
            for what in ("thumbnail", "view", "original"):
                url = f"{API}/collections/{collection}/pictures/{missing}/{what}"
                assert client.get(url).status_code == 404

    def test_what_browsers_cannot_show_is_converted(self, tmp_path, make_client):
        folder = tmp_path / "pictures"
        draw(folder / "a.tiff", 0)
        draw(folder / "b.png", 1)
        with make_client(folder, index=True) as client:
            (info,) = client.get(f"{API}/collections").json()
            view = client.get(f"{API}/collections/{info['id']}/pictures/1/view")
            assert view.headers["content-type"] == "image/jpeg"
            with Image.open(io.BytesIO(view.content)) as image:
                assert image.size == (48, 32)
            (folder / "b.png").unlink()
            gone = client.get(f"{API}/collections/{info['id']}/pictures/2/view")
            assert gone.status_code == 404

    def test_indexing_in_the_background(self, tmp_path, make_client):
        folder = tmp_path / "pictures"
        draw(folder / "a.png", 0)
        (folder / "broken.jpg").write_bytes(b"no picture")
        with make_client(folder) as client:
            (info,) = client.get(f"{API}/collections").json()
            assert info["pictures"] == 0
            url = f"{API}/collections/{info['id']}"
            assert client.get(f"{url}/pictures").json()["total"] == 0
            body = {"collection": info["id"], "relevant": [1]}
            assert client.post(f"{API}/searches", json=body).status_code == 404
            assert client.post(f"{url}/index").status_code == 202
            info = finished(client, url)
            assert info["pictures"] == 1
            assert info["skipped"] == 1
            assert client.get(f"{url}/skipped").json() == [
                {"path": "broken.jpg", "reason": "not a picture of a known format"}
            ]
            state = client.post(f"{API}/searches", json=body).json()
            assert state["batch"] == []
            # Searches go on over what has come since.
            draw(folder / "b.png", 1)
            client.post(f"{url}/index")
            assert finished(client, url)["version"] != info["version"]
            state = client.get(f"{API}/searches/{state['id']}").json()
            assert [one["name"] for one in state["batch"]] == ["b.png"]

    def test_a_folder_that_cannot_be_indexed(self, tmp_path, make_client):
        folder = tmp_path / "pictures"
        draw(folder / "a.png", 0)
        with make_client(folder) as client, Store.find(folder).locked():
            (info,) = client.get(f"{API}/collections").json()
            client.post(f"{API}/collections/{info['id']}/index")
            info = finished(client, f"{API}/collections/{info['id']}")
            assert "another process" in info["indexing"]["error"]

    def test_a_place_that_is_taken(self, tmp_path, make_client):
        (tmp_path / "pictures" / ".ital").mkdir(parents=True)
        (tmp_path / "pictures" / ".ital" / "diary.txt").touch()
        with pytest.raises(ValueError, match="diary"), make_client(tmp_path / "pictures"):
            pass


class TestSearches:
    def test_the_same_as_the_library(self, client, search, server, collection):
        """Batch for batch and result for result."""
        pool = server.served[collection].collection.pool
        with server.database.reading() as session:
            from ital.server.database import SearchRow

            seed = session.get(SearchRow, search["id"]).seed
        mine = ital.Search(pool, seed=seed)
        mine.query(relevant=[3])
        state = search
        for number in range(4):
            batch = insight.likeliest_first(mine, mine.suggest(4))
            assert [one["id"] for one in state["batch"]] == batch.tolist()
            said = {one["id"]: one["id"] % 2 == 0 for one in state["batch"]}
            words = {str(one): "yes" if yes else "no" for one, yes in said.items()}
            if number == 2:  # one that cannot be said
                first = next(iter(said))
                said[first], words[str(first)] = None, "unsure"
            state = post(client, state, "answers", answers=words)
            mine.answer(said)
            page = client.get(f"{API}/searches/{state['id']}/results?limit=40").json()
            wanted = mine.results()
            assert [one["id"] for one in page["results"]] == wanted.ids.tolist()
            np.testing.assert_allclose([one["mean"] for one in page["results"]], wanted.means)
            assert page["revision"] == state["revision"]
        labels = {one["id"]: one["label"] for one in page["results"] if one["label"]}
        words = {True: "yes", False: "no", None: "unsure"}
        assert labels == {one: words[label] for one, label in mine.labels.items()}
        assert state["rounds"] == 4
        state = counted(client, state)
        assert "match" in state["summary"]
        assert [one["round"] for one in state["progress"]] == [4]

    def test_from_several_pictures(self, client, collection):
        body = {"collection": collection, "relevant": [1, 2], "irrelevant": [9]}
        state = client.post(f"{API}/searches", json=body).json()
        assert (state["relevant"], state["irrelevant"], state["cover"]) == (2, 1, 1)
        assert state["name"] == "Search 1"
        assert not {1, 2, 9} & {one["id"] for one in state["batch"]}

    @pytest.mark.parametrize(
        ("body", "status", "words"),
        [
            ({}, 400, "at least one picture"),
            ({"relevant": [999]}, 404, "no picture 999"),
            ({"relevant": [1], "irrelevant": [1]}, 400, "relevant and irrelevant"),
            ({"uploads": ["none"]}, 404, "no uploaded picture"),
            ({"relevant": [1], "settings": {"strategy": "odd"}}, 400, "strategy must be one of"),
            ({"relevant": [1], "settings": {"batch": 0}}, 422, "batch"),
            ({"relevant": [-1]}, 422, "relevant"),
            ({"relevant": ["x"]}, 422, "relevant"),
            ({"relevant": [1], "more": 1}, 422, "more"),
            ({"relevant": [True]}, 422, "relevant 0: Input should be a valid integer"),
            ({"relevant": ["1"]}, 422, "relevant 0: Input should be a valid integer"),
            ({"irrelevant": [1.0]}, 422, "irrelevant 0: Input should be a valid integer"),
            ({"relevant": [1], "settings": {"batch": True}}, 422, "settings batch"),
            ({"relevant": [1], "settings": {"batch": 4.0}}, 422, "settings batch"),
            ({"relevant": [1], "settings": {"length_scale": "1"}}, 422, "settings length_scale"),
            ({"relevant": [1], "settings": {"user": {"p_label": True}}}, 422, "user p_label"),
            ({"relevant": [1], "settings": {"user": {"learn": 1}}}, 422, "user learn"),
            ({"relevant": [1], "name": 1}, 422, "name"),
            ({"relevant": [1], "name": " \n\u3000"}, 422, "name: String should have at least 1"),
        ],
    )
    def test_bad_beginnings(self, client, collection, body, status, words):
        response = client.post(f"{API}/searches", json={"collection": collection, **body})
        assert response.status_code == status
        assert words in response.json()["detail"]
        assert client.get(f"{API}/searches").json() == []

    @pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", None, "x"])
    def test_bodies_that_are_not_said_to_be_json(self, client, search, collection, kind):
        headers = {} if kind is None else {"Content-Type": kind}
        body = json.dumps({"collection": collection, "relevant": [1]})
        for method, path in (
            ("POST", "searches"),
            ("PATCH", f"searches/{search['id']}"),
            ("POST", f"searches/{search['id']}/duplicate"),
            ("POST", f"searches/{search['id']}/answers"),
            ("PUT", f"searches/{search['id']}/settings"),
        ):
            response = client.request(method, f"{API}/{path}", content=body, headers=headers)
            assert response.status_code == 415
            assert response.json()["detail"] == (
                f"Content-Type must be application/json, got {kind or 'none'}"
            )
        assert len(client.get(f"{API}/searches").json()) == 1
        plain = client.post(
            f"{API}/searches",
            content=body,
            headers={"Content-Type": "application/json; charset=utf-8"},
        )
        assert plain.status_code == 201
        # What is said of nothing does not matter.
        url = f"{API}/searches/{search['id']}/duplicate"
        assert client.post(url, headers=headers).status_code == 201
        assert "Field required" in client.post(f"{API}/searches", headers=headers).json()["detail"]

    def test_a_repeated_request_is_applied_once(self, client, search):
        body = answers(search, **{f"p{search['batch'][0]['id']}": "yes"})
        url = f"{API}/searches/{search['id']}/answers"
        first, second = (client.post(url, json=body).json() for _ in range(2))
        assert first == second
        assert first["rounds"] == 1

    def test_one_picture_stays_a_yes_or_a_no(self, client, search):
        """Without any there would be nothing to search for."""
        url = f"{API}/searches/{search['id']}"
        refused = client.post(f"{url}/answers", json=answers(search, p3="unsure"))
        assert refused.status_code == 400
        assert "must stay a yes or a no" in refused.json()["detail"]
        assert client.get(url).json() == search
        state = client.post(f"{url}/answers", json=answers(search, p3="unsure", p4="no")).json()
        assert (state["relevant"], state["irrelevant"]) == (0, 1)

    def test_an_old_revision_is_refused_with_the_current_state(self, client, search):
        post(client, search, "answers", answers={"7": "no"})
        body = {"revision": search["revision"], "key": "other", "answers": {"8": "yes"}}
        response = client.post(f"{API}/searches/{search['id']}/answers", json=body)
        assert response.status_code == 409
        state = response.json()["state"]
        assert state["revision"] == search["revision"] + 1
        assert state == client.get(f"{API}/searches/{search['id']}").json()

    def test_undo_redo_and_relabel(self, client, search):
        one = post(client, search, "answers", answers={"7": "no", "8": "yes"})
        two = post(client, one, "answers", answers={"7": "yes"})
        assert (two["relevant"], two["irrelevant"]) == (3, 0)
        back = post(client, two, "undo")
        assert (back["relevant"], back["irrelevant"], back["can_redo"]) == (2, 1, True)
        assert [p["id"] for p in back["batch"]] == [p["id"] for p in one["batch"]]
        again = post(client, back, "redo")
        assert (again["relevant"], again["can_redo"]) == (3, False)
        assert [p["id"] for p in again["batch"]] == [p["id"] for p in two["batch"]]
        start = post(client, post(client, again, "undo"), "undo")
        assert not start["can_undo"]
        response = client.post(f"{API}/searches/{start['id']}/undo", json=change(start))
        assert response.status_code == 400
        history = client.get(f"{API}/searches/{start['id']}/history").json()
        assert [r["undone"] for r in history["rounds"]] == [False, True, True]
        # Something new takes the place of what was undone.
        new = post(client, start, "answers", answers={"9": "no"})
        assert not new["can_redo"]
        history = client.get(f"{API}/searches/{start['id']}/history").json()
        assert [one["labels"] for one in history["rounds"]] == [
            [{"id": 3, "name": "02.png", "upload": None, "label": "yes"}],
            [{"id": 9, "name": "08.png", "upload": None, "label": "no"}],
        ]
        assert client.post(f"{API}/searches/{new['id']}/redo", json=change(new)).status_code == 400

    def test_settings(self, client, search):
        settings = {"batch": 2, "strategy": "random", "length_scale": 0.5}
        url = f"{API}/searches/{search['id']}/settings"
        state = client.put(url, json=change(search, settings=settings)).json()
        assert len(state["batch"]) == 2
        assert state["settings"]["strategy"] == "random"
        learn = {"batch": 3, "user": {"learn": True}}
        state = client.put(url, json=change(state, settings=learn)).json()
        state = post(client, state, "answers", answers={"7": "unsure", "8": "yes"})
        state = post(client, state, "answers", answers={"8": "no"})
        assert len(state["batch"]) == 3

    def test_names_copies_and_deletion(self, client, search):
        state = post(client, search, "answers", answers={"7": "no"})
        url = f"{API}/searches/{search['id']}"
        assert client.patch(url, json={"name": "<b>Two</b>"}).json()["name"] == "<b>Two</b>"
        assert client.patch(url, json={"name": ""}).status_code == 422
        copy = client.post(f"{url}/duplicate").json()
        assert copy["id"] != search["id"]
        assert copy["name"] == "<b>Two</b> (copy)"
        assert [p["id"] for p in copy["batch"]] == [p["id"] for p in state["batch"]]
        post(client, copy, "undo")
        assert client.get(url).json()["rounds"] == 1
        assert {one["id"] for one in client.get(f"{API}/searches").json()} == {
            search["id"],
            copy["id"],
        }
        assert client.delete(url).status_code == 204
        assert client.get(url).status_code == 404
        assert client.delete(url).status_code == 404
        assert [one["id"] for one in client.get(f"{API}/searches").json()] == [copy["id"]]

    @pytest.mark.parametrize(
        "name",
        [
            *("two\nlines", "a\rb", "a\tb", "a\u2028b", "a\x85b", "nul\0", "\x1b[31mred", "\x7f"),
            *("right\u202eleft", "a\u2066b", "a\u200eb", "a\u200fb", "a\u061cb"),
            *("zero\u200bwidth", "\ufeffmark", "\u2060", "soft\u00adhyphen", "\u200d", "\u200c"),
        ],
    )
    def test_names_that_are_not_what_they_seem(self, client, collection, search, name):
        body = {"collection": collection, "relevant": [1], "name": name}
        url = f"{API}/searches/{search['id']}"
        for response in (
            client.post(f"{API}/searches", json=body),
            client.patch(url, json={"name": name}),
        ):
            assert response.status_code == 422
            assert "no line breaks" in response.json()["detail"]
        assert [one["name"] for one in client.get(f"{API}/searches").json()] == ["One"]

    @pytest.mark.parametrize(
        ("name", "kept"),
        [
            ("  two words \n", "two words"),
            ("\u3000\u00a0日本\u00a0語\t", "日本\u00a0語"),
            ("👩\u200d👧 ❤️", "👩\u200d👧 ❤️"),
            ("क्\u200cष", "क्\u200cष"),
            (f" {'x' * 200} ", "x" * 200),
        ],
    )
    def test_names_in_all_languages(self, client, collection, search, name, kept):
        body = {"collection": collection, "relevant": [1], "name": name}
        assert client.post(f"{API}/searches", json=body).json()["name"] == kept
        url = f"{API}/searches/{search['id']}"
        assert client.patch(url, json={"name": name}).json()["name"] == kept

    @pytest.mark.parametrize("key", ["7.0", " 7", "+7", "07", "7_0", "-7", "true", ""])
    def test_keys_that_are_no_pictures(self, client, search, key):
        """Two of them could mean the same picture."""
        url = f"{API}/searches/{search['id']}"
        said = change(search, answers={key: "yes"})
        assert client.post(f"{url}/answers", json=said).status_code == 422
        assert client.get(url).json()["revision"] == search["revision"]

    @pytest.mark.parametrize("revision", [True, 1.0, "1"])
    def test_revisions_are_whole_numbers(self, client, search, revision):
        said = {"revision": revision, "key": "k", "answers": {"7": "no"}}
        url = f"{API}/searches/{search['id']}"
        for what, body in (("answers", said), ("undo", {"revision": revision, "key": "k"})):
            assert client.post(f"{url}/{what}", json=body).status_code == 422

    def test_thresholds(self, client, search):
        state = post(client, search, "answers", answers={"7": "no", "8": "yes"})
        url = f"{API}/searches/{state['id']}"
        table = client.get(f"{url}/thresholds").json()
        points = table["thresholds"]
        assert [one["probability"] for one in points] == [step / 100 for step in range(101)]
        page = client.get(f"{url}/results?limit=1000").json()
        chances = [one["probability"] for one in page["results"]]
        assert chances == sorted(chances, reverse=True)
        for one in points:
            assert one["count"] == sum(chance >= one["probability"] for chance in chances)
            for name in ("precision", "recall"):
                part = one[name]
                assert 0 <= part["low"] <= part["value"] <= part["high"] <= 1
        apart = {
            one["probability"]: one["precision"]["value"] - one["recall"]["value"] for one in points
        }
        assert abs(apart[table["balanced"]]) == min(map(abs, apart.values()))
        # An export holds the pictures that were counted.
        (point,) = [one for one in points if one["probability"] == table["balanced"]]
        alike = [one["probability"] for one in points if one["count"] == point["count"]]
        assert table["balanced"] == alike[len(alike) // 2]
        options = {"format": "json", "threshold": table["balanced"]}
        found = json.loads(client.get(f"{url}/export", params=options).text)["pictures"]
        assert [one["id"] for one in found] == [
            one["id"] for one in page["results"][: point["count"]]
        ]

    def test_nothing_is_told_before_the_first_answer(self, client, search):
        """Nor by an answer that says nothing."""
        unsure = post(client, search, "answers", answers={"7": "unsure"})
        for state in (search, counted(client, unsure)):
            assert (state["progress"], state["outlook"]) == ([], None)
            assert "So far only likeness to what you began with is known" in state["summary"]
            assert not re.search(r"\d", state["summary"])
        state = counted(client, post(client, unsure, "answers", answers={"7": "no"}))
        (now,) = state["progress"]
        assert now["low"] <= now["relevant"] <= now["high"]
        assert 0 <= state["outlook"] <= 1
        low, high = round(now["low"]), round(now["high"])
        assert f"match, between {low} and {high}; the next round will" in state["summary"]

    def test_explanations(self, client, search):
        state = post(client, search, "answers", answers={"7": "no", "8": "yes", "9": "unsure"})
        url = f"{API}/searches/{state['id']}"
        why = client.get(f"{url}/explanation/20").json()
        chances = {
            one["id"]: one["probability"] for one in client.get(f"{url}/results").json()["results"]
        }
        for one, chance in chances.items():
            assert client.get(f"{url}/explanation/{one}").json()["probability"] == chance
        assert {one["id"] for one in why["influences"]} == {3, 7, 8}
        shares = [one["share"] for one in why["influences"]]
        assert sum(abs(share) for share in shares) == pytest.approx(1)
        assert [abs(share) for share in shares] == sorted(map(abs, shares), reverse=True)
        url = f"{API}/searches/{state['id']}/explanation/999"
        assert client.get(url).status_code == 404

    def test_export(self, client, search, indexed):
        state = post(client, search, "answers", answers={"7": "no", "8": "yes"})
        url = f"{API}/searches/{state['id']}/export"
        table = client.get(url, params={"top": 5})
        assert "attachment" in table.headers["content-disposition"]
        rows = list(csv.DictReader(io.StringIO(table.text)))
        page = client.get(f"{API}/searches/{state['id']}/results?limit=5").json()["results"]
        assert [int(row["id"]) for row in rows] == [one["id"] for one in page]
        likely = json.loads(client.get(url, params={"format": "json", "threshold": 0.6}).text)
        assert all(one["probability"] >= 0.6 for one in likely["pictures"])
        lines = client.get(url, params={"format": "paths", "top": 2}).text.splitlines()
        assert lines == [str(indexed / one["name"]) for one in page[:2]]
        packed = client.get(url, params={"format": "zip", "top": 3})
        with zipfile.ZipFile(io.BytesIO(packed.content)) as archive:
            assert archive.testzip() is None
            names = archive.namelist()
            assert names[-1] == "results.csv"
            for name, one in zip(names[:3], page[:3], strict=True):
                assert archive.read(name) == (indexed / one["name"]).read_bytes()
        assert client.get(url, params={"format": "exe"}).status_code == 422

    def test_strategies(self, client):
        found = {one["name"]: one["description"] for one in client.get(f"{API}/strategies").json()}
        assert sorted(found) == ital.strategies.names()
        assert all(found.values())


class TestUploads:
    def test_a_picture_from_outside(self, client, collection, indexed):
        content = (indexed / "05.png").read_bytes()
        upload = client.post(f"{API}/collections/{collection}/uploads", content=content).json()
        url = f"{API}/collections/{collection}/uploads/{upload['id']}/thumbnail"
        assert client.get(url).headers["content-type"] == "image/jpeg"
        body = {"collection": collection, "uploads": [upload["id"]]}
        state = client.post(f"{API}/searches", json=body).json()
        assert state["cover"] is None
        page = client.get(f"{API}/searches/{state['id']}/results?limit=1").json()
        assert page["results"][0]["id"] == 6
        state = post(client, state, "answers", answers={"9": "no"})
        history = client.get(f"{API}/searches/{state['id']}/history").json()
        assert history["rounds"][0]["labels"][0]["upload"] == upload["id"]
        why = client.get(f"{API}/searches/{state['id']}/explanation/6").json()
        assert why["influences"][0]["upload"] == upload["id"]

    def test_bad_uploads(self, client, collection):
        url = f"{API}/collections/{collection}/uploads"
        for content in (b"", b"nonsense", b"\x89PNG\r\n\x1a\n"):
            response = client.post(url, content=content)
            assert response.status_code == 415
            assert "no picture" in response.json()["detail"]
        assert client.get(f"{url}/none/thumbnail").status_code == 404


def test_health_and_metrics(client, search):
    post(client, search, "answers", answers={"7": "no"})
    assert client.get("/healthz").json() == {"status": "ok"}
    text = client.get("/metrics").text
    assert 'name="pictures"} 40.0' in text
    assert "ital_searches_in_memory 1.0" in text
    assert "ital_round_seconds_count" in text


def test_the_least_recently_used_leave_memory(server, client, collection):
    """And come back as they were."""
    states = []
    for picture in range(1, 6):
        body = {"collection": collection, "relevant": [picture]}
        state = client.post(f"{API}/searches", json=body).json()
        states.append(counted(client, post(client, state, "answers", answers={"20": "no"})))
    assert len(server.searches.memory) == 5
    server.searches.memory.budget = 1
    for state in states:
        again = client.get(f"{API}/searches/{state['id']}").json()
        (now,), (then,) = again.pop("progress"), state.pop("progress")
        assert now == pytest.approx(then)
        assert again == state | {"outlook": pytest.approx(state["outlook"])}
    assert len(server.searches.memory) == 1


def test_searches_that_there_are_not_take_no_room(server, client, search):
    before = len(server.searches.memory)
    for number in range(20):
        assert client.get(f"{API}/searches/none-{number}").status_code == 404
    assert len(server.searches.memory) == before
    client.delete(f"{API}/searches/{search['id']}")
    assert "ital_searches_in_memory 0.0" in client.get("/metrics").text


def test_only_rounds_are_timed(client, search):
    def rounds() -> float:
        lines = client.get("/metrics").text.splitlines()
        (line,) = [line for line in lines if line.startswith("ital_round_seconds_count")]
        return float(line.split()[-1])

    before = rounds()
    stale = change({"revision": 0}, answers={"7": "no"})
    assert client.post(f"{API}/searches/{search['id']}/answers", json=stale).status_code == 409
    assert rounds() == before
    post(client, search, "answers", answers={"7": "no"})
    assert rounds() == before + 1


def test_new_searches_have_names_of_their_own(client, collection):
    body = {"collection": collection, "relevant": [3]}
    first, second = (client.post(f"{API}/searches", json=body).json() for _ in range(2))
    assert (first["name"], second["name"]) == ("Search 1", "Search 2")
    client.delete(f"{API}/searches/{first['id']}")
    assert client.post(f"{API}/searches", json=body).json()["name"] == "Search 1"


def test_a_cluster_that_is_gone(client, collection, search, server, monkeypatch):
    """It is said, and nothing that was said is lost. Another has to take the embeddings."""

    def gone(*_):
        raise ClusterError("shard 1 of 2 died 5 times in a row: of hunger")

    before = server.served[collection].current
    monkeypatch.setattr(ital.Search, "replay", gone)
    monkeypatch.setattr(before.pool, "vectors", gone)
    url = f"{API}/searches/{search['id']}"
    said = answers(search, p7="yes")
    for response in (client.post(f"{url}/answers", json=said), client.get(url)):
        assert response.status_code == 503
        assert response.json()["detail"].startswith("shard 1 of 2 died 5 times in a row: of hunger")
    monkeypatch.undo()
    response = client.post(f"{url}/answers", json=said)
    assert response.status_code == 200, response.text
    assert response.json()["relevant"] == 2
    assert server.served[collection].current is not before
