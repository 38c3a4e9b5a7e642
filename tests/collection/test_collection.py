from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from filelock import FileLock
from making import draw
from PIL import Image

import ital
from ital.collection import Collection, import_embeddings, index
from ital.collection.pictures import UnreadableError
from ital.collection.store import StoreError
from ital.evaluation.metrics import average_precision


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    """A folder with pictures under identifiers that are not their row numbers."""
    folder = tmp_path_factory.mktemp("collection") / "pictures"
    for number in range(30):
        draw(folder / f"{number:02}.png", number)
    index(folder)
    for number in (0, 7, 8):
        (folder / f"{number:02}.png").unlink()
    draw(folder / "00-new.png", 100)
    index(folder)
    return folder


@pytest.fixture
def collection(indexed):
    return ital.Collection.open(indexed)


def test_what_it_holds(collection, indexed):
    assert len(collection) == 28
    assert collection.ids.tolist() == [2, 3, 4, 5, 6, 7, *range(10, 31), 31]
    assert collection.paths[0] == "01.png"
    assert collection.paths[-1] == "00-new.png"
    assert collection.path(31) == indexed / "00-new.png"
    assert "28 pictures" in repr(collection)
    features = collection.features()
    assert features.dtype == np.float32
    assert features.shape == (28, 1280)
    assert features.flags.c_contiguous
    assert not features.flags.writeable
    assert features is collection.features()
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1, atol=1e-6)


def test_rows_belong_to_their_identifiers(collection):
    for row, identifier in enumerate(collection.ids):
        vector = collection.embed(collection.path(int(identifier)))
        np.testing.assert_allclose(vector, collection.features()[row], atol=1e-5)


def test_pictures_and_thumbnails(collection):
    image = collection.image(31)
    with Image.open(collection.path(31)) as wanted:
        np.testing.assert_array_equal(np.asarray(image), np.asarray(wanted))
    with Image.open(io.BytesIO(collection.thumbnail(31))) as small:
        assert small.size == (48, 32)


@pytest.mark.parametrize("path", ["link.png", "up/secret.png", "../secret.png", "{}/secret.png"])
def test_files_outside_the_folder_are_no_pictures_of_it(tmp_path, path):
    draw(tmp_path / "secret.png", 0)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link.png").symlink_to("../secret.png")
    (tmp_path / "in" / "up").symlink_to("..")
    collection = Collection.from_arrays(np.eye(1), ["a.png"], root=tmp_path / "in")
    collection.paths = [path.format(tmp_path)]
    for read in (collection.image, collection.thumbnail, collection.open_file):
        with pytest.raises(FileNotFoundError, match="not a file of the folder"):
            read(1)


def test_pictures_from_outside(collection, indexed):
    path = indexed / "05.png"
    wanted = collection.features()[4]
    with Image.open(path) as image:
        for given in (path, str(path), path.read_bytes(), image):
            np.testing.assert_allclose(collection.embed(given), wanted, atol=1e-5)
    with pytest.raises(UnreadableError, match="image must be a picture"):
        collection.embed(b"nonsense")


def test_a_search_speaks_of_identifiers(collection, tmp_path):
    search = collection.search(seed=0)
    assert isinstance(search, ital.Search)
    plain = ital.Search(collection.features(), seed=0)
    search.query(relevant=[31])
    plain.query(relevant=[27])
    for _ in range(3):
        asked = search.suggest(3)
        assert asked.tolist() == collection.ids[plain.suggest(3)].tolist()
        rows = np.searchsorted(collection.ids, asked)
        search.answer({int(one): bool(one % 2) for one in asked})
        plain.answer({int(row): bool(one % 2) for row, one in zip(rows, asked, strict=True)})
    results, wanted = search.results(), plain.results()
    assert results.ids.tolist() == collection.ids[wanted.ids].tolist()
    np.testing.assert_array_equal(results.means, wanted.means)
    assert search.labels == {int(collection.ids[row]): label for row, label in plain.labels.items()}
    assert search.score([10, 12]) == plain.score(np.searchsorted(collection.ids, [10, 12]))
    for unknown in (1, 8, 32, 10**9):
        with pytest.raises(IndexError, match="identifier"):
            search.answer({unknown: True})
        with pytest.raises(IndexError, match="identifier"):
            collection.path(unknown)


