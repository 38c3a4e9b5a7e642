"""Archives and USPS, in small files of the true formats, whole and broken."""

from __future__ import annotations

import gzip
import io

import h5py
import numpy as np
import pytest

from ital.evaluation.datasets import DataError, load
from ital.evaluation.datasets.prepare import scaled


def arrays(seed=0, classes=3, train=30, test=12, dimension=5):
    rng = np.random.default_rng(seed)
    return {
        "X_train": rng.standard_normal((train, dimension)).astype(np.float32),
        "y_train": np.arange(train) % classes,
        "X_test": rng.standard_normal((test, dimension)).astype(np.float32),
        "y_test": np.arange(test) % classes,
    }


class TestDigits:
    def test_tasks(self):
        dataset = load("digits")
        assert [task.name for task in dataset.tasks] == list("0123456789")
        task = dataset.tasks[3]
        assert task.train.shape == (1347, 64)
        assert task.test.shape == (450, 64)
        assert (task.train.min(), task.train.max()) == (0, 1)
        # The same share of every class.
        for one in dataset.tasks:
            share = (one.test_relevance == 1).mean() - (one.train_relevance == 1).mean()
            assert abs(share) < 0.005
        assert set(np.unique(task.train_relevance)) == {-1, 1}
        assert dataset.tasks[1].train is task.train

    def test_pictures(self):
        dataset = load("digits")
        picture = dataset.image(0)
        assert picture.shape == (8, 8)
        assert picture.dtype == np.uint8
        pixels = dataset.tasks[0].train[0].reshape(8, 8)
        np.testing.assert_allclose(picture, 255 * (1 - pixels), atol=0.51)


def npy() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    return buffer.getvalue()


class TestArchive:
    def test_parts(self, tmp_path):
        path = tmp_path / "mine.npz"
        np.savez(path, class_names=["ant", "bee", "cat"], **arrays())
        dataset = load(str(path))
        assert dataset.name == "mine"
        assert [task.name for task in dataset.tasks] == ["ant", "bee", "cat"]
        given = arrays()
        low, high = given["X_train"].min(), given["X_train"].max()
        for part in ("train", "test"):
            features = getattr(dataset.tasks[0], part)
            np.testing.assert_allclose(features, (given[f"X_{part}"] - low) / (high - low))
        np.testing.assert_array_equal(
            dataset.tasks[2].test_relevance, np.where(given["y_test"] == 2, 1, -1)
        )

    def test_a_whole_is_split(self, tmp_path):
        given = arrays(train=40)
        np.savez(tmp_path / "mine.npz", X=given["X_train"], y=given["y_train"].astype(str))
        task = load(str(tmp_path / "mine.npz")).tasks[0]
        assert (len(task.train), len(task.test)) == (30, 10)

    def test_pca(self, tmp_path):
        given = arrays()
        np.savez(tmp_path / "mine.npz", **given)
        task = load(str(tmp_path / "mine.npz"), pca=2).tasks[0]
        centred = given["X_train"] - given["X_train"].mean(axis=0)
        _, _, components = np.linalg.svd(centred.astype(float), full_matrices=False)
        # Scaled jointly, components keep their directions: distances are those of the projection.
        projected = centred @ components[:2].T
        ratio = np.linalg.norm(task.train[0] - task.train[5]) / np.linalg.norm(
            projected[0] - projected[5]
        )
        other = np.linalg.norm(task.train[3] - task.train[9]) / np.linalg.norm(
            projected[3] - projected[9]
        )
        assert task.train.shape == (30, 2)
        assert ratio == pytest.approx(other, rel=1e-4)
        assert (task.train.min(), task.train.max()) == (0, 1)

    @pytest.mark.parametrize("dimensions", [0, 6])
    def test_pca_refuses(self, tmp_path, dimensions):
        np.savez(tmp_path / "mine.npz", **arrays())
        with pytest.raises(DataError, match=r"pca must be from 1 to 5 .* got"):
            load(str(tmp_path / "mine.npz"), pca=dimensions).tasks[0]

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"y_test": None}, "lacks y_test; it has X_train, y_train, X_test"),
            ({"X_train": np.zeros((30, 5, 2))}, "one feature vector for each image"),
            ({"y_train": np.zeros(29)}, "one feature vector and one class for each image"),
            ({"X_test": np.zeros((12, 4))}, "as many features for training as for test .* 5 and 4"),
            ({"X_train": np.full((30, 5), np.nan)}, "got NaN or infinite"),
            ({"X_train": np.full((30, 5), "x")}, "finite real numbers, got <U1"),
            ({"class_names": ["a", "b"]}, "3 classes, but class_names of shape"),
            ({"y_test": np.zeros(12, dtype=int)}, "images of every class, but has none of 1, 2"),
            ({"y_train": np.array([None] * 30)}, "NumPy archive .*, but: it holds no numbers"),
            ({"class_names": "abc"}, "3 classes, but class_names of shape"),
            ({"X_train": np.zeros((30, 0))}, "one feature vector for each image"),
            ({"y_train": np.zeros(30)}, "must have images of two or more classes"),
        ],
    )
    def test_refuses(self, tmp_path, changes, message):
        given = {key: value for key, value in (arrays() | changes).items() if value is not None}
        np.savez(tmp_path / "mine.npz", **given)
        with pytest.raises(DataError, match=message):
            load(str(tmp_path / "mine.npz"))

    @pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut off", b"no archive", npy()])
    def test_refuses_what_is_no_archive(self, tmp_path, content):
        (tmp_path / "mine.npz").write_bytes(content)
        with pytest.raises(
            DataError, match=r"mine\.npz must be a NumPy archive of X_train"
        ) as error:
            load(str(tmp_path / "mine.npz"))
        assert "pickle" not in str(error.value)

    def test_refuses_what_is_not_there(self, tmp_path):
        with pytest.raises(DataError, match=r"looked for .*nothing\.npz"):
            load(str(tmp_path / "nothing.npz"))


