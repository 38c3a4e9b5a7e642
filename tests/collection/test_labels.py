from __future__ import annotations

import numpy as np
import pandas
import pyarrow as pa
import pytest
from making import draw
from pyarrow import parquet

from ital import Answer, Collection
from ital.collection import export, index
from ital.collection import said as saying
from ital.collection.examples import examples
from ital.collection.labels import pictures_in, teach

YES, NO, UNSURE = Answer.YES, Answer.NO, Answer.UNSURE


@pytest.fixture
def collection(tmp_path) -> Collection:
    names = ["a.png", "b/ü.png", "c.png", "=d.png", "e.png", "f.png"]
    features = np.random.default_rng(0).normal(size=(6, 4))
    return Collection.from_arrays(features, names, [3, 4, 7, 8, 9, 20], tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("paths.csv", "path,label\na.png,yes\nb/ü.png,no\nc.png,unsure\ne.png,\n"),
        ("forms.csv", "\ufeffLABEL,label,path\nx,TRUE,./a.png\nx,false,b//ü.png\n\nx,0,c.png\n"),
        ("ids.csv", 'id;label\n3;1\n"4";-1\n7;0\n3;yes\n'),
        ("whole.csv", "file_name\tlabel\n{root}/a.png\t1\n{root}/b/ü.png\tNo\nc.png\tUnsure\n"),
        ("list.json", '[{"path": "a.png", "label": true}, {"path": "b/ü.png", "label": false}, '
         '{"path": "c.png", "label": 0}, {"path": "e.png", "label": null}]'),
        ("plain.json", '{"a.png": "yes", "b/ü.png": -1, "c.png": "unsure"}'),
    ],
)  # fmt: skip
def test_tables_in_every_form(collection, tmp_path, name, content):
    file = tmp_path / name
    file.write_text(content.replace("{root}", str(tmp_path)), encoding="utf-8")
    assert collection.read_labels(file) == {3: YES, 4: NO, 7: UNSURE}


def test_parquet_in_every_type(collection, tmp_path):
    file = tmp_path / "labels.parquet"
    for labels in (["yes", "no"], [True, False], [1, -1], [1.0, -1.0]):
        parquet.write_table(pa.table({"id": [3, 4], "label": labels}), file)
        assert collection.read_labels(file) == {3: YES, 4: NO}
    pandas.DataFrame({"path": ["a.png", "c.png"], "label": ["yes", None]}).to_parquet(file)
    assert collection.read_labels(file) == {3: YES}


