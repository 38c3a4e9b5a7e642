from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from making import draw
from PIL import Image
from pycocotools.coco import COCO

from ital import Collection, insight
from ital.collection.dataset import TRAIN, VAL, ConflictError, assigned, members, split, write

NAMES = [f"{'abc'[number % 3]}/x{number}.png" for number in range(18)]
LABELS = {number + 1: ("cat", "dog")[number % 2] for number in range(18)}


@pytest.fixture
def collection(tmp_path) -> Collection:
    for number, name in enumerate(NAMES):
        draw(tmp_path / "in" / name, number, (40 + number, 32))
    features = np.random.default_rng(0).normal(size=(18, 4))
    return Collection.from_arrays(features, NAMES, root=tmp_path / "in")


class TestMembers:
    def search(self, collection):
        search = collection.search(seed=0)
        search.query(relevant=[3])
        return search

    def test_what_was_said_counts(self, collection):
        search = self.search(collection)
        assert members(search) == [3], "without an answer, nothing tells how many there are"
        last, first = (int(search.results().ids[place]) for place in (-1, 1))
        search.answer({last: True, first: None})
        for chosen in (members(search, top=6), members(search, threshold=0.0), members(search)):
            assert {3, last} <= set(chosen)
            assert first not in chosen
        ranked = search.results().ids.tolist()
        expected = [one for place, one in enumerate(ranked) if place < 6 or one == last]
        assert members(search, top=6) == [one for one in expected if one != first]

    def test_as_many_as_are_expected(self, collection):
        search = self.search(collection)
        search.answer({int(one): True for one in search.suggest(3)})
        count = insight.balanced(insight.thresholds(search)).count
        found = set(search.results(count).ids.tolist()) if count else set()
        yes = {one for one, label in search.labels.items() if label}
        assert set(members(search)) == found | yes


CLAIMS = {"cat": [1, 2], "dog": [2, 3], "cow": [3, 2]}


class TestAssigned:
    def test_conflicts_are_never_settled_silently(self):
        with pytest.raises(ConflictError, match="2 are claimed by several, the first") as caught:
            assigned(CLAIMS)
        assert caught.value.claims == {2: ["cat", "dog", "cow"], 3: ["dog", "cow"]}
        assert assigned(CLAIMS, "skip") == {1: "cat"}
        assert assigned(CLAIMS, "first") == {1: "cat", 2: "cat", 3: "dog"}
        with pytest.raises(ValueError, match="conflicts must be skip or first, got 'last'"):
            assigned(CLAIMS, "last")

    def test_without_conflicts(self):
        assert assigned({"cat": [1], "dog": [2]}) == {1: "cat", 2: "dog"}


class TestSplit:
    def test_a_share_of_each_class(self):
        labels = {number: ("cat", "dog", "dog")[number % 3] for number in range(300)}
        parts = split(labels, 0.2, seed=1)
        for name, size in (("cat", 20), ("dog", 40)):
            own = [parts[image] for image in labels if labels[image] == name]
            assert own.count(VAL) == size
        assert parts == split(labels, 0.2, seed=1)
        assert parts != split(labels, 0.2, seed=2)
        assert set(split(labels, 0).values()) == {TRAIN}

    @pytest.mark.parametrize("seed", range(20))
    def test_copies_are_in_one_part(self, seed):
        rng = np.random.default_rng(seed)
        labels = {int(image): ("cat", "dog")[image % 2] for image in rng.permutation(60)}
        groups = np.array_split(rng.permutation(60)[:45], 9)
        parts = split(labels, 0.3, seed, [group.tolist() for group in groups])
        for group in groups:
            assert len({parts[int(image)] for image in group}) == 1
        assert {(labels[image], part) for image, part in parts.items()} == {
            (name, part) for name in ("cat", "dog") for part in (TRAIN, VAL)
        }

    def test_what_cannot_be_split(self):
        labels = {1: "cat", 2: "cat", 3: "dog", 4: "dog"}
        with pytest.raises(ValueError, match="those of 'cat' cannot be parted"):
            split(labels, 0.5, groups=[[1, 2]])
        with pytest.raises(ValueError, match="those of 'dog' cannot be parted"):
            split({**labels, 5: "cat"}, 0.5, groups=[[3, 4]])
        for share in (1, -0.1, float("nan")):
            with pytest.raises(ValueError, match="split must be a share from 0 to below 1"):
                split(labels, share)


def image_folder(root: Path) -> tuple[list[str], list[tuple[Path, int]]]:
    """As torchvision's ImageFolder reads it: sorted folders are classes, by the ends of names."""
    known = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")
    classes = sorted(entry.name for entry in root.iterdir() if entry.is_dir())
    found = [
        (path, number)
        for number, name in enumerate(classes)
        for path in sorted((root / name).rglob("*"))
        if path.name.lower().endswith(known)
    ]
    return classes, found


