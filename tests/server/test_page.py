"""The page, as the server sends it."""

from __future__ import annotations

import re

import numpy as np
from fastapi.testclient import TestClient

from ital.evaluation.metrics import average_precision
from ital.server import Server, ServerSettings, create_app
from ital.server.database import Database, sqlite_url
from ital.server.served import Served

API = "/api/v1"


def test_everything_it_asks_for_is_there(client):
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "<title>ital" in page.text
    wanted = re.findall(r'(?:src|href)="(/[^"]+)"', page.text)
    assert any(path.endswith(".js") for path in wanted)
    assert any(path.endswith(".css") for path in wanted)
    for path in wanted:
        assert client.get(path).status_code == 200, path


def test_it_keeps_its_policy(client):
    """No script and no style within the page, and no address of others."""
    text = client.get("/").text
    assert not re.search(r"<style|style=|<script(?![^>]*src=)|https?://", text)


def test_a_simulated_user_over_http(corel, corel_store, tmp_path):
    """Corel-1k: a query of each kind, five rounds of four, by the API alone."""
    database = Database(sqlite_url(tmp_path / "searches.sqlite"))
    server = Server(ServerSettings(), [Served(corel, corel_store)], database)
    rng = np.random.default_rng(0)
    precisions = []
    with TestClient(create_app(server), base_url="http://localhost") as client:
        (collection,) = client.get(f"{API}/collections").json()
        pages = client.get(f"{API}/collections/{collection['id']}/pictures?limit=1000").json()
        kinds = {one["id"]: int(one["name"][:4]) // 100 for one in pages["pictures"]}
        for kind in range(10):
            own = [one for one in kinds if kinds[one] == kind]
            query = int(rng.choice(own))
            body = {"collection": collection["id"], "relevant": [query]}
            state = client.post(f"{API}/searches", json=body).json()
            for number in range(5):
                said = {
                    one["id"]: "yes" if kinds[one["id"]] == kind else "no" for one in state["batch"]
                }
                change = {"revision": state["revision"], "key": f"{number}", "answers": said}
                url = f"{API}/searches/{state['id']}"
                state = client.post(f"{url}/answers", json=change).json()
            listed = client.get(f"{url}/results?limit=1000").json()["results"]
            others = [one for one in listed if one["id"] != query]
            relevant = np.array([kinds[one["id"]] == kind for one in others])
            means = np.array([one["mean"] for one in others])
            precisions.append(average_precision(relevant, means))
    assert np.mean(precisions) >= 0.96
    print(f"mean average precision {np.mean(precisions):.4f}")
