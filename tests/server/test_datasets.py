"""Several searches as one labelled data set, over HTTP."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from serving import API


@pytest.fixture
def begin(client, collection):
    def make(name, relevant):
        body = {"collection": collection, "name": name, "relevant": relevant}
        return client.post(f"{API}/searches", json=body).json()["id"]

    return make


@pytest.fixture
def ask(client, collection):
    def get(what, *searches, **options):
        params = {"search": searches, **options}
        return client.get(f"{API}/collections/{collection}/{what}", params=params)

    return get


def unpacked(response):
    assert response.status_code == 200, response.text
    with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_searches_as_classes(begin, ask, indexed):
    roses, tulips = begin("roses", [1, 2, 3]), begin("tulips", [5, 6])
    found = ask("classes", roses, tulips).json()
    assert [(one["name"], one["pictures"]) for one in found["classes"]] == [
        ("roses", 3),
        ("tulips", 2),
    ]
    assert found["conflicts"] == []
    files = unpacked(ask("dataset", roses, tulips))
    assert sorted(files) == [
        *(f"train/roses/{number}-{number - 1:02}.png" for number in (1, 2, 3)),
        *(f"train/tulips/{number}-{number - 1:02}.png" for number in (5, 6)),
    ]
    assert files["train/roses/2-01.png"] == (indexed / "01.png").read_bytes()


def test_other_layouts_and_a_split(begin, ask):
    both = begin("roses", [1, 2, 3]), begin("tulips", [5, 6])
    files = unpacked(ask("dataset", *both, layout="coco", split=0.4))
    parts = {part: json.loads(files[f"annotations/{part}.json"]) for part in ("train", "val")}
    assert sum(len(part["images"]) for part in parts.values()) == 5
    for part, content in parts.items():
        assert all(f"{part}/{image['file_name']}" in files for image in content["images"])
        assert len(content["annotations"]) == len(content["images"])
    table = unpacked(ask("dataset", *both, layout="imagefolder"))["train/metadata.csv"].decode()
    assert table.splitlines()[0] == "file_name,label,id,path"
    assert len(table.splitlines()) == 6


def test_conflicts_are_listed_and_never_resolved_in_silence(begin, ask):
    roses, tulips = begin("roses", [1, 2]), begin("tulips", [2, 6])
    found = ask("classes", roses, tulips).json()
    assert found["conflicts"] == [{"id": 2, "name": "01.png", "classes": ["roses", "tulips"]}]
    assert "claimed by several" in found["problem"]
    assert ask("classes", roses, tulips, conflicts="first").json()["problem"] is None
    response = ask("dataset", roses, tulips)
    assert response.status_code == 400
    assert "claimed by several" in response.json()["detail"]
    assert len(unpacked(ask("dataset", roses, tulips, conflicts="skip"))) == 2
    assert "train/tulips/2-01.png" in unpacked(ask("dataset", tulips, roses, conflicts="first"))


def test_what_makes_no_data_set(begin, ask, client, collection):
    roses, same, odd = begin("roses", [1]), begin("roses", [2]), begin("a/b", [3])
    for searches, options, status, words in (
        ([roses, same], {}, 400, "two are called 'roses'"),
        ([odd], {}, 400, "a class must have a name for a folder"),
        ([roses], {"split": 0.5}, 400, "cannot be parted"),
        (["nonsense"], {}, 404, "there is no search nonsense"),
        ([], {}, 422, "search"),
    ):
        response = ask("dataset", *searches, **options)
        assert response.status_code == status
        assert words in response.json()["detail"]
        known = ask("classes", *searches, **options).json()
        assert words in known.get("problem", known.get("detail")), "it is known before"