HUGGING_FACE = """
import hashlib, json, sys
import datasets, numpy
read = datasets.load_dataset("imagefolder", data_dir=sys.argv[1], cache_dir=sys.argv[2])
def plain(row):
    pixels = numpy.asarray(row.pop("image").convert("RGB"))
    return row | {"pixels": hashlib.sha256(pixels.tobytes()).hexdigest()}
print(json.dumps({name: [plain(row) for row in part] for name, part in read.items()}))
"""


def same(one, other) -> bool:
    return np.array_equal(np.asarray(one.convert("RGB")), np.asarray(other.convert("RGB")))


class TestLayouts:
    @pytest.mark.parametrize("link", [False, True])
    def test_folders(self, collection, tmp_path, link):
        written = write("folders", collection, LABELS, tmp_path / "out", 0.2, link=link)
        seen = {}
        for part in (TRAIN, VAL):
            classes, found = image_folder(tmp_path / "out" / part)
            assert classes == ["cat", "dog"]
            for path, number in found:
                assert path.is_symlink() == link
                seen[int(path.name.split("-")[0])] = (part, classes[number], path.read_bytes())
        assert seen == {
            one.id: (one.part, LABELS[one.id], collection.path(one.id).read_bytes())
            for one in written
        }
        assert sum(part == VAL for part, _, _ in seen.values()) == 4

    @pytest.mark.parametrize("link", [False, True])
    def test_hugging_face(self, collection, tmp_path, link):
        write("imagefolder", collection, LABELS, tmp_path / "out", 0.2, link=link)
        # In a process of its own: the library leaves files open, which is an error here.
        command = [
            sys.executable,
            "-c",
            HUGGING_FACE,
            str(tmp_path / "out"),
            str(tmp_path / "cache"),
        ]
        environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        read = json.loads(done.stdout.splitlines()[-1])
        assert {name: len(part) for name, part in read.items()} == {"train": 14, "validation": 4}
        for row in [row for part in read.values() for row in part]:
            assert row["label"] == LABELS[row["id"]]
            assert row["path"] == NAMES[row["id"] - 1]
            pixels = np.asarray(collection.image(row["id"]))
            assert row["pixels"] == hashlib.sha256(pixels.tobytes()).hexdigest()

    def test_coco(self, collection, tmp_path):
        write("coco", collection, LABELS, tmp_path / "out", 0.2, seed=3)
        seen = {}
        for part in (TRAIN, VAL):
            coco = COCO(str(tmp_path / "out" / "annotations" / f"{part}.json"))
            names = {one["id"]: one["name"] for one in coco.loadCats(coco.getCatIds())}
            assert names == {1: "cat", 2: "dog"}
            for number, name in names.items():
                for image in coco.loadImgs(coco.getImgIds(catIds=[number])):
                    seen[image["id"]] = name
                    with Image.open(tmp_path / "out" / part / image["file_name"]) as picture:
                        assert picture.size == (image["width"], image["height"])
                        assert same(picture, collection.image(image["id"]))
        assert seen == LABELS

    def test_names_say_of_what_kind_a_file_is(self, tmp_path):
        """Pictures are known by their content here, and by their names there."""
        draw(tmp_path / "in" / "a.png", 1).rename(tmp_path / "in" / "plain")
        draw(tmp_path / "in" / "b.png", 2).rename(tmp_path / "in" / "b.jpg")
        draw(tmp_path / "in" / "c.JPEG", 3)
        names = ["plain", "b.jpg", "c.JPEG"]
        collection = Collection.from_arrays(np.eye(3), names, root=tmp_path / "in")
        written = write("folders", collection, dict.fromkeys([1, 2, 3], "x"), tmp_path / "out")
        assert [one.name for one in written] == ["1-plain.png", "2-b.png", "3-c.JPEG"]
        assert len(image_folder(tmp_path / "out" / "train")[1]) == 3


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", ".hidden", "a\nb"])
def test_names_that_are_no_folders(collection, tmp_path, name):
    with pytest.raises(ValueError, match="a class must have a name for a folder"):
        write("folders", collection, {1: name}, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_nothing_is_begun_that_cannot_be_ended(collection, tmp_path):
    out = tmp_path / "out"
    for layout, labels, share, words in (
        ("yolo", LABELS, 0, "layout must be one of folders, coco, imagefolder, got 'yolo'"),
        ("coco", {}, 0, "must have pictures"),
        ("coco", {1: "cat"}, 0.5, "cannot be parted"),
    ):
        with pytest.raises(ValueError, match=words):
            write(layout, collection, labels, out, share)
    collection.path(4).unlink()
    with pytest.raises(ValueError, match="1 pictures are not where they were"):
        write("folders", collection, LABELS, out)
    collection.path(4).write_text("no picture")
    with pytest.raises(ValueError, match="not a picture"):
        write("folders", collection, LABELS, out)
    assert not out.exists()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x.json").write_text(json.dumps({}))
    with pytest.raises(ValueError, match="new or an empty folder"):
        write("folders", collection, LABELS, tmp_path / "full")
