from __future__ import annotations

import json
import os
import shutil
import warnings
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

import ital.collection.store as module
from ital.collection.reader import Content
from ital.collection.scan import Skipped
from ital.collection.store import Row, Store, StoreError


def row(identifier, dimension=3, path=None):
    vector = np.random.default_rng(identifier).normal(size=dimension).astype(np.float32)
    content = Content(4, 5, b"jpeg", vector)
    return Row(identifier, path or f"{identifier}.png", f"hash {identifier}", 6, 7, content)


@pytest.fixture
def store(tmp_path):
    store = Store.create(tmp_path / ".ital", tmp_path)
    store.write_about(models={"f": None}, current="f")
    return store


def equal(one, other):
    np.testing.assert_array_equal(one.content.embedding, other.content.embedding)
    for name in ("id", "path", "hash", "size", "modified"):
        assert getattr(one, name) == getattr(other, name)
    assert one.content.thumbnail == other.content.thumbnail


def test_rows_come_back(store):
    table = store.create_table("f", 3)
    table.write([row(1), row(2)], new=True)
    table.write([row(5)], new=True)
    again = Store(store.folder).table("f")
    assert len(again) == 3
    assert [entry.id for entry in again.entries()] == [1, 2, 5]
    for identifier, found in again.rows([1, 5]).items():
        equal(found, row(identifier))
    assert again.thumbnail(2) == b"jpeg"
    assert again.thumbnail(3) is None


def test_rows_are_replaced_whole(store):
    table = store.create_table("f", 3)
    table.write([row(1), row(2)], new=True)
    table.write([row(2, path="moved.png")], new=False)
    assert len(table) == 2
    equal(table.rows([2])[2], row(2, path="moved.png"))


def test_when_pictures_were_taken_or_else_written(store):
    table = store.create_table("f", 3)
    said = replace(row(2), content=replace(row(2).content, taken=99))
    table.write([row(1), said], new=True)
    assert table.rows([2])[2].content.taken == 99
    assert table.taken(np.array([1, 2])).tolist() == [7, 99]


def test_a_table_of_before_that_was_asked_for(store):
    table = store.create_table("f", 3)
    table.write([row(1), row(2)], new=True)
    table._table.drop_columns(["taken"])
    old = Store(store.folder).table("f")
    assert old.taken(np.array([1, 2])).tolist() == [7, 7]
    equal(old.rows([1])[1], row(1))
    said = replace(row(2), content=replace(row(2).content, taken=99))
    old.write([said], new=False)
    old.write([row(3)], new=True)
    again = Store(store.folder).table("f")
    assert again.taken(np.array([1, 2, 3])).tolist() == [7, 99, 7]
    assert [one.content.taken for one in again.rows([1, 2, 3]).values()].count(None) == 2


def test_embeddings_are_rounded_to_the_type_of_the_table(store):
    table = store.create_table("f", 3, "float16")
    table.write([row(1), row(2)], new=True)
    table.write([row(2, path="moved.png")], new=False)
    assert table.dtype == Store(store.folder).table("f").dtype == np.float16
    for identifier, found in table.rows([1, 2]).items():
        wanted = row(identifier).content.embedding.astype(np.float16)
        assert found.content.embedding.dtype == np.float16
        np.testing.assert_array_equal(found.content.embedding, wanted)


def test_a_table_is_rounded_as_a_whole(store):
    table = store.create_table("f", 3)
    table.write([row(1), row(2)], new=True)
    table.tidy()
    reader = Store(store.folder).table("f")
    table.keep_in("float32")
    assert table.version == reader.version
    table.keep_in("float16")
    table.keep_in("float16")
    assert table.version == reader.version + 1
    table.write([row(3)], new=True)
    found = Store(store.folder).table("f").rows([1, 2, 3])
    for identifier, one in found.items():
        wanted = row(identifier).content.embedding.astype(np.float16)
        np.testing.assert_array_equal(one.content.embedding, wanted)
        assert one.content.thumbnail == b"jpeg"
    # Who reads at the time goes on with what was there.
    equal(reader.rows([1])[1], row(1))
    with pytest.raises(StoreError, match=r"store must be float16, .* got 'float32': .* by --to"):
        table.keep_in("float32")
    assert table.dtype == np.float16


def test_identifiers_of_all_models_count(store):
    assert store.next_id() == 1
    table = store.create_table("f", 3)
    table.write([row(1), row(7)], new=True)
    store.write_about(models={"f": None, "g": None})
    store.create_table("g", 2).write([row(9, 2)], new=True)
    assert store.next_id() == 10
    store.table("g").delete([9])
    assert store.next_id() == 10
    assert Store(store.folder).next_id() == 10


