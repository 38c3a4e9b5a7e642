"""Audits over HTTP, with a real collection and a real database."""

from __future__ import annotations

import pytest
import sqlalchemy
from fastapi.testclient import TestClient
from making import draw
from serving import API, PICTURES, change, finished, post

import ital
from ital.server import Server, ServerSettings, create_app
from ital.server.database import AuditRow, Database
from ital.server.served import Served


def begin(client, state, **more) -> dict:
    body = change(state, **{"threshold": 0.1, "batch": 6, **more})
    response = client.post(f"{API}/searches/{state['id']}/audit", json=body)
    assert response.status_code == 201, response.text
    return response.json()


def look(client, search, audit, said="yes") -> dict:
    """Answer all pictures that an audit shows."""
    state = {"id": search["id"], "revision": audit["revision"]}
    return post(client, state, "audit/answers", answers={p["id"]: said for p in audit["batch"]})


@pytest.fixture
def told(client, search) -> dict:
    """A search with a round of answers."""
    asked = [one["id"] for one in search["batch"]]
    said = {one: "yes" if place % 2 else "no" for place, one in enumerate(asked)}
    return post(client, search, "answers", answers=said)


def test_an_audit_from_begin_to_end(client, told):
    url = f"{API}/searches/{told['id']}"
    assert client.get(f"{url}/audit").status_code == 404
    audit = begin(client, told)
    assert client.get(f"{url}/audit").json() == audit
    assert audit["revision"] == told["revision"] + 1
    assert (audit["answers"], audit["threshold"], audit["level"]) == (0, 0.1, 0.9)
    assert (told["audit"], client.get(url).json()["audit"]) == (False, True)
    above = client.get(f"{url}/thresholds").json()["thresholds"]
    assert audit["taken"] == next(one["count"] for one in above if one["probability"] == 0.1)
    seen = set()
    while audit["batch"]:
        shown = {one["id"] for one in audit["batch"]}
        assert not shown & seen
        seen |= shown
        audit = look(client, told, audit, "yes" if len(seen) < 15 else "no")
        assert audit["answers"] == len(seen) == len(audit["said"])
        for name in ("right", "precision", "missed", "recall"):
            assert audit[name]["low"] <= audit[name]["value"] <= audit[name]["high"]
    assert audit["right"]["low"] == audit["right"]["high"]
    assert audit["advice"] == "All of it is known."
    assert audit["planned"] == len(seen), "no more than there are"
    state = client.get(url).json()
    assert state["relevant"] + state["irrelevant"] == PICTURES, "the search has learnt all of it"


def test_it_ends_and_what_was_said_stays(client, told):
    url = f"{API}/searches/{told['id']}"
    audit = look(client, told, begin(client, told))
    ended = post(client, {**told, "revision": audit["revision"]}, "audit/end")
    assert ended["audit"] is False
    assert ended["relevant"] == told["relevant"] + 6
    assert client.get(f"{url}/audit").status_code == 404
    again = client.post(f"{url}/audit/end", json=change(ended))
    assert again.status_code == 404
    assert client.get(url).json()["revision"] == ended["revision"]


def test_it_is_what_the_library_reports(client, told, indexed):
    audit = look(client, told, begin(client, told, level=0.8), "unsure")
    server = client.app.state.server
    with server.searches.memory.open(told["id"]) as opened:
        row = opened.audit
    with server.searches.memory.open(told["id"]) as opened:
        search = ital.Search(opened.live.collection.pool, seed=opened.row.seed)
        search.query(relevant=[3])
        search.answer({int(k): v for k, v in row.events[1]["labels"].items()})
    one = search.audit(0.1, row.seed)
    one.answer(dict.fromkeys(one.ask(6).tolist()))
    report = one.report(0.8)
    assert (audit["sentence"], audit["advice"]) == (report.sentence, report.advice)
    assert audit["missed"] == vars(report.missed)
    assert audit["unsure"] == 6
    assert [p["id"] for p in audit["batch"]] == one.ask(6).tolist()


