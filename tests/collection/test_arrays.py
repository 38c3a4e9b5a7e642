"""Collections of arrays whose pictures are called by keys, and collections of other sources."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from making import draw

from ital.collection import Collection, Source
from ital.collection.arrays import identifiers_of
from ital.collection.export import cut, found, to_csv

KEYS = ["64f0c1", "64f0c2", "task/7", "ü"]
RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(4, 3))


def test_identifiers_are_made_of_keys_alone():
    one = Collection.from_arrays(FEATURES, ids=KEYS)
    other = Collection.from_arrays(FEATURES[::-1], ids=[*KEYS[::-1]])
    assert one.by_key == other.by_key
    assert np.array_equal(one.features(), other.features())
    fewer = Collection.from_arrays(FEATURES[1:], ids=KEYS[1:])
    assert fewer.by_key == {key: one.by_key[key] for key in KEYS[1:]}
    assert (np.diff(one.ids) > 0).all()
    assert one.ids.min() >= 0
    assert one.ids.max() < 2**53
    row = one.keys.index("task/7")
    wanted = FEATURES[2] / np.linalg.norm(FEATURES[2])
    np.testing.assert_allclose(one.features()[row], wanted, atol=1e-7)


def test_paths_follow_their_keys(tmp_path):
    names = [f"{number}.png" for number in range(4)]
    for number, name in enumerate(names):
        draw(tmp_path / name, number)
    one = Collection.from_arrays(FEATURES, names, KEYS, tmp_path)
    assert one.path(one.by_key["64f0c2"]) == tmp_path / "1.png"
    assert one.thumbnail(one.by_key["ü"])[:2] == b"\xff\xd8"


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (["a", "b", "a", "c"], "'a' and 'a' are taken for one"),
        (["a", "b", "c"], "ids must be 4 texts or whole numbers, got 3"),
        (["a", "b", "", "c"], "ids must be 4 texts"),
        (["a", "b", 3, None], "ids must be 4 texts"),
    ],
)
def test_keys_that_will_not_do(ids, words):
    with pytest.raises(ValueError, match=words):
        Collection.from_arrays(FEATURES, ids=ids)


def test_two_keys_of_one_number_are_refused(monkeypatch):
    monkeypatch.setattr("ital.collection.arrays._BITS", 1)
    with pytest.raises(ValueError, match="are taken for one"):
        identifiers_of(KEYS)


def test_labels_and_tables_speak_of_keys(tmp_path):
    one = Collection.from_arrays(FEATURES, ids=KEYS)
    for column in ("id", "key"):
        (tmp_path / "labels.csv").write_text(f"{column},label\n64f0c1,yes\nü,no\n")
        said = one.read_labels(tmp_path / "labels.csv")
        assert {one.keys[one.ids.tolist().index(i)]: a.value for i, a in said.items()} == {
            "64f0c1": "yes",
            "ü": "no",
        }
    (tmp_path / "labels.csv").write_text("key,label\n64f0c9,yes\n")
    with pytest.raises(ValueError, match=r"line 2: key must be that of a picture .* '64f0c9'"):
        one.read_labels(tmp_path / "labels.csv")
    search = one.search(seed=0)
    search.query(relevant=[one.by_key["task/7"]])
    table = list(csv.DictReader(io.StringIO(to_csv(found(one, search)))))
    assert sorted(row["key"] for row in table) == sorted(KEYS)
    assert {row["key"]: row["label"] for row in table}["task/7"] == "yes"
    # What was written can be read again.
    (tmp_path / "again.csv").write_text(to_csv(found(one, search)), "utf-8")
    assert list(one.read_labels(tmp_path / "again.csv")) == [one.by_key["task/7"]]


def test_a_name_lets_searches_outlive_changes(tmp_path):
    one = Collection.from_arrays(FEATURES, ids=KEYS, name="tasks")
    search = one.search(seed=0)
    search.query(relevant=[one.by_key["ü"]])
    search.save(tmp_path / "search.json")
    more = Collection.from_arrays(RNG.normal(size=(5, 3)), ids=[*KEYS, "new"], name="tasks")
    assert more.load_search(tmp_path / "search.json").labels == {one.by_key["ü"]: True}
    for other in (
        Collection.from_arrays(FEATURES, ids=KEYS, name="others"),
        Collection.from_arrays(FEATURES, ids=KEYS),
        Collection.from_arrays(RNG.normal(size=(4, 2)), ids=KEYS, name="tasks"),
    ):
        with pytest.raises(ValueError, match="features must be those"):
            other.load_search(tmp_path / "search.json")


def test_without_files_there_is_nothing_to_see():
    one = Collection.from_arrays(FEATURES)
    assert one.paths == ["1", "2", "3", "4"]
    for read in (one.open_file, one.image, one.thumbnail):
        with pytest.raises(FileNotFoundError, match="picture 1 must have a file, but has none"):
            read(1)


class Counted(list):
    """Paths that count how many were looked at."""

    looked = 0

    def __getitem__(self, place):
        self.looked += 1
        return super().__getitem__(place)


class Elsewhere(Source):
    """The least that another program has to say."""

    def __init__(self, count):
        rng = np.random.default_rng(1)
        features = rng.normal(size=(count, 4)).astype(np.float32)
        self._features = features / np.linalg.norm(features, axis=1, keepdims=True)
        self.ids, self.root = np.arange(count), None
        self.paths = Counted(map(str, range(count)))
        self.has_files = False

    def features(self):
        return self._features


def test_a_source_of_ones_own():
    one = Collection(Elsewhere(20))
    search = one.search(seed=0)
    search.query(relevant=[3])
    search.answer({int(image): False for image in search.suggest(2)})
    assert len(found(one, search, top=5)) == 5
    assert (one.stacks, one.skipped, one.entries(), one.can_embed) == ([], [], [], False)
    assert one.taken.tolist() == [-1] * 20
    assert not one.ever_had(20)
    assert one.ever_had(19)


def test_what_is_not_taken_is_not_looked_at():
    """Neither cutting nor listing takes longer for what lies below the cut."""
    one = Collection(Elsewhere(5000))
    search = one.search(seed=0)
    search.query(relevant=[3])
    for options in ({"top": 7}, {"threshold": 1.0}, {"top": 9, "threshold": 0.0}):
        one.paths.looked = 0
        taken = cut(one, search, **options)
        assert one.paths.looked == 0, "a cut is of arrays alone"
        listed = taken.found(one)
        assert one.paths.looked == len(listed) < 50
        assert [item.id for item in listed] == search.results().ids[: len(listed)].tolist()
