"""Labels that people bring in a file, over HTTP."""

from __future__ import annotations

import io
import json

import pyarrow as pa
import pytest
from pyarrow import parquet
from serving import API, post

from ital.server import labels


def table(kind: str, rows: list[dict]) -> bytes:
    """Rows as a file of a kind."""
    if kind == "csv":
        return "\n".join(
            [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
        ).encode()
    if kind == "json":
        return json.dumps(rows).encode()
    stream = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows), stream)
    return stream.getvalue()


@pytest.fixture
def state(client, collection):
    body = {"collection": collection, "relevant": [3]}
    return client.post(f"{API}/searches", json=body).json()


def teach(client, state, content: bytes, name="labels.csv", **more):
    given = {"name": name, "revision": state["revision"], "key": f"bring-{state['revision']}"}
    url = f"{API}/searches/{state['id']}/labels"
    return client.post(url, params=given | more, content=content)


def said(client, state) -> dict[int, str]:
    url = f"{API}/searches/{state['id']}/history"
    rounds = [one for one in client.get(url).json()["rounds"] if not one["undone"]]
    return {one["id"]: one["label"] for each in rounds for one in each["labels"]}


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
@pytest.mark.parametrize("column", ["path", "id"])
def test_a_file_teaches_a_search_in_one_step(client, collection, state, kind, column):
    page = client.get(f"{API}/collections/{collection}/pictures").json()["pictures"]
    about = {one["id"]: {"path": one["name"], "id": one["id"]}[column] for one in page}
    labels = {5: "yes", 7: "no", 9: "unsure"}
    rows = [{column: about[image], "label": label} for image, label in labels.items()]
    answered = teach(client, state, table(kind, rows), f"roses.{kind}")
    assert answered.status_code == 200, answered.text
    after = answered.json()
    assert said(client, after) == {3: "yes", **labels}
    assert (after["relevant"], after["irrelevant"], after["rounds"]) == (2, 1, 0)
    assert not {5, 7, 9} & {one["id"] for one in after["batch"]}
    # Sent again, as after an answer that was lost, it is not done again.
    again = teach(client, state, table(kind, rows), f"roses.{kind}").json()
    assert again["revision"] == after["revision"]
    undone = post(client, after, "undo")
    assert said(client, undone) == {3: "yes"}
    assert said(client, post(client, undone, "redo")) == {3: "yes", **labels}


def test_what_a_file_says_counts_instead_of_what_was_said(client, state):
    state = post(client, state, "answers", answers={"5": "yes"})
    state = teach(client, state, b"id,label\n5,no\n").json()
    assert said(client, state)[5] == "no"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("x.csv", b"id,label\n5,yes\n6,perhaps\n", "'x.csv', line 3: label must be"),
        ("x.csv", b"id,label\n5,yes\n5,no\n", "line 3: the same picture is a no here"),
        ("x.csv", b"path,label\nnone.png,yes\n", "line 2: path must be that of a picture"),
        ("x.csv", b"id,label\n5,yes,no\n", "line 2 must have 2 columns, got 3"),
        ("x.csv", b"id,label\n\xff,yes\n", "must be text in UTF-8, but line 2 is not"),
        ("x.json", b'[{"id": 5, "label": "yes"}, 3]', "item 2 must be an object"),
        ("x.json", b"[" * 100_000, "it must be JSON"),
        ("x.parquet", b"PAR1", "'x.parquet': "),
        ("x.csv", b"", "line 1 must name two columns"),
        ("x.csv", b"id,label\n5,\n", "no row has a label"),
        ("x.txt", b"id,label\n5,yes\n", "must end in .csv, .json, .parquet, got 'x.txt'"),
    ],
)
def test_a_file_with_anything_wrong_in_it_changes_nothing(client, state, name, content, reason):
    refused = teach(client, state, content, name)
    assert refused.status_code == 400
    assert reason in refused.json()["detail"]
    url = f"{API}/searches/{state['id']}"
    assert client.get(url).json() == state
    (one,) = (one for one in client.get(f"{API}/searches").json() if one["id"] == state["id"])
    refused = client.post(
        f"{API}/collections/{one['collection']}/labels", params={"name": name}, content=content
    )
    assert reason in refused.json()["detail"]


def test_a_file_is_for_the_search_as_it_was_seen(client, state):
    moved = teach(client, state, b"id,label\n5,no\n", revision=state["revision"] + 1)
    assert moved.status_code == 409
    assert moved.json()["state"]["revision"] == state["revision"]
    assert teach(client, {**state, "id": "none"}, b"id,label\n5,no\n").status_code == 404


def test_a_file_begins_a_search(client, collection):
    url = f"{API}/collections/{collection}/labels"
    given = {"name": "Roses of May.csv", "key": "begin-1"}
    begun = client.post(url, params=given, content=b"id,label\n5,yes\n6,no\n7,unsure\n")
    assert begun.status_code == 201, begun.text
    state = begun.json()
    assert state["name"] == "Roses of May"
    assert said(client, state) == {5: "yes", 6: "no", 7: "unsure"}
    assert state["batch"]
    assert not state["can_undo"]
    again = client.post(url, params=given, content=b"id,label\n5,yes\n6,no\n7,unsure\n").json()
    assert again["id"] == state["id"]
    refused = client.post(url, params=given, content=b"id,label\n7,unsure\n")
    assert "must have a yes or a no" in refused.json()["detail"]
    unnamed = client.post(url, params={"name": ".csv"}, content=b"id,label\n7,yes\n").json()
    assert unnamed["name"].startswith("Search ")


def test_limits(client, state, monkeypatch):
    monkeypatch.setattr(labels, "MOST_LABELS", 2)
    refused = teach(client, state, b"id,label\n5,no\n6,no\n7,no\n")
    assert "2 pictures at the most, but does of 3" in refused.json()["detail"]
    monkeypatch.setattr("ital.server.routes.labels.MOST_BYTES", 20)
    assert teach(client, state, b"id,label\n5,no\n6,no\n7,no\n").status_code == 413