def test_a_server_that_restarts_tells_the_same(indexed, address):
    """Even if the search has taken back what was before the audit, and more."""
    states = []
    for start in range(2):
        server = Server(ServerSettings(), [Served(indexed)], Database(address))
        with TestClient(create_app(server), base_url="http://localhost") as client:
            if not start:
                (collection,) = client.get(f"{API}/collections").json()
                body = {"collection": collection["id"], "relevant": [3]}
                search = client.post(f"{API}/searches", json=body).json()
                said = {one["id"]: "no" for one in search["batch"]}
                told = post(client, search, "answers", answers=said)
                first = begin(client, told)
                look(client, told, first)
                state = client.get(f"{API}/searches/{told['id']}").json()
                for _ in range(2):
                    state = post(client, state, "undo")
                state = post(client, state, "answers", answers={"30": "yes"})
                shown = client.get(f"{API}/searches/{told['id']}/audit").json()
                assert shown["batch"] == first["batch"], "what was taken back is asked again"
                audit = look(client, told, shown)
                state = {**state, "revision": audit["revision"]}
                settings = {**state["settings"], "length_scale": 2.5, "strategy": "random"}
                url = f"{API}/searches/{told['id']}"
                changed = client.put(f"{url}/settings", json=change(state, settings=settings))
                assert changed.status_code == 200, changed.text
            states.append(client.get(f"{API}/searches/{told['id']}/audit").json())
    assert states[0] == states[1]
    assert states[1]["answers"] == audit["answers"] == 6
    assert states[1]["sentence"] == audit["sentence"]
    assert states[1]["batch"] == audit["batch"]


def test_what_leaves_memory_comes_back(make_client, indexed):
    with make_client(indexed, memory_bytes=0) as client:
        (collection,) = client.get(f"{API}/collections").json()
        body = {"collection": collection["id"], "relevant": [3]}
        one, other = (client.post(f"{API}/searches", json=body).json() for _ in range(2))
        audit = look(client, one, begin(client, one))
        client.get(f"{API}/searches/{other['id']}")
        assert client.get(f"{API}/searches/{one['id']}/audit").json() == audit


def test_answers_are_learnt_and_undone_with_the_search(client, told):
    url = f"{API}/searches/{told['id']}"
    begun = begin(client, told)
    audit = look(client, told, begun)
    assert [(one["can_undo"], one["can_redo"]) for one in (begun, audit)] == [(0, 0), (1, 0)]
    state = client.get(url).json()
    assert state["revision"] == audit["revision"]
    assert state["rounds"] == told["rounds"] + 1
    assert state["relevant"] == told["relevant"] + 6
    back = post(client, state, "undo")
    assert back["relevant"] == told["relevant"]
    empty = {**begun, "revision": back["revision"], "can_redo": True}
    assert client.get(f"{url}/audit").json() == empty
    redone = post(client, back, "redo")
    assert client.get(f"{url}/audit").json() == {**audit, "revision": redone["revision"]}
    # A round of the search: undone by itself, and not among the answers to the audit.
    state = post(client, redone, "answers", answers={redone["batch"][0]["id"]: "no"})
    other = client.get(f"{url}/audit").json()
    assert other == {**audit, "revision": state["revision"], "can_undo": False}
    post(client, state, "undo")
    assert client.get(f"{url}/audit").json()["can_undo"]


def test_what_was_said_to_an_audit_before_is_not_said_to_this(client, told):
    """Even if it was taken back when this one began, and is done again."""
    url = f"{API}/searches/{told['id']}"
    look(client, told, begin(client, told))
    state = post(client, client.get(url).json(), "undo")
    begin(client, state)
    redone = post(client, client.get(url).json(), "redo")
    audit = client.get(f"{url}/audit").json()
    assert redone["relevant"] == told["relevant"] + 6
    assert (audit["answers"], audit["can_undo"]) == (0, False)


def test_answers_can_be_corrected(client, told):
    audit = look(client, told, begin(client, told))
    first = audit["said"][0]["id"]
    state = {**told, "revision": audit["revision"]}
    again = post(client, state, "audit/answers", answers={first: "unsure"})
    assert {one["id"]: one["label"] for one in again["said"]}[first] == "unsure"
    assert (again["answers"], again["unsure"]) == (6, 1)


def test_requests_are_carried_out_once(client, told):
    url = f"{API}/searches/{told['id']}/audit"
    body = change(told, threshold=0.1, batch=6)
    first, second = (client.post(url, json=body) for _ in range(2))
    assert first.json() == second.json()
    audit = first.json()
    said = change(audit, answers={one["id"]: "yes" for one in audit["batch"]})
    once, twice = (client.post(f"{url}/answers", json=said) for _ in range(2))
    assert once.json() == twice.json()
    assert once.json()["answers"] == 6
    late = client.post(f"{url}/answers", json={**said, "key": "late"})
    assert late.status_code == 409
    assert late.json()["state"]["revision"] == once.json()["revision"]
    other = client.post(url, json={**body, "threshold": 0.2})
    assert other.status_code == 400
    assert "used for another change" in other.json()["detail"]


