"""`ital serve` as a process: killed at any moment, stopped, started again."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import suppress

import httpx
import pytest
from serving import Phoenix, Process, quick_client, run_ital, web

import rays
from ital.server import ServerSettings
from ital.server.serve import _listen

API = "/api/v1"
_KILLS = 12
_SPREAD = 0.15
"""Seconds over which the moments of killing are spread: some answers take so long together."""


def test_no_acknowledged_answer_is_lost(indexed, address):
    """Nor is any there twice, whenever the server is killed."""
    process = Phoenix(indexed, "--database", address, "--no-index")
    acknowledged: list[tuple[str, int, str]] = []
    process.start()
    collection = web.get(f"{process.url}{API}/collections").json()[0]["id"]
    body = {"collection": collection, "relevant": [1]}
    search = web.post(f"{process.url}{API}/searches", json=body).json()["id"]
    url = f"{process.url}{API}/searches/{search}"
    stopped = threading.Event()
    sent = 0

    def stream() -> None:
        """Answer after answer, each repeated with its key until it is acknowledged."""
        nonlocal sent
        revision = 1
        with quick_client() as client:
            while not stopped.is_set():
                sent += 1
                picture, said = 2 + sent % 38, ("yes", "no", "unsure")[sent % 3]
                change = {"revision": revision, "key": f"k{sent}", "answers": {str(picture): said}}
                while not stopped.is_set():
                    try:
                        response = client.post(f"{url}/answers", json=change)
                    except httpx.TransportError:
                        time.sleep(0.02)
                        continue
                    assert response.status_code == 200, response.text
                    revision = response.json()["revision"]
                    acknowledged.append((f"k{sent}", picture, said))
                    break

    worker = threading.Thread(target=stream)
    worker.start()
    try:
        for kill in range(_KILLS):
            before = len(acknowledged)
            time.sleep(_SPREAD * kill / _KILLS)
            process.kill()
            process.start()
            while len(acknowledged) == before and worker.is_alive():
                time.sleep(0.01)
    finally:
        stopped.set()
        worker.join()
    history = web.get(f"{url}/history").json()
    process.end()
    said = [
        (label["id"], label["label"]) for one in history["rounds"][1:] for label in one["labels"]
    ]
    wanted = [(picture, word) for _, picture, word in acknowledged]
    # The last one may have been carried out without our having been told.
    assert said[: len(wanted)] == wanted
    assert len(said) - len(wanted) in (0, 1)
    assert len(acknowledged) >= _KILLS


def test_many_answers_that_were_not_yet_learnt_are_not_lost(indexed, address):
    """They are acknowledged before that, and learnt from the database by the next server."""
    process = Phoenix(indexed, "--database", address, "--no-index")
    process.start()
    collection = web.get(f"{process.url}{API}/collections").json()[0]["id"]
    body = {"collection": collection, "relevant": [1]}
    search = web.post(f"{process.url}{API}/searches", json=body).json()["id"]
    url = f"{process.url}{API}/searches/{search}"
    said = {str(picture): "no" for picture in range(2, 40)}
    change = {"revision": 1, "key": "many", "answers": said}
    acknowledged = web.post(f"{url}/answers", json=change).json()
    process.kill()
    process.start()
    state, history = web.get(url).json(), web.get(f"{url}/history").json()
    process.end()
    assert acknowledged["learning"]
    assert not state["learning"]
    assert state["irrelevant"] == acknowledged["irrelevant"] == len(said)
    assert {str(one["id"]): one["label"] for one in history["rounds"][1]["labels"]} == said
    assert [one["id"] for one in state["batch"]] == [40]


def test_it_says_where_it_is_and_ends_cleanly(indexed, tmp_path):
    process = Process(indexed, "--json-log", "--database", f"sqlite:///{tmp_path}/s.sqlite")
    process.start()
    events = f"{process.url}{API}/collections"
    collection = web.get(events).json()[0]["id"]
    # A stream that is open does not keep it from ending.
    with httpx.stream("GET", f"{events}/{collection}/events", timeout=30) as stream:
        lines = stream.iter_lines()
        first = json.loads(next(lines).removeprefix("data: "))
        assert first["id"] == collection
        output = process.stop()
    assert process.process.returncode in (0, -15)
    assert f"The page is at {process.url}/ (Ctrl-C stops it)" in output
    assert "Traceback" not in output
    logged = [line for line in output.splitlines() if not line.startswith("The page is at")]
    lines = [json.loads(line) for line in logged]
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in lines)
    (listed,) = [line for line in lines if line.get("path") == f"{API}/collections"]
    assert (listed["method"], listed["status"]) == ("GET", 200)
    assert listed["seconds"] >= 0


def test_strangers_get_a_link_with_a_token(indexed, tmp_path):
    database = f"sqlite:///{tmp_path}/s.sqlite"
    process = Phoenix(indexed, "--host", "0.0.0.0", "--database", database, "--no-index")
    process.start()
    assert web.get(f"{process.url}{API}/collections").status_code == 401
    output = process.stop()
    process.end()
    token = output.partition("?token=")[2].split()[0]
    assert len(token) > 20


def test_searches_outlive_the_server(indexed, tmp_path):
    database = f"sqlite:///{tmp_path}/s.sqlite"
    process = Phoenix(indexed, "--database", database, "--no-index").start()
    collection = web.get(f"{process.url}{API}/collections").json()[0]["id"]
    body = {"collection": collection, "relevant": [1], "name": "kept"}
    state = web.post(f"{process.url}{API}/searches", json=body).json()
    change = {"revision": 1, "key": "k", "answers": {"7": "no", "9": "yes"}}
    url = f"{process.url}{API}/searches/{state['id']}"
    web.post(f"{url}/answers", json=change).raise_for_status()
    state, results = web.get(url).json(), web.get(f"{url}/results").json()
    process.stop()
    process.start()
    opened = web.get(url).json()
    (now,), (then,) = opened.pop("progress"), state.pop("progress")
    assert now == pytest.approx(then)
    assert opened == state | {"outlook": pytest.approx(state["outlook"])}
    again = web.get(f"{url}/results").json()["results"]
    for one, other in zip(again, results["results"], strict=True):
        # Labels that are learnt all at once round otherwise than those that came one by one.
        assert one == other | {
            name: pytest.approx(other[name], abs=1e-9) for name in ("mean", "probability")
        }
    process.end()


def test_the_same_search_on_a_cluster(indexed, tmp_path, monkeypatch):
    """On a Ray of the server's own, on another when that has died for good, and without one."""
    options = ("--database", f"sqlite:///{tmp_path}/s.sqlite", "--no-index")
    with rays.environment(RAY_gcs_rpc_server_reconnect_timeout_s="1") as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        process = Process(indexed, *options, "--ray", "local").start()
        with httpx.Client(base_url=f"{process.url}{API}", timeout=120) as client:
            collection = client.get("collections").json()[0]["id"]
            body = {"collection": collection, "relevant": [1], "name": "kept"}
            path = f"searches/{client.post('searches', json=body).json()['id']}"
            change = {"revision": 1, "key": "k", "answers": {"7": "no", "9": "yes"}}
            response = client.post(f"{path}/answers", json=change)
            assert response.status_code == 200, response.text
            # What is said when the Ray has died is kept, and pictures can be looked at.
            first = rays.descendants(process.process.pid)
            rays.kill(rays.named(first, "gcs_server", "raylet"))
            change = {"revision": 2, "key": "l", "answers": {"11": "no"}}
            response = client.post(f"{path}/answers", json=change)
            assert response.status_code == 503, response.text
            assert "the cluster at local is gone: " in response.json()["detail"]
            assert client.get(f"collections/{collection}/pictures").status_code == 200
            rays.kill(first)  # what is left of it would go on for a while
            response = client.post(f"{path}/answers", json=change)
            assert response.status_code == 200, response.text
            before = client.get(f"{path}/results").json()["results"]
        second = rays.descendants(process.process.pid)
        output = process.stop()
        assert "Traceback" not in output, output
        rays.wait(second)
    process = Phoenix(indexed, *options).start()
    state = web.get(f"{process.url}{API}/{path}").json()
    assert (state["revision"], state["relevant"], state["irrelevant"]) == (3, 2, 2)
    after = web.get(f"{process.url}{API}/{path}/results").json()["results"]
    assert [one["id"] for one in after] == [one["id"] for one in before]
    process.end()


