from __future__ import annotations

import mmap
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack

import numpy as np
import pytest
from filelock import FileLock
from making import draw, without_privileges
from networks import means
from warm import add_up, begun, map_again_and_again

from ital.collection import Collection, describe, index, mapped, pca
from ital.collection.reader import Content
from ital.collection.store import Row, Store
from ital.engine import ThreadEngine
from ital.features import Features


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    return describe(str(means(tmp_path_factory.mktemp("model") / "m.onnx")))


@pytest.fixture
def indexed(folder, quick):
    index(folder, model=quick)
    return folder


def files(folder):
    return sorted(path.name for path in Store.find(folder).folder.glob("mapped-*"))


def is_mapped(array) -> bool:
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap.mmap)


def same(collection: Collection) -> None:
    """All is as the table has it, row by row."""
    store = collection.source.store
    table = store.table(collection.source.table.fingerprint)
    rows = table.rows(collection.ids.tolist())
    assert sorted(rows) == collection.ids.tolist()
    assert collection.paths == [rows[one].path for one in collection.ids.tolist()]
    wanted = np.stack([rows[one].content.embedding for one in collection.ids.tolist()])
    project = pca.current(store, table)
    wanted = wanted if project is None else project(wanted).astype(wanted.dtype)
    np.testing.assert_array_equal(collection.features(), wanted)
    assert collection.features().dtype == table.dtype
    assert collection.features().flags.c_contiguous
    assert not collection.features().flags.writeable
    for identifier, row in rows.items():
        assert collection.thumbnail(identifier) == row.content.thumbnail


@pytest.mark.parametrize("settings", [{}, {"store": "float16"}, {"dimension": 2}])
def test_what_is_indexed_is_mapped(folder, quick, settings):
    index(folder, model=quick, **settings)
    collection = Collection.open(folder)
    assert is_mapped(collection.features())
    same(collection)


def test_what_changes_is_mapped_anew(indexed):
    before = Collection.open(indexed)
    wanted = before.features().copy()
    old = files(indexed)
    assert index(indexed).unchanged == 12
    assert files(indexed) == old
    draw(indexed / "new.png", 100)
    (indexed / "a" / "00.png").rename(indexed / "moved.png")
    draw(indexed / "b" / "01.png", 101)
    (indexed / "c" / "02.png").unlink()
    index(indexed)
    assert len(files(indexed)) == 1
    assert files(indexed) != old
    after = Collection.open(indexed)
    assert is_mapped(after.features())
    same(after)
    # Those who have the old files go on with them.
    np.testing.assert_array_equal(before.features(), wanted)
    assert before.thumbnail(3)
    index(indexed, dimension=2)
    assert len(files(indexed)) == 1
    same(Collection.open(indexed))


def test_rows_in_any_order(tmp_path):
    """Files of a table may have its rows in any order, with gaps between their identifiers."""
    store = Store.create(tmp_path / ".ital", tmp_path)
    store.write_about(models={"f": None}, current="f")
    table = store.create_table("f", 3)
    ids = np.random.default_rng(0).permutation(np.arange(2, 600, 3)).tolist()
    for start in range(0, len(ids), 50):
        vectors = np.random.default_rng(start).normal(size=(50, 3)).astype(np.float32)
        chosen = zip(ids[start : start + 50], vectors, strict=True)
        rows = [Row(one, f"{one}.png", "", 0, 0, Content(1, 1, b"x", x)) for one, x in chosen]
        table.write(rows, new=True)
    collection = Collection.open(tmp_path)
    assert is_mapped(collection.features())
    assert collection.ids.tolist() == sorted(ids)
    same(collection)


def test_the_average_is_made_once_and_not_by_every_process(indexed, monkeypatch):
    """Searches that have another kernel, or that know nothing of it, make their own."""
    for engine in (None, ThreadEngine(2)):
        opened = Collection.open(indexed, engine=engine)
        monkeypatch.setattr(opened.source, "_embeddings", mapped.Embeddings(opened.features(), {}))
        wanted = opened.search(seed=0)
        wanted.query(relevant=[3])
        found = Collection.open(indexed, engine=engine).search(seed=0)
        found.query(relevant=[3])
        np.testing.assert_allclose(found.results().means, wanted.results().means, rtol=1e-12)
        assert found.suggest(3).tolist() == wanted.suggest(3).tolist()
    again = Collection.open(indexed)
    again.search(length_scale=0.3).query(relevant=[3])
    monkeypatch.setattr(Features, "mean_of", None)  # a pass over the embeddings would fail now
    again.search().query(relevant=[3])