def test_only_what_was_drawn_is_answered(client, told):
    url = f"{API}/searches/{told['id']}"
    nothing = client.post(f"{url}/audit/answers", json=change(told, answers={"3": "yes"}))
    assert nothing.status_code == 404
    audit = begin(client, told)
    drawn = audit["batch"][0]["id"]
    for wrong in ({"3": "yes"}, {str(drawn): "yes", "4711": "no"}):
        response = client.post(f"{url}/audit/answers", json=change(audit, answers=wrong))
        assert response.status_code == 400
        assert "was not drawn" in response.json()["detail"]
    assert client.get(f"{url}/audit").json() == audit


def test_the_next_audit_takes_the_place_of_the_last(client, told):
    audit = look(client, told, begin(client, told))
    again = begin(client, {**told, "revision": audit["revision"]}, threshold=0.0)
    assert (again["answers"], again["said"], again["missed"]["high"]) == (0, [], 0)
    assert again["taken"] == PICTURES
    labelled = {one["id"] for one in audit["said"]}
    assert not labelled & {one["id"] for one in again["batch"]}, "they are known by now"


@pytest.mark.parametrize(
    "wrong", [{"threshold": 1.1}, {"level": 1}, {"batch": 101}, {"planned": 0}]
)
def test_arguments(client, told, wrong):
    body = change(told, **{"threshold": 0.5, **wrong})
    response = client.post(f"{API}/searches/{told['id']}/audit", json=body)
    assert response.status_code == 422
    assert client.get(f"{API}/searches/{told['id']}").json()["revision"] == told["revision"]


def test_advice(client, search, told):
    url = f"{API}/searches/{search['id']}/advice"
    found = client.get(url, params={"threshold": 0.3}).json()
    assert found["revision"] == told["revision"]
    advice = found["advice"]
    assert advice["asked"] == len(told["batch"])
    assert 0 <= advice["relevant"] <= advice["asked"]
    assert advice["sentence"].startswith("About")
    table = client.get(f"{API}/searches/{search['id']}/thresholds").json()
    balanced = client.get(url, params={"threshold": table["balanced"]}).json()
    assert client.get(url).json() == balanced, "as the page begins"
    assert client.get(url, params={"threshold": 2}).status_code == 422
    post(client, told, "undo")
    assert client.get(url, params={"threshold": 0.3}).json()["advice"] is None


def test_an_audit_leaves_with_its_search(client, told):
    begin(client, told)
    client.delete(f"{API}/searches/{told['id']}")
    with client.app.state.server.database.reading() as session:
        assert session.scalars(sqlalchemy.select(AuditRow)).all() == []


def test_pictures_come_while_it_is_under_way(make_client, tmp_path):
    """Then it cannot go on: it would be about other pictures. What was said stays learnt."""
    folder = tmp_path / "pictures"
    for number in range(12):
        draw(folder / f"{number:02}.png", number)
    with make_client(folder, index=True) as client:
        (collection,) = client.get(f"{API}/collections").json()
        body = {"collection": collection["id"], "relevant": [3]}
        search = client.post(f"{API}/searches", json=body).json()
        audit = look(client, search, begin(client, search, batch=3))
        draw(folder / "more.png", 50)
        url = f"{API}/collections/{collection['id']}"
        client.post(f"{url}/index")
        finished(client, url)
        of_search = f"{API}/searches/{search['id']}"
        gone = client.get(f"{of_search}/audit")
        assert gone.status_code == 400
        assert "begin another" in gone.json()["detail"]
        state = client.get(of_search).json()
        assert state["relevant"] == 4
        assert begin(client, state)["answers"] == 0
        for path in folder.glob("*.png"):
            if path.name != "more.png":
                path.unlink()
        client.post(f"{url}/index")
        finished(client, url)
        assert client.get(f"{of_search}/audit").status_code == 400
        state = client.get(of_search).json()
        refused = client.post(f"{of_search}/audit", json=change(state, threshold=0.5))
        assert refused.status_code == 400
        assert "have gone" in refused.json()["detail"]
        assert audit["answers"] == 3
