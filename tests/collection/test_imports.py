from __future__ import annotations

from pathlib import Path

import lancedb
import numpy as np
import pyarrow as pa
import pytest
from making import draw
from pyarrow import parquet

from ital.collection import Collection, describe, import_embeddings, imports, index
from ital.collection.store import Store, StoreError

VECTORS = np.random.default_rng(0).normal(size=(6, 4))
PATHS = [f"{letter}.png" for letter in "fbdace"]
UNIT = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)


def lists(fixed=False):
    if fixed:
        return pa.FixedSizeListArray.from_arrays(pa.array(VECTORS.ravel()), 4)
    return pa.array(VECTORS.tolist())


def write(folder, kind):
    """The vectors and, where the format has room for them, the paths."""
    file = folder / f"given{kind}"
    if kind == ".npy":
        np.save(file, VECTORS)
        return file, PATHS
    if kind == ".npz":
        np.savez(file, embeddings=VECTORS, paths=PATHS)
    elif kind == ".parquet":
        parquet.write_table(pa.table({"embedding": lists(), "file": PATHS}), file)
    else:
        table = pa.table({"vector": lists(fixed=True), "path": PATHS})
        lancedb.connect(folder).create_table("given", table)
    return file, None


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Pictures where they are looked for."""
    for name in PATHS:
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("kind", [".npy", ".npz", ".parquet", ".lance"])
def test_formats(tmp_path, kind):
    file, paths = write(tmp_path, kind)
    draw(tmp_path / "pictures" / "a.png", 0)
    collection = import_embeddings(file, tmp_path / "store", paths, tmp_path / "pictures")
    assert list((tmp_path / "store").glob("mapped-*/features.npy")), "opening takes no pass"
    for found in (collection, Collection.open(tmp_path / "store")):
        assert found.ids.tolist() == [1, 2, 3, 4, 5, 6]
        assert found.paths == PATHS
        np.testing.assert_allclose(found.features(), UNIT, atol=1e-6)
    assert found.image(4).size == (48, 32)
    assert found.thumbnail(4)[:2] == b"\xff\xd8"
    search = found.search()
    search.query(relevant=[2])
    assert search.results(1).ids.tolist() == [2]
    with pytest.raises(StoreError, match="came from elsewhere"):
        found.embed(tmp_path / "pictures" / "a.png")


def test_again_and_others_beside(tmp_path):
    file, paths = write(tmp_path, ".npy")
    import_embeddings(file, tmp_path / "store", paths, tmp_path)
    assert len(import_embeddings(file, tmp_path / "store", paths, tmp_path)) == 6
    other = tmp_path / "other.npy"
    np.save(other, np.eye(3))
    names = ["new.png", "c.png", "f.png"]
    collection = import_embeddings(other, tmp_path / "store", names, tmp_path)
    assert dict(zip(collection.paths, collection.ids.tolist(), strict=True)) == {
        "new.png": 7,
        "c.png": 5,
        "f.png": 1,
    }
    by_path = dict(zip(collection.paths, collection.features(), strict=True))
    for row, name in enumerate(names):
        np.testing.assert_array_equal(by_path[name], np.eye(3)[row])


def test_embeddings_of_half_the_size(tmp_path):
    np.savez(tmp_path / "x.npz", X=VECTORS.astype(np.float16), paths=PATHS)
    file, paths = write(tmp_path, ".npy")
    wanted = UNIT.astype(np.float32).astype(np.float16)
    for _ in range(2):
        collection = import_embeddings(file, tmp_path / "store", paths, store="float16")
        assert collection.features().dtype == np.float16
        np.testing.assert_array_equal(collection.features(), wanted)
    whole = import_embeddings(tmp_path / "x.npz", tmp_path / "other")
    assert whole.features().dtype == np.float32
    rounded = import_embeddings(tmp_path / "x.npz", tmp_path / "other", store="float16")
    np.testing.assert_array_equal(rounded.features(), whole.features().astype(np.float16))
    with pytest.raises(StoreError, match="store must be float16"):
        import_embeddings(tmp_path / "x.npz", tmp_path / "other", store="float32")
    with pytest.raises(StoreError, match="store must be float32 or float16, got 'double'"):
        import_embeddings(tmp_path / "x.npz", tmp_path / "third", store="double")
    assert not (tmp_path / "third").exists()


def test_large_lists_and_names_as_bytes(tmp_path):
    column = lists().cast(pa.large_list(pa.float64()))
    parquet.write_table(pa.table({"X": column, "image": PATHS}), tmp_path / "a.parquet")
    found = import_embeddings(tmp_path / "a.parquet", tmp_path / "one", root=tmp_path)
    np.savez(tmp_path / "b.npz", X=VECTORS, paths=[name.encode() for name in PATHS])
    for collection in (found, import_embeddings(tmp_path / "b.npz", tmp_path / "two")):
        assert collection.paths == PATHS
        np.testing.assert_allclose(collection.features(), UNIT, atol=1e-6)


def test_other_paths_are_another_import(tmp_path):
    file, paths = write(tmp_path, ".npy")
    import_embeddings(file, tmp_path / "store", paths)
    other = [f"new/{path}" for path in paths]
    draw(tmp_path / other[0], 0)
    collection = import_embeddings(file, tmp_path / "store", other)
    assert collection.paths == other
    assert collection.ids.tolist() == [7, 8, 9, 10, 11, 12]


def test_broken_off_and_begun_again(tmp_path, monkeypatch):
    """What a crash left is not taken for the whole, and its identifiers for nobody's."""
    file, paths = write(tmp_path, ".npy")
    written = imports.Table.write

    def crash(table, rows, new):
        if len(table):
            raise KeyboardInterrupt
        written(table, rows, new)

    with monkeypatch.context() as patch:
        patch.setattr(imports, "_BATCH", 2)
        patch.setattr(imports.Table, "write", crash)
        with pytest.raises(KeyboardInterrupt):
            import_embeddings(file, tmp_path / "store", paths)
    assert Store.find(tmp_path / "store").next_id() == 3
    collection = import_embeddings(file, tmp_path / "store", paths)
    assert collection.paths == PATHS
    np.testing.assert_allclose(collection.features(), UNIT, atol=1e-6)