def test_what_is_exported_can_be_read(collection, tmp_path):
    search = collection.search(seed=0)
    search.query(relevant=[8, np.ones(4)])
    search.answer({3: True, 7: None})
    search.answer({3: False})
    expected = {8: YES, 3: NO, 7: UNSURE}
    for kind in ("csv", "json", "parquet"):
        file = tmp_path / f"labels.{kind}"
        export.write(kind, export.found(collection, search), collection.root, file)
        assert collection.read_labels(file) == expected
        saying.write(kind, saying.said(collection, search), collection.root, file)
        assert collection.read_labels(file) == expected


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", b"path,label\na.png,yes\nq.png,no\n", r"line 3: path must be .*, got 'q.png'"),
        ("x.csv", b"path,label\n../a.png,yes\n", r"line 2: path must be .*, got '../a.png'"),
        ("x.csv", b"path,label\n,yes\n", "line 2: there is no path"),
        ("x.csv", b"path,label\na.png,maybe\n", "line 2: label must be yes, no or .*'maybe'"),
        ("x.csv", b"path,label\na.png,yes\nc.png,no\na.png,no\n",
         "line 4: the same picture is a no here and a yes in line 2"),
        ("x.csv", b"path,colour\na.png,red\n", "line 2: a label must be in a column label or"),
        ("x.csv", b"colour,label\nred,yes\n", "line 2: a path or an identifier must be in a col"),
        ("x.csv", b"id,label\n3,yes\n5,no\n", "line 3: identifier must be .*, got '5'"),
        ("x.csv", b"id,label\n-3,yes\n", "line 2: identifier must be .*, got '-3'"),
        ("x.csv", b"path,label\na.png,yes\n\xff.png,no\n", "must be text in UTF-8, but line 3 is"),
        ("x.csv", b"path,label\na.png,yes,no\n", "line 2 must have 2 columns, got 3"),
        ("x.csv", b'path,label\n"a.png,yes\n', "line 2 must be CSV, but"),
        ("x.csv", b"", "line 1 must name two columns or more, got ''"),
        ("x.csv", b"a.png\nc.png\n", "line 1 must name two columns or more, got 'a.png'"),
        ("x.csv", b"path,label\na.png,\n", "no row has a label"),
        ("x.json", b"[1]", "item 1 must be an object, got 1"),
        ("x.json", b"3", "must be a list of objects, or paths with labels"),
        ("x.json", b'{"a.png": \n}', "must be JSON, but: .* line 2"),
        ("x.json", b'{"a.png": [1]}', "item 1: label must be yes, no or unsure"),
        ("x.json", b"\xff\xfe\x00", "must be JSON, but"),
        ("x.parquet", b"PAR1", "x.parquet"),
        ("x.xls", b"", "labels must end in .csv, .json, .parquet, got"),
    ],
)  # fmt: skip
def test_malformed_files_are_refused(collection, tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        collection.read_labels(tmp_path / name)
    assert name in str(caught.value)


def test_no_file(collection, tmp_path):
    with pytest.raises(ValueError, match=r"labels must be a file that is there, but .*none\.csv"):
        collection.read_labels(tmp_path / "none.csv")


def test_labels_are_examples_and_not_answers(collection):
    search = collection.search(seed=0)
    teach(search, {3: YES, 4: NO, 7: UNSURE}, no=[np.ones(4)])
    assert search.labels == {3: True, 4: False, 7: None}
    assert search.model.answers == 0
    teach(search, {7: YES})
    assert search.labels == {3: True, 4: False, 7: True}


def test_what_cannot_be_taught_changes_nothing(collection):
    search = collection.search(seed=0)
    with pytest.raises(ValueError, match="labels must have a yes or a no to begin"):
        teach(search, {7: UNSURE})
    assert search.events == ()
    teach(search, {7: YES})
    with pytest.raises(ValueError, match="must leave one image relevant"):
        teach(search, {7: UNSURE})
    assert search.labels == {7: True}


def test_folders_of_examples(folder, quick, tmp_path):
    """Copies of pictures of the collection are these, whatever they are called now."""
    index(folder, model=quick)
    collection = Collection.open(folder)
    known = collection.identifiers(["a/00.png", "b/01.png"])
    (tmp_path / "yes" / "below").mkdir(parents=True)
    for name, own in (("1-x.png", "a/00.png"), ("below/y.png", "b/01.png")):
        (tmp_path / "yes" / name).write_bytes((folder / own).read_bytes())
    draw(tmp_path / "yes" / "z.png", 99)
    *own, vector = examples(collection, pictures_in(tmp_path / "yes", "--yes"), "--yes")
    assert own == list(known.values())
    np.testing.assert_array_equal(vector, collection.embed(tmp_path / "yes" / "z.png"))
    (tmp_path / "empty").mkdir()
    for place, words in (("empty", "is empty"), ("none", "must be a folder of pictures, got")):
        with pytest.raises(ValueError, match=words):
            pictures_in(tmp_path / place, "--yes")


def test_no_more_rows_are_read_than_a_file_may_have(collection, tmp_path, monkeypatch):
    file = tmp_path / "labels.csv"
    file.write_text("id,label\n3,yes\n4,no\n")
    monkeypatch.setattr("ital.collection.labels.MOST_ROWS", 1)
    with pytest.raises(ValueError, match="may have 1 rows at the most"):
        collection.read_labels(file)


def test_of_a_parquet_file_no_more_is_unpacked_than_it_may_have(collection, tmp_path, monkeypatch):
    file = tmp_path / "labels.parquet"
    parquet.write_table(pa.table({"id": [3, 4], "label": ["yes", "no"]}), file)
    monkeypatch.setattr("ital.collection.labels._MOST_BYTES", 10)
    with pytest.raises(ValueError, match="may have 10 bytes at the most, uncompressed"):
        collection.read_labels(file)
    parquet.write_table(pa.table({"colour": ["red"]}), file)
    monkeypatch.undo()
    with pytest.raises(ValueError, match="must be in a column label or answer, got colour"):
        collection.read_labels(file)