@pytest.mark.parametrize("name", ["features.npy", "pictures.arrow", "average-*.npy"])
@pytest.mark.parametrize("content", [None, b"", b"nonsense", "half"])
def test_what_is_missing_or_broken_is_made_anew(indexed, name, content):
    (path,) = Store.find(indexed).folder.glob(f"mapped-*/{name}")
    whole = path.read_bytes()
    path.unlink()
    if content is not None:
        path.write_bytes(whole[: len(whole) // 2] if content == "half" else content)
    collection = Collection.open(indexed)
    assert is_mapped(collection.features())
    same(collection)
    assert path.read_bytes() == whole


def test_what_a_killed_run_left_is_made_anew(indexed):
    """The table has gone on, and the files have not; and others were being made."""
    store = Store.find(indexed)
    (store.folder / f"mapped-{store.about.current}-part").mkdir()
    (store.folder / f"mapped-{store.about.current}-part" / "features.npy").touch()
    store.table(store.about.current).delete([3])
    collection = Collection.open(indexed)
    assert len(collection) == 11
    same(collection)
    assert is_mapped(collection.features())
    assert len(files(indexed)) == 1


def test_an_older_version_is_read(indexed):
    """It was opened before the table changed, and is looked at after."""
    opened = Collection.open(indexed)
    wanted = np.array(Collection.open(indexed).features())
    (indexed / "a" / "00.png").unlink()
    index(indexed)
    np.testing.assert_array_equal(opened.features(), wanted)
    assert len(opened) == 12
    assert len(files(indexed)) == 1
    assert is_mapped(Collection.open(indexed).features())


def test_a_table_that_is_made_anew(tmp_path):
    """Its versions have the same numbers."""
    store = Store.create(tmp_path / ".ital", tmp_path)
    store.write_about(models={"f": None}, current="f")
    for value in (1, 2):
        table = store.create_table("f", 2)
        vector = np.array([value, 0], np.float32)
        table.write([Row(1, "a.png", "", 0, 0, Content(1, 1, b"x", vector))], new=True)
        same(Collection.open(tmp_path))


def test_components_that_are_learnt_anew(indexed):
    index(indexed, dimension=2)
    first = Collection.open(indexed).features()
    for path in Store.find(indexed).folder.glob("pca-*"):
        path.unlink()
    store = Store.find(indexed)
    other = pca.Projection(np.ones(3, np.float32), np.eye(2, 3, dtype=np.float32))
    path = store.folder / f"pca-{store.about.current}-2.npz"
    np.savez(path, mean=other.mean, components=other.components)
    second = Collection.open(indexed)
    assert np.abs(second.features() - first).max() > 0.01
    same(second)


def test_while_someone_indexes_nothing_is_written(indexed):
    shutil.rmtree(Store.find(indexed).folder / files(indexed)[0])
    with FileLock(indexed / ".ital" / "lock"):
        collection = Collection.open(indexed)
        same(collection)
    assert not is_mapped(collection.features())
    assert files(indexed) == []


OPEN = """
import sys
from ital.collection import Collection
collection = Collection.open(sys.argv[1])
print(collection.features().sum())
"""


def little_room() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


@pytest.mark.parametrize("prepare", [without_privileges, little_room])
def test_where_nothing_can_be_written(indexed, prepare):
    """A folder that is read-only, and a disk that is full."""
    wanted = Collection.open(indexed).features().sum()
    shutil.rmtree(Store.find(indexed).folder / files(indexed)[0])
    (indexed / ".ital").chmod(0o500 if prepare is without_privileges else 0o700)
    try:
        command = [sys.executable, "-c", OPEN, str(indexed)]
        result = subprocess.run(
            command, capture_output=True, text=True, preexec_fn=prepare, check=False
        )
    finally:
        (indexed / ".ital").chmod(0o700)
    assert result.returncode == 0, result.stderr
    assert float(result.stdout) == pytest.approx(wanted)
    assert files(indexed) == []


def test_an_index_without_room_for_it(indexed, monkeypatch):
    """The pictures are in the collection, and opening it takes longer."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    draw(indexed / "new.png", 100)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        patch.setattr("ital.collection.store.write_whole", lambda path, text: path.write_text(text))
        assert index(indexed).pictures == 13
    assert files(indexed) == []
    same(Collection.open(indexed))


def test_killed_while_it_is_written(indexed):
    chance = random.Random(0)
    for _ in range(5):
        with begun(map_again_and_again, indexed) as (process, said):
            assert said.recv() == "ready"
            time.sleep(chance.uniform(0, 0.1))
            process.kill()
        assert process.exitcode == -signal.SIGKILL
        same(Collection.open(indexed))
        assert is_mapped(Collection.open(indexed).features())
        assert len(files(indexed)) == 1


def test_many_at_once(indexed):
    """They find files, or make them, or do without."""
    wanted = Collection.open(indexed).features().sum()
    shutil.rmtree(Store.find(indexed).folder / files(indexed)[0])
    with ExitStack() as stack:
        running = [stack.enter_context(begun(add_up, indexed)) for _ in range(3)]
        for _, said in running:
            assert said.recv() == pytest.approx(wanted)
    assert [process.exitcode for process, _ in running] == [0, 0, 0]
    assert len(files(indexed)) == 1


def test_paths(indexed):
    paths = Collection.open(indexed).paths
    listed = list(paths)
    assert len(paths) == len(listed) == 12
    assert listed == sorted(listed)
    assert paths[0] == listed[0]
    assert paths[-1] == listed[-1]
    assert paths[np.int64(3)] == listed[3]
    assert paths[2:5] == listed[2:5]
    assert paths[5:2] == []
    assert paths[10:100] == listed[10:]
    assert paths == listed
    assert paths != listed[:-1]
    assert paths != 3
    assert paths.index(listed[7]) == 7
    assert listed[7] in paths
    with pytest.raises(IndexError):
        paths[12]
    assert isinstance(paths, mapped.Paths)