def test_identifiers_of_two_tables_that_disagree(tmp_path):
    """The current one is right about its paths, and no identifier is used twice."""
    folder = tmp_path / "pictures"
    for number, name in enumerate("abc"):
        draw(folder / f"{name}.png", number)
    for name in ("lite1", "lite0"):
        index(folder, model=describe(name))
    (folder / "a.png").rename(folder / "moved.png")
    draw(folder / "a.png", 9)
    index(folder)
    np.save(tmp_path / "x.npy", np.eye(4))
    names = ["a.png", "b.png", "c.png", "moved.png"]
    collection = import_embeddings(tmp_path / "x.npy", folder / ".ital", names, folder)
    assert collection.ids.tolist() == [1, 2, 3, 4]
    assert collection.paths == ["moved.png", "b.png", "c.png", "a.png"]
    assert len(collection.search()) == 4


class TestWhereThePicturesAre:
    """Nothing that lies outside of the folder of the pictures is ever one of them."""

    OUTSIDE = ("/etc/passwd", "../etc/hostname", "a/../../b.png", "..", "/", "")

    @pytest.fixture(params=["import", "arrays"])
    def make(self, request, tmp_path):
        def make(names, root):
            if request.param == "arrays":
                return Collection.from_arrays(np.eye(len(names)), names, root=root)
            np.save(tmp_path / "x.npy", np.eye(len(names)))
            return import_embeddings(tmp_path / "x.npy", tmp_path / "store", names, root)

        return make

    @pytest.mark.parametrize("name", [*OUTSIDE, "nul\0.png", "\udcff.png"])
    def test_paths_out_of_the_folder_are_refused(self, make, tmp_path, name):
        names = ["a.png", name, "../other.png"]
        with pytest.raises(ValueError, match="paths must be those of files in the folder") as error:
            make(names, tmp_path)
        assert f"got {name!r} in row 1" in str(error.value)
        assert not (tmp_path / "store").exists()

    def test_whole_paths_are_taken_from_the_folder_on(self, make, tmp_path):
        real = tmp_path / "pictures"
        draw(real / "b" / "c.png", 0)
        (tmp_path / "link").symlink_to(real)
        names = [real / "a.png", tmp_path / "link" / "b" / "c.png", real / "x" / ".." / "d.png"]
        names = [*map(str, names), "e/../f.png"]
        for root in (tmp_path / "link", Path("link")):
            assert make(names, root).paths == ["a.png", "b/c.png", "d.png", "e/../f.png"]
        with pytest.raises(ValueError, match="in row 1"):
            make(names, real)

    def test_no_pictures_at_all(self, tmp_path):
        file, paths = write(tmp_path, ".npy")
        (tmp_path / "empty").mkdir()
        for root in (tmp_path / "none", tmp_path / "empty", file):
            with pytest.raises(ValueError, match=r"root must be .* none of 6 pictures found there"):
                import_embeddings(file, tmp_path / "store", paths, root)
        assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"embedding": [[1.0, 2.0], [3.0]], "path": ["a", "b"]}, "equal length"),
        ({"embedding": [[1.0, None], [3.0, 4.0]], "path": ["a", "b"]}, "missing"),
        ({"embedding": [[1.0], None], "path": ["a", "b"]}, "missing"),
        ({"embedding": [1.0, 2.0], "path": ["a", "b"]}, "must hold vectors"),
        ({"embedding": [["x"], ["y"]], "path": ["a", "b"]}, "features must be"),
        ({"numbers": [[1.0], [2.0]], "path": ["a", "b"]}, "must hold one of features"),
        ({"embedding": [[1.0], [2.0]]}, "paths must be given"),
        ({"embedding": [[1.0], [2.0]], "path": ["a", "a"]}, "paths must be different"),
        ({"embedding": [[1.0], [2.0]], "path": ["a", "../a"]}, "paths must be those of files"),
        ({"embedding": [[1.0], [float("nan")]], "path": ["a", "b"]}, "finite"),
        ({"embedding": [[1.0], [0.0]], "path": ["a", "b"]}, "hold zeros alone, .* row 1"),
        ({"embedding": [[1.0], [2.0]], "path": ["a", None]}, "paths must be"),
    ],
)
def test_bad_tables(tmp_path, content, words):
    file = tmp_path / "given.parquet"
    parquet.write_table(pa.table(content), file)
    with pytest.raises(ValueError, match=words):
        import_embeddings(file, tmp_path / "store")
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("kind", [".npy", ".npz", ".parquet"])
def test_broken_files(tmp_path, kind):
    file, paths = write(tmp_path, kind)
    whole = file.read_bytes()
    for content in (b"", b"nonsense", whole[: len(whole) // 2]):
        file.write_bytes(content)
        with pytest.raises(ValueError, match=f"must be a {kind} file") as error:
            import_embeddings(file, tmp_path / "store", paths or PATHS)
        assert "pickle" not in str(error.value)


def test_other_files(tmp_path):
    with pytest.raises(ValueError, match="must end in"):
        import_embeddings(tmp_path / "a.txt", tmp_path / "store")
    with pytest.raises(FileNotFoundError, match="must be there"):
        import_embeddings(tmp_path / "a.npy", tmp_path / "store")
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "a.npz", X=np.array([{}], dtype=object), paths=["a"])
    for kind, words in (("npy", "Python objects"), ("npz", "it holds no numbers")):
        with pytest.raises(ValueError, match=rf"must be a \.{kind} file, but: .*{words}"):
            import_embeddings(tmp_path / f"a.{kind}", tmp_path / "store", ["a"])
    np.save(tmp_path / "b.npy", VECTORS)
    (tmp_path / "b.npy").rename(tmp_path / "b.npz")
    with pytest.raises(ValueError, match="single array"):
        import_embeddings(tmp_path / "b.npz", tmp_path / "store", PATHS)
    (tmp_path / "b.lance").mkdir()
    with pytest.raises(ValueError, match=r"must be a \.lance file"):
        import_embeddings(tmp_path / "b.lance", tmp_path / "store")


def test_a_list_of_paths(tmp_path):
    file = tmp_path / "names.txt"
    names = ["ü b.png", " c .png", "line\u2028separator\x85\r.png"]
    for text in ("\n".join(names), "".join(f"{name}\n" for name in names)):
        for encoding, end in (("utf-8", "\n"), ("utf-8-sig", "\r\n")):
            file.write_text(text, encoding, newline=end)
            assert imports.read_paths(file) == names
    file.write_text("a.png\nü.png\n", "latin-1")
    with pytest.raises(ValueError, match=rf"'{file}' must be text in UTF-8, but: line 2"):
        imports.read_paths(file)
