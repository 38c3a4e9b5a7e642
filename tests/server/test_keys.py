"""A request that is repeated is carried out once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from serving import API, change

from ital.server import Server, ServerSettings, schemas
from ital.server.database import Database
from ital.server.served import Served


def test_a_search_is_begun_once(client, collection):
    body = {"collection": collection, "relevant": [3], "key": "once"}
    first, again = (client.post(f"{API}/searches", json=body) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    other = client.post(f"{API}/searches", json={**body, "relevant": [4]})
    assert other.status_code == 400
    assert "key" in other.json()["detail"]
    assert len(client.get(f"{API}/searches").json()) == 1
    assert (
        client.post(f"{API}/searches", json={**body, "key": "two"}).json()["id"]
        != first.json()["id"]
    )


def test_a_search_is_copied_once(client, search):
    url = f"{API}/searches/{search['id']}/duplicate"
    copies = {client.post(url, json={"key": "once"}).json()["id"] for _ in range(2)}
    assert len(copies) == 1
    copies |= {client.post(url).json()["id"] for _ in range(2)}
    assert len(copies) == 3
    assert len(client.get(f"{API}/searches").json()) == 4


def test_a_key_is_for_one_change(client, search):
    """An answer that is not carried out is not acknowledged."""
    url = f"{API}/searches/{search['id']}"
    said = change(search, answers={"2": "yes"})
    state = client.post(f"{url}/answers", json=said).json()
    for what, more in (
        ("answers", {"answers": {"3": "no"}}),
        ("undo", {}),
        ("answers", {"answers": {"2": "yes"}}),  # at another revision
    ):
        again = {"revision": state["revision"], "key": said["key"], **more}
        response = client.post(f"{url}/{what}", json=again)
        assert response.status_code == 400
        assert "used for another change" in response.json()["detail"]
    assert client.post(f"{url}/answers", json=said).json() == state
    assert client.get(url).json()["revision"] == state["revision"]


@pytest.mark.parametrize("what", ["create", "answer"])
def test_at_the_same_time(indexed, address, what):
    """Ten at once with the same key, in either database."""
    database = Database(address)
    server = Server(ServerSettings(), [Served(indexed)], database)
    (collection,) = server.served
    request = schemas.SearchCreate(collection=collection, relevant=[1], key="once")
    try:
        if what == "create":

            def act(_: int) -> schemas.SearchState:
                return server.searches.create(request)
        else:
            search = server.searches.create(request)
            answers = schemas.SearchAnswers(revision=1, key="again", answers={2: "no"})

            def act(_: int) -> schemas.SearchState:
                return server.searches.answer(search.id, answers)

        with ThreadPoolExecutor(10) as pool:
            states = list(pool.map(act, range(10)))
        assert len({state.id for state in states}) == 1
        assert len(server.searches.all(None)) == 1
        assert {state.rounds for state in states} == {0 if what == "create" else 1}
    finally:
        server.close()