def test_tidying_changes_nothing(store):
    table = store.create_table("f", 3)
    for identifier in range(1, 9):
        table.write([row(identifier)], new=True)
    table.delete([3])
    before = table.rows(range(1, 9))
    table.tidy()
    after = store.table("f").rows(range(1, 9))
    assert sorted(after) == sorted(before) == [1, 2, 4, 5, 6, 7, 8]
    for identifier, found in after.items():
        equal(found, before[identifier])


def test_pictures_are_looked_up_by_an_index(store):
    """Which stays right whatever is added, replaced, removed and joined, and covers nearly all."""
    table = store.create_table("f", 3)
    for identifier in range(1, 61):
        table.write([row(identifier)], new=True)
        table.tidy()
        if identifier % 7 == 0:
            table.write([row(identifier - 3, path="moved.png")], new=False)
        if identifier % 10 == 0:
            table.delete([identifier - 5])
    (built,) = table._table.list_indices()
    assert built.num_unindexed_rows < module._SMALL_FILES
    plan = table._table.search().where("id in (1, 2)").explain_plan()
    assert "ScalarIndexQuery" in plan
    gone = set(range(5, 60, 10))
    moved = set(range(4, 60, 7))
    for again in (table, Store(store.folder).table("f")):
        found = again.rows(range(70))
        assert set(found) == set(range(1, 61)) - gone
        for identifier, one in found.items():
            equal(one, row(identifier, path="moved.png" if identifier in moved else None))


def test_a_table_of_earlier_versions_gets_an_index(store):
    table = store.create_table("f", 3)
    table.write([row(1), row(2)], new=True)
    assert not table._table.list_indices()
    table.tidy()
    assert Store(store.folder).table("f")._table.list_indices()[0].num_indexed_rows == 2


def test_skipped_files_are_kept_with_their_reasons(store):
    assert store.skipped() == []
    skipped = [Skipped("a\n\udcff", "odd", 3, 4)]
    store.write_skipped(skipped, "decoders")
    assert store.skipped() == store.skipped("decoders") == skipped
    assert store.skipped("others") == []


def test_broken_files_are_named(store, tmp_path):
    path = store.folder / "collection.json"
    right = '{"format": "ital collection", "version": 1, "root": ".."'
    wrong = (f'{right}, "{key}": null}}' for key in ("models", "pca", "next_id"))
    for content in ("", "[]", '{"format": "other", "version": 1}', "{}", *wrong):
        path.write_text(content)
        with pytest.raises(StoreError, match="must describe a collection"):
            Store.find(tmp_path)
    (store.folder / "skipped.json").write_text("{}")
    with pytest.raises(StoreError, match="must list"):
        store.skipped()


def test_a_version_of_the_future_is_refused(store, tmp_path):
    path = store.folder / "collection.json"
    content = json.loads(path.read_text())
    content["version"] = 2
    path.write_text(json.dumps(content))
    with pytest.raises(StoreError, match="2"):
        Store.find(tmp_path)


def test_a_table_that_is_broken_is_named(store):
    store.create_table("f", 3).write([row(1)], new=True)
    for path in (store.folder / "pictures-f.lance" / "_versions").iterdir():
        path.write_bytes(b"nonsense")
    with pytest.raises(StoreError, match=f"cannot read {store.folder}"):
        store.table("f")


def test_a_table_without_a_first_version_is_none(store):
    """A crash came while it was made."""
    store.create_table("f", 3)
    shutil.rmtree(store.folder / "pictures-f.lance" / "_versions")
    assert store.table("f") is None
    assert store.tables() == []
    store.create_table("f", 3).write([row(1)], new=True)
    assert len(store.table("f")) == 1


def test_readers_go_on_when_their_version_has_gone(store, monkeypatch):
    table = store.create_table("f", 3)
    table.write([row(1)], new=True)
    reader = Store(store.folder).table("f")
    assert reader.thumbnail(1) == b"jpeg"
    monkeypatch.setattr(module, "_KEPT", timedelta(0))
    table.write([row(2)], new=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Lance warns of what is tested here
        table.tidy()
    assert reader.thumbnail(1) == b"jpeg"
    equal(reader.rows([1])[1], row(1))


def test_places_that_will_not_do(tmp_path):
    with pytest.raises(StoreError, match="must not be the folder of the pictures itself"):
        Store.create(tmp_path, tmp_path)
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "locksmith.jpg").touch()
    with pytest.raises(StoreError, match="locksmith"):
        Store.create(tmp_path / "store", tmp_path)
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    with pytest.raises(StoreError, match="must be Unicode"):
        Store.create(odd, tmp_path)


def test_the_current_model_must_be_known(store, tmp_path):
    store.write_about(current="g")
    with pytest.raises(StoreError, match="knows no model 'g'"):
        Store.find(tmp_path)


def test_no_collection(tmp_path):
    with pytest.raises(StoreError, match="must be a folder that was indexed"):
        Store.find(tmp_path)
