from __future__ import annotations

import functools
import os
import shutil
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from making import draw
from serving import PICTURES, free_port

from ital.collection import index as update
from ital.server import Server, ServerSettings, create_app
from ital.server.database import Database, sqlite_url
from ital.server.serve import _listen, _Uvicorn
from ital.server.served import Served


@pytest.fixture(scope="session")
def indexed(tmp_path_factory) -> Path:
    """Pictures that were indexed once, for all tests that change nothing about them."""
    folder = tmp_path_factory.mktemp("served") / "pictures"
    for number in range(PICTURES):
        draw(folder / f"{number:02}.png", number)
    update(folder)
    return folder


@pytest.fixture(scope="session")
def few_indexed(tmp_path_factory):
    """Folders with a few pictures that were indexed: each number is made once, and copied."""

    @functools.cache
    def template(count: int) -> Path:
        folder = tmp_path_factory.mktemp("few") / "pictures"
        for number in range(count):
            draw(folder / f"{number}.png", number)
        update(folder)
        return folder

    return lambda folder, count: shutil.copytree(template(count), folder)


@pytest.fixture(scope="session")
def postgresql(tmp_path_factory):
    """A PostgreSQL server of the tests' own, in a temporary folder, on a free port."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    binaries = found[-1] if found else None
    if binaries is None:
        pytest.skip("PostgreSQL is not installed (Debian's package postgresql)")
    folder = Path(tmp_path_factory.mktemp("postgresql"))
    # It refuses to run as root, and needs a place that its own user can reach.
    root = os.geteuid() == 0
    user = {"user": "postgres", "group": "postgres"} if root else {}
    place = Path("/tmp") / f"ital-postgresql-{os.getpid()}" if root else folder
    place.mkdir(exist_ok=True)
    if root:
        shutil.chown(place, "postgres", "postgres")
    port = free_port()
    run = {"check": True, "capture_output": True, "cwd": place, **user}
    subprocess.run(
        [binaries / "initdb", "-D", place / "data", "-U", "ital", "-A", "trust", "-E", "UTF8"],
        **run,
    )
    server = subprocess.Popen(
        [
            *(binaries / "postgres", "-D", place / "data", "-p", str(port)),
            *("-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={place}"),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=place,
        **user,
    )
    try:
        for _ in range(100):
            ready = subprocess.run(
                [binaries / "pg_isready", "-h", "127.0.0.1", "-p", str(port)],
                capture_output=True,
                check=False,
            )
            if ready.returncode == 0:
                break
            time.sleep(0.1)
        else:
            raise AssertionError("PostgreSQL does not answer")
        yield f"postgresql+psycopg://ital@127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        return sqlite_url(tmp_path / "searches.sqlite")
    server = request.getfixturevalue("postgresql")
    import psycopg

    name = f"test_{time.monotonic_ns()}"
    plain = server.replace("+psycopg", "")
    with psycopg.connect(f"{plain}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"{server}/{name}"


@pytest.fixture
def server(indexed, tmp_path):
    database = Database(sqlite_url(tmp_path / "searches.sqlite"))
    one = Server(ServerSettings(), [Served(indexed)], database)
    yield one
    one.close()


@pytest.fixture
def make_client(tmp_path):
    """A client for a server of its own, over some folder."""

    @contextmanager
    def make(folder, index=False, **settings):
        if index:
            update(folder)
        database = Database(sqlite_url(tmp_path / "searches.sqlite"))
        server = Server(ServerSettings(**settings), [Served(folder)], database)
        with TestClient(create_app(server), base_url="http://localhost") as client:
            yield client

    return make


@pytest.fixture
def listen(indexed, tmp_path):
    """Servers that listen at a port, in threads of this process."""

    @contextmanager
    def make(folder=indexed, **settings):
        database = Database(sqlite_url(tmp_path / "searches.sqlite"))
        server = Server(ServerSettings(port=0, **settings), [Served(folder)], database)
        with _listen(server.settings) as listener:
            running = _Uvicorn(server)
            thread = threading.Thread(target=running.run, args=([listener],))
            thread.start()
            while not running.started and thread.is_alive():
                time.sleep(0.01)
            try:
                yield running, listener.getsockname()
            finally:
                running.should_exit = True
                thread.join()

    return make


@pytest.fixture
def client(server):
    with TestClient(create_app(server), base_url="http://localhost") as one:
        yield one


@pytest.fixture
def collection(client) -> str:
    (one,) = client.get("/api/v1/collections").json()
    return str(one["id"])


@pytest.fixture
def search(client, collection) -> dict:
    body = {"collection": collection, "relevant": [3], "name": "One"}
    response = client.post("/api/v1/searches", json=body)
    assert response.status_code == 201, response.text
    return response.json()
