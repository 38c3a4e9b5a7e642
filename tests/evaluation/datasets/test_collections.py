"""MIRFLICKR, ImageNet and folders of pictures, in small files of the true formats."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from ital.evaluation.datasets import DataError, load


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ITAL_DATA", str(tmp_path))
    return tmp_path


class TestMirflickr:
    @pytest.fixture
    def mirflickr(self, folder):
        path = folder / "mirflickr"
        (path / "annotations").mkdir(parents=True)
        np.save(path / "features.npy", np.random.default_rng(0).standard_normal((50, 4)))
        self.annotate(path, "clouds", range(1, 31), range(1, 21))
        self.annotate(path, "sea", range(11, 41), range(16, 36))
        # Some topics have no narrow sense.
        (path / "annotations" / "food.txt").write_text("1\n2\n")
        return path

    def annotate(self, path, topic, wide, narrow):
        for name, numbers in ((topic, wide), (f"{topic}_r1", narrow)):
            text = "".join(f"{number}\r\n" for number in numbers)
            (path / "annotations" / f"{name}.txt").write_bytes(text.encode())

    def test_topics(self, mirflickr):
        dataset = load("mirflickr")
        assert [task.name for task in dataset.tasks] == ["clouds", "sea"]
        assert dataset.kernel == {"length_scale": 0.5}
        clouds, sea = dataset.tasks
        assert (len(clouds.train), len(clouds.test)) == (40, 10)
        for task, narrow, unnameable in ((clouds, 20, 10), (sea, 20, 10)):
            relevance = np.append(task.train_relevance, task.test_relevance)
            assert (relevance == 1).sum() == narrow
            assert (relevance == 0).sum() == unnameable
        # Images 16 to 20 belong to both topics.
        both = np.append(
            (clouds.train_relevance == 1) & (sea.train_relevance == 1),
            (clouds.test_relevance == 1) & (sea.test_relevance == 1),
        )
        assert both.sum() == 5

    def test_rows_are_images_in_the_order_of_their_numbers(self, mirflickr):
        features = np.arange(50.0)[:, None] @ np.ones((1, 4))
        np.save(mirflickr / "features.npy", features)
        clouds = load("mirflickr").tasks[0]
        span = clouds.train.max() - clouds.train.min()
        order = np.argsort(clouds.train[:, 0])
        assert span == 1
        # Low numbers are relevant, then come the unnameable ones, then the rest.
        assert (np.diff(clouds.train_relevance[order] == 1).sum()) == 1
        assert clouds.train_relevance[order][0] == 1
        assert clouds.train_relevance[order][-1] == -1

    def test_nothing(self, folder):
        with pytest.raises(DataError, match=r"looked for .*features.npy, .* make it with"):
            load("mirflickr")

    def test_no_annotations(self, mirflickr):
        for path in (mirflickr / "annotations").iterdir():
            path.unlink()
        with pytest.raises(DataError, match=r"looked for topic_r1.txt files in .*annotations_v080"):
            load("mirflickr")

    def test_no_wide_sense(self, mirflickr):
        (mirflickr / "annotations" / "sea.txt").unlink()
        with pytest.raises(DataError, match=r"looked for .*sea.txt beside sea_r1.txt"):
            load("mirflickr")

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"1\ntwo\n", "sea.txt must hold numbers of images, but"),
            (b"\xff\xfe", "sea.txt must hold numbers of images, but"),
            (b"0\n", "numbers of images from 1 to 50, got 0 to 0"),
            (b"3\n51\n", "numbers of images from 1 to 50, got 3 to 51"),
        ],
    )
    def test_broken_annotations(self, mirflickr, content, message):
        (mirflickr / "annotations" / "sea.txt").write_bytes(content)
        with pytest.raises(DataError, match=message):
            load("mirflickr")

    def test_broken_features(self, mirflickr):
        (mirflickr / "features.npy").write_bytes(b"nothing")
        message = r"features.npy must be an array of feature vectors, but: it holds no numbers"
        with pytest.raises(DataError, match=message):
            load("mirflickr")
        np.save(mirflickr / "features.npy", np.zeros(50))
        with pytest.raises(DataError, match=r"got an array of the shape \(50,\)"):
            load("mirflickr")

    def test_no_topic_with_relevant_images(self, mirflickr):
        for topic in ("clouds", "sea"):
            self.annotate(mirflickr, topic, [1], [1])
        with pytest.raises(DataError, match="a topic with relevant images in both sets, got none"):
            load("mirflickr")


class TestImageNet:
    @pytest.fixture
    def classes(self, folder):
        path = folder / "imagenet"
        path.mkdir()
        for number in range(24):
            np.save(path / f"n{number:08}.npy", np.full((8, 3), float(number)))
        return path

    def test_tasks(self, classes):
        dataset = load("imagenet")
        assert len(dataset.tasks) == 25
        assert dataset.kernel == {"length_scale": 20.0, "variance": 1.5}
        names = [task.name for task in dataset.tasks]
        assert len({name.split(": ")[1] for name in names}) > 5
        for task in dataset.tasks[3:6]:
            assert task.train.shape == (120, 3)
            assert task.test.shape == (40, 3)
            assert (task.train_relevance == 1).sum() == 6
            assert (task.test_relevance == 1).sum() == 2
            # Twenty classes, of which one is relevant.
            assert len(np.unique(task.train[:, 0])) == 20
            assert len(np.unique(task.train[task.train_relevance == 1, 0])) == 1

    def test_the_same_tasks_every_time(self, classes):
        first, second = load("imagenet"), load("imagenet")
        for one, other in zip(first.tasks, second.tasks, strict=True):
            np.testing.assert_array_equal(one.train, other.train)

    def test_too_few_classes(self, classes):
        for path in sorted(classes.iterdir())[:5]:
            path.unlink()
        with pytest.raises(DataError, match=r"at least 20 files CLASS.npy .* but found 19"):
            load("imagenet")

    def test_nothing(self, folder):
        with pytest.raises(DataError, match="but found 0"):
            load("imagenet")

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (None, "must be an array of feature vectors, but: it holds no numbers"),
            (np.zeros(4), r"got an array of the shape \(4,\)"),
            (np.full((8, 3), np.nan), "got NaN or infinite"),
            (np.zeros((8, 4)), r"as many features an image, got \[3, 4\]"),
        ],
    )
    def test_broken_files(self, classes, content, message):
        for path in sorted(classes.iterdir())[:5]:
            if content is None:
                path.write_bytes(b"nothing")
            else:
                np.save(path, content)
        with pytest.raises(DataError, match=message):
            list(load("imagenet").tasks)


class TestPictures:
    @pytest.fixture
    def pictures(self, tmp_path):
        path = tmp_path / "pictures"
        for name, colour in (("red", (200, 0, 0)), ("blue", (0, 0, 200))):
            (path / name).mkdir(parents=True)
            for number in range(8):
                shade = tuple(max(0, value - number) for value in colour)
                Image.new("RGB", (40, 30), shade).save(path / name / f"{number}.png")
        (path / ".hidden").mkdir()
        (path / "red" / ".thumbs").write_bytes(b"")
        return path

    def test_a_task_for_each_folder(self, pictures):
        dataset = load(str(pictures))
        assert [task.name for task in dataset.tasks] == ["blue", "red"]
        red = dataset.tasks[1]
        assert red.train.shape == (12, 1280)
        assert (red.train_relevance == 1).sum() == 6
        # The network sees the colours: every picture is nearest to others of its own.
        distances = np.linalg.norm(red.train[:, None] - red.train, axis=2)
        np.fill_diagonal(distances, np.inf)
        nearest = distances.argmin(axis=1)
        assert (red.train_relevance[nearest] == red.train_relevance).all()
        for image, relevance in enumerate(red.train_relevance):
            colour = dataset.image(image)[15, 20]
            assert colour[0 if relevance == 1 else 2] > 180

    def test_loose_pictures_are_left_out(self, pictures):
        Image.new("RGB", (40, 30)).save(pictures / "loose.png")
        assert len(load(str(pictures)).tasks[0].train_relevance) == 12

    def test_a_file_that_is_no_picture(self, pictures):
        (pictures / "red" / "notes.txt").write_text("hello")
        with pytest.raises(DataError, match=r"notes.txt must be a picture"):
            load(str(pictures))

    def test_a_picture_cut_short(self, pictures):
        path = pictures / "blue" / "0.png"
        path.write_bytes(path.read_bytes()[:60])
        with pytest.raises(DataError, match=r"0.png must be a picture"):
            load(str(pictures))

    def test_too_few(self, pictures):
        for number in range(5):
            (pictures / "blue" / f"{number}.png").unlink()
        with pytest.raises(DataError, match=r"four or more pictures each, got .*'blue': 3"):
            load(str(pictures))