def test_a_class_of_one_image_cannot_be_split(tmp_path):
    np.savez(tmp_path / "mine.npz", X=np.eye(9), y=np.arange(9) // 8)
    with pytest.raises(DataError, match=r"mine.npz must have enough images of every class, but"):
        load(str(tmp_path / "mine.npz"))


def test_names_in_bytes(tmp_path):
    np.savez(tmp_path / "mine.npz", class_names=np.array([b"a", b"b", b"c"]), **arrays())
    assert [task.name for task in load(str(tmp_path / "mine.npz")).tasks] == ["a", "b", "c"]


def test_small_whole_numbers_do_not_wrap_around():
    train, test = scaled(np.array([[60], [200]], np.uint8), np.array([[50], [255]], np.uint8))
    np.testing.assert_allclose(train, [[0], [1]])
    np.testing.assert_allclose(test, [[-10 / 140], [195 / 140]])


def digits_of(seed: int, count: int):
    rng = np.random.default_rng(seed)
    return np.round(rng.uniform(0, 1, (count, 256)), 4).astype(np.float32), np.arange(count) % 10


class TestUsps:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path, monkeypatch):
        monkeypatch.setenv("ITAL_DATA", str(tmp_path))
        return tmp_path

    def write_text(self, path, features, digits, opened=open):
        with opened(path, "wt") as file:
            for row, digit in zip(features, digits, strict=True):
                file.write(f"{digit:.4f} " + " ".join(f"{2 * v - 1:.4f}" for v in row) + " \n")

    def check(self, dataset):
        (train, digits), (test, _) = digits_of(0, 30), digits_of(1, 20)
        assert dataset.kernel == {"length_scale": 3.0}
        assert [task.name for task in dataset.tasks] == list("0123456789")
        low, high = train.min(), train.max()
        task = dataset.tasks[4]
        np.testing.assert_allclose(task.train, (train - low) / (high - low), atol=1e-4)
        np.testing.assert_allclose(task.test, (test - low) / (high - low), atol=1e-4)
        np.testing.assert_array_equal(task.train_relevance == 1, digits == 4)
        assert dataset.image(3).shape == (16, 16)

    def test_hdf5(self, folder):
        with h5py.File(folder / "usps.h5", "w") as file:
            for part, (features, digits) in (
                ("train", digits_of(0, 30)),
                ("test", digits_of(1, 20)),
            ):
                group = file.create_group(part)
                group["data"], group["target"] = features, digits
        self.check(load("usps"))

    def test_text(self, folder):
        self.write_text(folder / "zip.train", *digits_of(0, 30))
        self.write_text(folder / "zip.test", *digits_of(1, 20))
        self.check(load("usps"))

    def test_packed_text(self, folder):
        self.write_text(folder / "zip.train.gz", *digits_of(0, 30), gzip.open)
        self.write_text(folder / "zip.test.gz", *digits_of(1, 20), gzip.open)
        self.check(load("usps"))

    def test_nothing(self, folder):
        with pytest.raises(
            DataError, match=r"looked for usps.npz, usps.h5, and zip.train .* published as usps.h5"
        ):
            load("usps")

    def test_half_of_it(self, folder):
        self.write_text(folder / "zip.train", *digits_of(0, 30))
        with pytest.raises(DataError, match=r"and zip.test or zip.test.gz in"):
            load("usps")

    @pytest.mark.parametrize("text", ["1 2 3\n", "1 2\n3\n", "digits\n"])
    def test_broken_text(self, folder, text):
        for part in ("train", "test"):
            (folder / f"zip.{part}").write_text(text)
        with pytest.raises(DataError, match=r"zip.train must hold lines of a digit and 256 grey"):
            load("usps")

    @pytest.mark.parametrize(("place", "value"), [(0, "1.7"), (5, "nan")])
    def test_spoilt_text(self, folder, place, value):
        self.write_text(folder / "zip.train", *digits_of(0, 30))
        path = folder / "zip.train"
        words = path.read_text().split(" ")
        words[place] = value
        path.write_text(" ".join(words))
        with pytest.raises(DataError, match=r"zip.train must hold"):
            load("usps")

    def test_spoilt_package(self, folder):
        self.write_text(folder / "zip.train.gz", *digits_of(0, 30), gzip.open)
        content = bytearray((folder / "zip.train.gz").read_bytes())
        content[200:260] = bytes(60)
        (folder / "zip.train.gz").write_bytes(content)
        with pytest.raises(DataError, match=r"zip.train.gz must hold lines"):
            load("usps")

    def test_broken_package(self, folder):
        (folder / "zip.train.gz").write_bytes(b"not packed")
        with pytest.raises(DataError, match=r"zip.train.gz must hold lines"):
            load("usps")

    def test_broken_hdf5(self, folder):
        (folder / "usps.h5").write_bytes(b"no such file")
        with pytest.raises(DataError, match=r"usps.h5 must be an HDF5 file of groups train"):
            load("usps")

    def test_hdf5_without_a_group(self, folder):
        with h5py.File(folder / "usps.h5", "w") as file:
            file.create_group("train")["data"] = np.zeros((3, 256))
        with pytest.raises(DataError, match=r"usps.h5 must be an HDF5 file of groups train"):
            load("usps")

    def test_other_pixels(self, folder):
        np.savez(folder / "usps.npz", **arrays())
        with pytest.raises(DataError, match="must have 256 pixels an image, got 5"):
            load("usps")


def test_the_folder_must_be_named(monkeypatch):
    monkeypatch.delenv("ITAL_DATA", raising=False)
    with pytest.raises(DataError, match="ITAL_DATA names, but it is not set"):
        load("butterflies")


def test_an_archive_that_is_not_in_the_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("ITAL_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"looked for .*corel1k\.npz"):
        load("corel1k")


def test_data_that_nobody_knows():
    for data in ("birds", ""):
        with pytest.raises(DataError, match=f"data must be one of digits, .* got '{data}'"):
            load(data)


@pytest.mark.parametrize(
    ("name", "classes", "shape"),
    [
        ("butterflies", 5, (1000, 50)),
        ("usps", 10, (7291, 256)),
        ("scenes13", 13, (2894, 1280)),
        ("corel1k", 10, (750, 1280)),
        ("flowers102", 102, (6180, 1280)),
    ],
)
def test_real_data(data_folder, name, classes, shape):
    dataset = load(name)
    assert len(dataset.tasks) == classes
    assert dataset.tasks[0].train.shape == shape


def test_constant_features():
    train, test = scaled(np.full((3, 2), 7.0), np.full((1, 2), 8.0))
    assert train.tolist() == [[0, 0]] * 3
    assert test.tolist() == [[1, 1]]
