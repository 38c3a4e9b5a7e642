from __future__ import annotations

import csv
import io
import json
import os
from contextlib import suppress
from pathlib import Path, PurePosixPath

import numpy as np
import pytest
from making import draw, swapping

from ital.collection import Collection, imports, index
from ital.collection.export import FILES, Found, file_name, found, to_csv, write


@pytest.fixture
def searched(tmp_path):
    """Six pictures, two of them of the same name, and a search that knows three."""
    names = ["a/x.png", "b/x.png", "c,d.png", 'e"f.png', "ü.png", "g.png"]
    for number, name in enumerate(names):
        draw(tmp_path / "pictures" / name, number)
    features = np.random.default_rng(0).normal(size=(6, 4))
    collection = Collection.from_arrays(features, names, [3, 4, 7, 8, 9, 20], tmp_path / "pictures")
    search = collection.search(seed=0)
    search.query(relevant=[4])
    search.answer({8: False, 20: None})
    return collection, search


def test_what_was_found(searched):
    collection, search = searched
    results = search.results()
    listed = found(collection, search)
    assert [one.id for one in listed] == results.ids.tolist()
    assert [one.rank for one in listed] == [1, 2, 3, 4, 5, 6]
    assert [one.probability for one in listed] == results.probabilities.tolist()
    paths = dict(zip(collection.ids.tolist(), collection.paths, strict=True))
    assert all(one.path == paths[one.id] for one in listed)
    labels = {one.id: one.label for one in listed if one.label}
    assert labels == {4: "yes", 8: "no", 20: "unsure"}
    assert [one.id for one in found(collection, search, top=2)] == results.ids[:2].tolist()
    likely = found(collection, search, threshold=0.5)
    assert [one.id for one in likely] == results.ids[results.probabilities >= 0.5].tolist()
    with pytest.raises(ValueError, match="threshold"):
        found(collection, search, threshold=2)


def test_tables_and_lists(searched, tmp_path):
    collection, search = searched
    listed = found(collection, search)
    for kind in FILES:
        write(kind, listed, collection.root, tmp_path / kind)
    table = list(csv.DictReader(io.StringIO((tmp_path / "csv").read_text("utf-8"))))
    assert [row["path"] for row in table] == [one.path for one in listed]
    assert [float(row["probability"]) for row in table] == [one.probability for one in listed]
    assert {row["id"]: row["label"] for row in table if row["label"]} == {
        "4": "yes",
        "8": "no",
        "20": "unsure",
    }
    content = json.loads((tmp_path / "json").read_text("utf-8"))
    assert [Found(**one) for one in content["pictures"]] == listed
    assert content["root"] == str(tmp_path / "pictures")
    lines = (tmp_path / "paths").read_text("utf-8").splitlines()
    assert lines == [str(tmp_path / "pictures" / one.path) for one in listed]
    assert (tmp_path / "paths0").read_text("utf-8").split("\0") == [*lines, ""]


@pytest.mark.parametrize("kind", ["copies", "links"])
def test_folders(searched, tmp_path, kind):
    collection, search = searched
    listed = found(collection, search)
    write(kind, listed, collection.root, tmp_path / "out")
    files = sorted((tmp_path / "out").iterdir())
    assert len(files) == 6
    for file, one in zip(files, listed, strict=True):
        assert file.name == f"{one.rank}-{(tmp_path / one.path).name}"
        assert file.is_symlink() == (kind == "links")
        assert file.read_bytes() == (collection.root / one.path).read_bytes()
    with pytest.raises(ValueError, match="new or an empty folder"):
        write(kind, listed, collection.root, tmp_path / "out")


def test_long_names_and_line_breaks(tmp_path):
    names = [f"{'x' * 250}.png", f"{'ü' * 125}.png", "a\nb.png"]
    for number, name in enumerate(names):
        draw(tmp_path / name, number)
    listed = [Found(rank, rank, name, 1.0, 1.0, "") for rank, name in enumerate(names, start=1)]
    write("links", listed, tmp_path, tmp_path / "links")
    files = sorted((tmp_path / "links").iterdir())
    assert [file.read_bytes() for file in files] == [
        (tmp_path / name).read_bytes() for name in names
    ]
    paths = [str(tmp_path / name) for name in names]
    # A list can hold all but the one with the line break, and says so.
    assert write("paths", listed, tmp_path, tmp_path / "paths") == listed[2:]
    assert (tmp_path / "paths").read_text("utf-8") == f"{paths[0]}\n{paths[1]}\n"
    assert imports.read_paths(tmp_path / "paths") == paths[:2]
    for kind in ("paths0", "json", "csv"):
        assert write(kind, listed, tmp_path, tmp_path / kind) == []
    assert (tmp_path / "paths0").read_text("utf-8") == "".join(f"{path}\0" for path in paths)


def test_a_line_break_in_the_path_of_the_folder(tmp_path):
    listed = [Found(1, 1, "a.png", 1.0, 1.0, "")]
    assert write("paths", listed, tmp_path / "line\nbreak", tmp_path / "paths") == listed
    assert (tmp_path / "paths").read_text() == ""


