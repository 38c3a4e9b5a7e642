"""Searches of the browser on the command line."""

from __future__ import annotations

import csv
import io
import json

import pytest
from fastapi.testclient import TestClient
from running import invoke

from ital import Collection
from ital.server import Server, ServerSettings, create_app
from ital.server.database import Database, SearchRow, default_file, sqlite_url
from ital.server.served import Served

API = "/api/v1"


@pytest.fixture
def database(folder, tmp_path):
    """Where a server keeps two searches, one of them with a round of answers."""
    url = sqlite_url(tmp_path / "searches.sqlite")
    server = Server(ServerSettings(), [Served(folder)], Database(url))
    known = server.served[Collection.open(folder).store_id].collection.identifiers
    with TestClient(create_app(server), base_url="http://localhost") as client:
        for name, path in (("Red [1]", "a/00.png"), ("Blue", "b/01.png")):
            body = {"collection": Collection.open(folder).store_id, "name": name}
            body["relevant"] = list(known([path]).values())
            state = client.post(f"{API}/searches", json=body).json()
        said = {str(one["id"]): "no" for one in state["batch"][:3]}
        body = {"revision": state["revision"], "key": "k", "answers": said}
        assert client.post(f"{API}/searches/{state['id']}/answers", json=body).status_code == 200
    return url


def test_they_are_listed(folder, database):
    result = invoke("searches", folder, "--database", database)
    assert result.exit_code == 0, result.output
    assert result.stdout.index("Blue") < result.stdout.index("Red [1]")
    listed = json.loads(invoke("searches", folder, "--database", database, "--json").stdout)
    assert [(one["name"], one["rounds"], one["irrelevant"]) for one in listed] == [
        ("Blue", 1, 3),
        ("Red [1]", 0, 0),
    ]


def test_they_are_exported_like_saved_ones(folder, database, tmp_path, monkeypatch):
    monkeypatch.setenv("ITAL_DATABASE", database)
    saved = tmp_path / "blue.json"
    result = invoke("export", folder, "--search", "Blue", "--what", "search", "--out", saved)
    assert result.exit_code == 0, result.output
    for options in ((), ("--what", "answers"), ("--top", 5, "--format", "json")):
        begun = invoke("export", folder, "--search", "Blue", *options)
        assert begun.exit_code == 0, begun.output
        assert begun.stdout == invoke("export", folder, saved, *options).stdout
    rows = list(
        csv.DictReader(io.StringIO(invoke("export", folder, saved, "--what", "answers").stdout))
    )
    assert [row["strategy"] for row in rows] == ["", *["context"] * 3]
    assert all(float(row["probability_then"]) > 0 for row in rows[1:])
    out = tmp_path / "set"
    both = ("export", folder, saved, "--search", "Red [1]", "--dataset", out, "--top", 2)
    assert invoke(*both, "--conflicts", "first").exit_code == 0
    assert {path.name for path in (out / "train").iterdir()} == {"blue", "Red [1]"}
    # To go on with in the terminal.
    assert Collection.open(folder).load_search(saved).events[1].kind == "answer"
    text = invoke("export", folder, "--search", "Blue", "--what", "search").stdout
    assert json.loads(text) == json.loads(saved.read_text())


def test_mistakes_are_explained(folder, database, tmp_path):
    export = ("export", folder, "--database", database)
    for arguments, words in (
        (export, "export needs a search"),
        ((*export, "--search", "Green"), "collection ('Blue', 'Red [1]'), got 'Green'"),
        (("searches", folder, "--database", "nonsense"), "the database cannot be used"),
        (("searches", tmp_path), "run ital index first"),
    ):
        result = invoke(*arguments)
        assert result.exit_code == 2
        assert words in result.stderr
    with Database(database).writing() as session:
        for row in session.query(SearchRow):
            row.name = "Same"
    result = invoke(*export, "--search", "Same")
    assert "several searches are called 'Same': give one of" in result.stderr
    first = result.stderr.split("give one of ")[1].split(",")[0]
    assert invoke(*export, "--search", first).exit_code == 0


def test_where_nobody_has_searched(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    result = invoke("searches", folder)
    assert result.exit_code == 2
    assert "no search was begun in the browser yet" in result.stderr
    Database(sqlite_url(default_file())).close()
    assert "No search was begun" in invoke("searches", folder).stdout