def test_a_search_outlives_changes(tmp_path):
    folder = tmp_path / "pictures"
    for number in range(12):
        draw(folder / f"{number:02}.png", number)
    index(folder)
    search = Collection.open(folder).search(seed=0, length_scale=1.0)
    search.query(relevant=[1, 2])
    search.answer({5: False, 6: None, 12: True})
    search.save(tmp_path / "search.json")
    (folder / "01.png").unlink()
    (folder / "04.png").unlink()
    draw(folder / "new.png", 50)
    index(folder)
    changed = Collection.open(folder)
    again = changed.load_search(tmp_path / "search.json")
    assert again.labels == {1: True, 6: None, 12: True}
    fresh = changed.search(seed=0, length_scale=1.0)
    fresh.query(relevant=[1])
    fresh.answer({12: True})
    np.testing.assert_allclose(again.results().means, fresh.results().means, atol=1e-9)
    assert not {1, 6, 12} & set(again.suggest(5).tolist())
    # What was said of pictures that left is not forgotten when the search is saved again.
    again.answer({13: False})
    again.save(tmp_path / "again.json")
    assert again.labels == {1: True, 6: None, 12: True, 13: False}
    third = changed.load_search(tmp_path / "again.json")
    assert third._history.labels == {1: 1, 2: 1, 5: -1, 6: 0, 12: 1, 13: -1}
    third.undo()
    third.undo()
    assert third.labels == {1: True}


def test_a_search_over_other_embeddings_is_refused(tmp_path, collection):
    search = collection.search()
    search.query(relevant=[31])
    search.save(tmp_path / "search.json")
    other = Collection.from_arrays(collection.features(), collection.paths, collection.ids)
    with pytest.raises(ValueError, match="features must be those"):
        other.load_search(tmp_path / "search.json")


class TestWhoseSearchItIs:
    """Identifiers mean the pictures of one collection only."""

    @pytest.fixture
    def two(self, tmp_path):
        """Two folders of other pictures under the same identifiers, by the same model."""
        for name, seed in (("one", 0), ("two", 50)):
            for number in range(4):
                draw(tmp_path / name / f"{number}.png", seed + number)
            index(tmp_path / name)
        return Collection.open(tmp_path / "one"), Collection.open(tmp_path / "two")

    def saved(self, collection, path, **settings):
        search = collection.search(seed=0, **settings)
        search.query(relevant=[1])
        search.answer({2: False})
        search.save(path)
        return path

    def old(self, path):
        """A file as it was when searches did not say which collection they are of."""
        content = json.loads(path.read_text())
        del content["collection"]
        for event in content["events"]:
            del event["asked"]  # nor how it came to answers
        path.write_text(json.dumps(content))
        return path

    def test_it_is_refused_elsewhere(self, two, tmp_path):
        one, other = two
        path = self.saved(one, tmp_path / "search.json")
        assert one.load_search(path).labels == {1: True, 2: False}
        with pytest.raises(ValueError, match=r"search\.json' was saved over") as refused:
            other.load_search(path)
        assert one.store_id in str(refused.value)
        assert other.store_id in str(refused.value)
        with pytest.raises(ValueError, match="was saved over"):
            ital.Search.load(path, other.pool)
        # Whoever knows better may take it, and from then on it is of this one.
        taken = other.load_search(path, adopt=True)
        assert taken.labels == {1: True, 2: False}
        taken.save(path)
        assert other.load_search(path).labels == taken.labels
        with pytest.raises(ValueError, match="was saved over"):
            one.load_search(path)

    def test_a_collection_made_anew_in_the_same_place_is_another(self, two, tmp_path):
        one, _ = two
        path = self.saved(one, tmp_path / "search.json")
        shutil.rmtree(one.root / ".ital")
        (one.root / "0.png").unlink()
        index(one.root)
        with pytest.raises(ValueError, match="was saved over"):
            Collection.open(one.root).load_search(path)
        with pytest.raises(StoreError, match="made anew"):
            one.thumbnail(2)

    def test_an_old_file_is_taken_where_nothing_has_changed(self, two, tmp_path):
        one, other = two
        path = self.old(self.saved(one, tmp_path / "search.json"))
        assert one.load_search(path).labels == {1: True, 2: False}
        with pytest.raises(ValueError, match=r"search\.json' does not say") as refused:
            other.load_search(path)
        assert "load_search(path, adopt=True), or ital export --adopt" in str(refused.value)
        assert other.load_search(path, adopt=True).labels == {1: True, 2: False}

    def test_an_old_file_is_refused_where_it_may_be_of_another(self, two, tmp_path):
        one, _ = two
        path = self.old(self.saved(one, tmp_path / "search.json", length_scale=0.5))
        with pytest.raises(ValueError, match="does not say"):
            one.load_search(path)
        path = self.old(self.saved(one, tmp_path / "search.json"))
        path.write_text(path.read_text().replace("[[2, -1]]", "[[5, -1]]"))
        with pytest.raises(ValueError, match="does not say"):
            one.load_search(path)

    def test_an_old_file_over_imported_embeddings_is_known_by_them(self, two, tmp_path):
        one, _ = two
        np.savez(tmp_path / "x.npz", X=np.eye(4), paths=[f"{number}.png" for number in range(4)])
        stores = [tmp_path / "a", tmp_path / "b"]
        first, second = (import_embeddings(tmp_path / "x.npz", to, None, one.root) for to in stores)
        path = self.saved(first, tmp_path / "search.json", length_scale=0.5)
        with pytest.raises(ValueError, match="was saved over"):
            second.load_search(path)
        assert second.load_search(self.old(path)).labels == {1: True, 2: False}

    def test_collections_in_memory_are_known_by_their_features(self, tmp_path):
        first, second = (Collection.from_arrays(np.eye(3), ["a", "b", "c"]) for _ in range(2))
        path = self.saved(first, tmp_path / "search.json", length_scale=0.5)
        assert second.load_search(path).labels == {1: True, 2: False}
        assert second.load_search(self.old(path)).labels == {1: True, 2: False}