def test_no_picture_is_replaced(searched, tmp_path, monkeypatch):
    """Whether it was found or not, and by whatever name it is called."""
    collection, search = searched
    picture = collection.root / "a" / "x.png"
    before = picture.read_bytes()
    (tmp_path / "link.csv").symlink_to(picture)
    (tmp_path / "hard.csv").hardlink_to(picture)
    monkeypatch.chdir(tmp_path)
    names = (picture, "pictures/b/../a/x.png", "link.csv", "hard.csv")
    for kind in FILES:
        for out in map(Path, names):
            with pytest.raises(ValueError, match="out must not replace a picture"):
                write(kind, found(collection, search, top=1), collection.root, out)
    assert picture.read_bytes() == before
    # One that is of no format that ital knows is a picture as well, if it was found.
    picture.write_bytes(b"raw")
    with pytest.raises(ValueError, match="out must not replace a picture"):
        write("csv", found(collection, search), collection.root, picture)
    (tmp_path / "old.csv").write_text("an older table")
    write("csv", found(collection, search), collection.root, tmp_path / "old.csv")
    assert (tmp_path / "old.csv").read_text().startswith("rank")


def test_nothing_is_written_into_a_collection(searched, folder, tmp_path):
    collection, search = searched
    for store in (None, tmp_path / "store"):
        index(folder, store)
        store = store or folder / ".ital"
        before = sorted(store.rglob("*"))
        about = (store / "collection.json").read_bytes()
        for kind, name in (("csv", "collection.json"), ("csv", "new.csv"), ("copies", "a/new")):
            with pytest.raises(ValueError, match=f"out must not lie in the collection {store}"):
                write(kind, found(collection, search), collection.root, store / name)
        assert sorted(store.rglob("*")) == before
        assert (store / "collection.json").read_bytes() == about
    # Others may call their files so as well.
    (tmp_path / "collection.json").write_text("{}")
    write("csv", found(collection, search), collection.root, tmp_path / "found.csv")


def test_missing_pictures_stop_it_before_it_begins(searched, tmp_path):
    collection, search = searched
    (collection.root / "g.png").unlink()
    with pytest.raises(ValueError, match=r"1 pictures are not where they were: 'g\.png'"):
        write("copies", found(collection, search), collection.root, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["copies", "links"])
@pytest.mark.parametrize("path", ["link.png", "up/secret.png", "../secret.png", "{}/secret.png"])
def test_files_outside_the_folder_stay_there(tmp_path, kind, path):
    draw(tmp_path / "secret.png", 0)
    draw(tmp_path / "in" / "a.png", 1)
    (tmp_path / "in" / "link.png").symlink_to("../secret.png")
    (tmp_path / "in" / "up").symlink_to("..")
    names = ["a.png", path.format(tmp_path)]
    listed = [Found(rank, rank, name, 1.0, 1.0, "") for rank, name in enumerate(names, start=1)]
    with pytest.raises(ValueError, match="1 pictures are not where they were"):
        write(kind, listed, tmp_path / "in", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_copies_are_never_of_others(tmp_path):
    """However a picture is swapped with a link while it is copied."""
    own = draw(tmp_path / "in" / "a.png", 1).read_bytes()
    listed = [Found(1, 1, "a.png", 1.0, 1.0, "")]
    copied = 0
    with swapping(tmp_path / "in" / "a.png", draw(tmp_path / "secret.png", 0)):
        for number in range(2000):
            out = tmp_path / f"{number}"
            with suppress(OSError, ValueError):
                write("copies", listed, tmp_path / "in", out)
                assert (out / "1-a.png").read_bytes() == own
                copied += 1
    assert copied


def test_copies_keep_their_times_and_modes(tmp_path):
    picture = draw(tmp_path / "in" / "a.png", 1)
    picture.chmod(0o640)
    os.utime(picture, ns=(1_000_000_001, 2_000_000_002))
    write("copies", [Found(1, 1, "a.png", 1.0, 1.0, "")], tmp_path / "in", tmp_path / "out")
    copy = (tmp_path / "out" / "1-a.png").stat()
    assert (copy.st_mode, copy.st_mtime_ns) == (picture.stat().st_mode, 2_000_000_002)


def test_other_formats(tmp_path):
    with pytest.raises(
        ValueError, match="one of csv, json, paths, paths0, parquet, copies, links, got"
    ):
        write("xls", [], tmp_path, tmp_path / "out")


def test_tables_hold_no_formulas():
    """A path that spreadsheets would run is written in a way that leads to the same file."""
    names = ["=cmd|' C calc'!A1.jpg", "+1.jpg", "-1.jpg", "@sum.jpg", "plain.jpg"]
    rows = [Found(n, n, name, 0.5, 0.0, "") for n, name in enumerate(names, start=1)]
    found = [row["path"] for row in csv.DictReader(io.StringIO(to_csv(rows)))]
    assert [str(PurePosixPath(path)) for path in found] == names
    assert not any(path.startswith(("=", "+", "-", "@")) for path in found)


def test_names_keep_their_rank_however_long():
    rows = [Found(n, n, f"x.{'y' * 250}", 0.5, 0.0, "") for n in range(1, 21)]
    names = [file_name(one, len(rows)) for one in rows]
    assert len(set(names)) == len(names)
    assert max(len(name.encode()) for name in names) <= 255