def test_uploads_are_cut_off_where_they_become_too_large(indexed, tmp_path, monkeypatch):
    """Not read to their end, which may never come."""
    monkeypatch.setenv("ITAL_UPLOAD_BYTES", "100000")
    database = f"sqlite:///{tmp_path}/s.sqlite"
    process = Phoenix(indexed, "--database", database, "--no-index").start()
    collection = web.get(f"{process.url}{API}/collections").json()[0]["id"]
    sent = 0

    def endless():
        nonlocal sent
        while sent < 2**30:
            sent += 50_000
            yield bytes(50_000)

    url = f"{process.url}{API}/collections/{collection}/uploads"
    with suppress(httpx.TransportError):  # the server may have hung up, which is as good
        assert web.post(url, content=endless(), timeout=30).status_code == 413
    assert sent < 2**28
    assert web.get(f"{process.url}/healthz").status_code == 200
    process.end()


@pytest.mark.parametrize("host", ["::1", "::"])
def test_the_other_internet_protocol(indexed, tmp_path, host):
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    options = ("--host", host, "--no-index", "--database", f"sqlite:///{tmp_path}/s.sqlite")
    process = Phoenix(indexed, *options, url="http://[::1]").start()
    assert f"http://{'[::1]' if host == '::1' else socket.gethostname()}:" in process.stop()
    process.end()


def test_a_port_that_is_taken(indexed, tmp_path):
    """Is an error if it was asked for; otherwise another is taken."""
    database = f"sqlite:///{tmp_path}/s.sqlite"
    first = Phoenix(indexed, "--no-index", "--database", database).start()
    options = ("--no-index", "--database", database, "--port", first.port)
    code, errors = run_ital("serve", indexed, *options)
    first.end()
    assert code == 2
    assert "in use" in errors
    settings = ServerSettings()
    settings.port = first.port  # as if it were the default
    settings.model_fields_set.discard("port")
    with _listen(settings) as one, _listen(settings) as other:
        assert one.getsockname()[1] == first.port
        assert other.getsockname()[1] != first.port