def test_models_side_by_side(tmp_path):
    folder = tmp_path / "pictures"
    for number in range(4):
        draw(folder / f"{number:02}.png", number)
    index(folder)
    first = Collection.open(folder)
    index(folder, model=ital.collection.describe("lite1"))
    second = Collection.open(folder)
    assert second.ids.tolist() == first.ids.tolist()
    assert np.abs(first.features() - second.features()).max() > 0.01
    back = Collection.open(folder, model=ital.collection.describe("lite0").fingerprint)
    np.testing.assert_array_equal(back.features(), first.features())
    with pytest.raises(StoreError, match="model must be one of"):
        Collection.open(folder, model="nonsense")


class TestFromArrays:
    def test_vectors_are_brought_to_length_one(self):
        features = np.array([[3, 4], [0, 1], [-1, 0]])
        collection = Collection.from_arrays(features, ["a", "b", "c"])
        assert collection.features().dtype == np.float32
        np.testing.assert_allclose(collection.features(), [[0.6, 0.8], [0, 1], [-1, 0]])
        assert collection.ids.tolist() == [1, 2, 3]
        assert collection.skipped == []

    def test_their_digits_do_not_change(self):
        """Searches know features of arrays again by each of their digits."""
        features = np.random.default_rng(0).normal(size=(1000, 7))
        wanted = features / np.linalg.norm(features, axis=1, keepdims=True)
        found = Collection.from_arrays(features, list(map(str, range(1000)))).features()
        np.testing.assert_array_equal(found, wanted.astype(np.float32))

    @pytest.mark.parametrize("length", [5e-324, 1e-300, 1e-160, 1e-40, 1e150])
    def test_however_short_or_long_they_are(self, length):
        features = np.array([[3, 4], [1, 1], [-1, 0]]) * length
        collection = Collection.from_arrays(features, ["a", "b", "c"])
        wanted = np.array([[3, 4], [1, 1], [-1, 0]]) / np.array([[5], [np.sqrt(2)], [1]])
        np.testing.assert_allclose(collection.features(), wanted, atol=1e-6)

    def test_vectors_of_no_length_are_refused(self):
        features = np.ones((5000, 2), np.float32)
        features[[4321, 4999]] = 0
        with pytest.raises(ValueError, match=r"2 of 5000 rows hold zeros alone, .* row 4321"):
            Collection.from_arrays(features, [f"{number}.png" for number in range(5000)])

    def test_pictures_are_read_from_their_files(self, indexed):
        collection = Collection.from_arrays(np.eye(2), ["01.png", "02.png"], [4, 9], indexed)
        assert collection.image(9).size == (48, 32)
        assert collection.thumbnail(4)[:2] == b"\xff\xd8"
        with pytest.raises(StoreError, match="came from elsewhere"):
            collection.embed(indexed / "01.png")

    @pytest.mark.parametrize(
        ("features", "paths", "ids", "words"),
        [
            (np.eye(3), ["a", "b"], None, "paths must be 3"),
            (np.eye(2), ["a", "b"], [2, 1], "ids must be ascending"),
            (np.eye(2), ["a", "b"], [1, 1], "ids must be ascending"),
            (np.eye(2), ["a", "b"], [-1, 1], "ids must be ascending"),
            (np.eye(2), ["a", "b"], [1, 2, 3], "ids must be 2 whole numbers"),
            (np.eye(2), ["a", "b"], [0.5, 1], "ids must be 2 whole numbers"),
            (np.full((2, 2), np.nan), ["a", "b"], None, "features must be finite"),
            (np.zeros(3), ["a", "b", "c"], None, "two-dimensional"),
        ],
    )
    def test_bad_arrays(self, features, paths, ids, words):
        with pytest.raises(ValueError, match=words):
            Collection.from_arrays(features, paths, ids)


