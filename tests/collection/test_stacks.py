from __future__ import annotations

import shutil

import numpy as np
import pytest
from making import draw
from PIL import Image

import ital
from ital.collection import index, stacks
from ital.collection.store import Store


def groups(folder):
    """Stacks by the names of their files."""
    collection = ital.Collection.open(folder)
    return sorted(sorted(collection.path(one).name for one in stack) for stack in collection.stacks)


def copy(source, target, scale=1.0, quality=80):
    with Image.open(source) as image:
        size = (round(image.width * scale), round(image.height * scale))
        image.convert("RGB").resize(size).save(target, quality=quality)
    return target


@pytest.fixture
def large(tmp_path):
    """Pictures that the real network tells from their copies."""
    for number in range(6):
        draw(tmp_path / "large" / f"{number}.png", number, (320, 240))
    return tmp_path / "large"


def test_copies_are_found_as_they_come_and_go(large):
    index(large)
    assert groups(large) == []
    copy(large / "1.png", large / "1-small.jpg", 0.75)
    copy(large / "4.png", large / "4-again.jpg")
    shutil.copy(large / "4.png", large / "4-same.png")
    index(large)
    four = ["4-again.jpg", "4-same.png", "4.png"]
    assert groups(large) == [["1-small.jpg", "1.png"], four]
    (large / "4.png").unlink()  # it was the centre
    index(large)
    assert groups(large) == [["1-small.jpg", "1.png"], four[:2]]
    draw(large / "1.png", 77, (320, 240))
    index(large)
    assert groups(large) == [four[:2]]


def test_what_is_found_at_once_is_what_is_found_bit_by_bit(large, tmp_path):
    index(large)
    for number in range(3):
        copy(large / f"{number}.png", large / f"{number}-copy.jpg", 0.9)
        index(large)
    index(large, tmp_path / "anew")
    assert len(groups(large)) == 3
    assert groups(large) == groups(tmp_path / "anew")


def test_nothing_is_compared_where_nothing_has_changed(large):
    index(large)
    store = Store.find(large)
    file = store.folder / f"stacks-{store.about.current}.npz"
    before = file.stat().st_mtime_ns
    index(large)
    assert file.stat().st_mtime_ns == before


def test_a_file_that_is_broken_or_missing_is_made_anew(large):
    copy(large / "0.png", large / "copy.jpg")
    index(large)
    store = Store.find(large)
    file = store.folder / f"stacks-{store.about.current}.npz"
    for content in (b"", b"no archive", file.read_bytes()[:40]):
        file.write_bytes(content)
        assert groups(large) == []
        index(large)
        assert groups(large) == [["0.png", "copy.jpg"]]
    file.unlink()
    index(large)
    assert groups(large) == [["0.png", "copy.jpg"]]


def test_pictures_that_are_not_known_are_alone():
    known = stacks.Stacks(np.array([2, 4, 7]), np.zeros(3, np.uint64), np.array([2, 2, 7]), 0.9)
    assert known.of(np.array([1, 2, 4, 5, 9])).tolist() == [1, 2, 2, 5, 9]


def test_a_table_of_an_older_version_gets_its_hashes_from_thumbnails(large):
    copy(large / "0.png", large / "copy.jpg")
    index(large)
    store = Store.find(large)
    store.table(store.about.current)._table.drop_columns(["phash"])
    (store.folder / f"stacks-{store.about.current}.npz").unlink()
    assert groups(large) == []  # and it can be opened
    draw(large / "new.png", 50)
    assert index(large).embedded == 1
    assert groups(large) == [["0.png", "copy.jpg"]]


def test_embeddings_from_elsewhere_have_none():
    collection = ital.Collection.from_arrays(np.ones((3, 2)), ["a", "b", "c"])
    assert collection.stacks == []