def test_an_empty_folder(tmp_path):
    (tmp_path / "none").mkdir()
    assert index(tmp_path / "none").pictures == 0
    with pytest.raises(StoreError, match="holds no pictures yet"):
        Collection.open(tmp_path / "none")


MEMORY = """
import sys
from ital.collection import Collection
import ital.pool
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
collection = Collection.open(sys.argv[1])
before = peak()
features = collection.features()
print((peak() - before) * 1024 / features.nbytes)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from Linux's /proc")
def test_features_are_mapped_or_held_once(tmp_path):
    """Of 200 MB, nothing before it is looked at. If it is read, Lance reads ahead."""
    rng = np.random.default_rng(0)
    np.save(tmp_path / "features.npy", rng.normal(size=(50_000, 1024)).astype(np.float32))
    paths = [f"{number}.png" for number in range(50_000)]
    draw(tmp_path / paths[0], 0)
    store = tmp_path / "store"
    import_embeddings(tmp_path / "features.npy", store, paths, tmp_path).features()

    def taken() -> float:
        command = [sys.executable, "-c", MEMORY, store]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    assert taken() < 0.1
    for place in store.glob("mapped-*"):
        shutil.rmtree(place)
    with FileLock(store / "lock"):
        assert 0.9 < taken() < 2.5


def test_photographs_of_one_kind_are_found(corel_store):
    """Corel-1k with a perfect user: 2 queries of each kind, 5 rounds of 4, nothing tuned."""
    collection = Collection.open(corel_store)
    kinds = np.array([int(path[:4]) // 100 for path in collection.paths])
    scale = collection.pool.median_distance()
    before, after = [], []
    rng = np.random.default_rng(0)
    for kind in range(10):
        for query in rng.choice(np.flatnonzero(kinds == kind), 2, replace=False):
            search = collection.search(seed=0)
            assert search.model.kernel.length_scale == scale
            search.query(relevant=[int(collection.ids[query])])
            others = np.arange(1000) != query
            relevant = kinds == kind
            before.append(average_precision(relevant[others], search.model.mean[others]))
            for _ in range(5):
                rows = np.searchsorted(collection.ids, search.suggest(4))
                search.answer({int(collection.ids[row]): bool(relevant[row]) for row in rows})
            after.append(average_precision(relevant[others], search.model.mean[others]))
    assert np.mean(after) > np.mean(before)
    assert np.mean(after) >= 0.96
    print(f"mean average precision {np.mean(before):.4f} -> {np.mean(after):.4f}")
