"""MIRFLICKR-25K from a feature file and its folder of annotations."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ital.checks import IntArray, numpy_says
from ital.evaluation.datasets.base import (
    DataError,
    Dataset,
    Features,
    MissingDataError,
    Task,
    check_features,
)
from ital.evaluation.datasets.prepare import split
from ital.evaluation.published import KERNELS

_ADVICE = (
    "the annotations of MIRFLICKR-25K are published as mirflickr25k_annotations_v080.zip, a text "
    "file of image numbers for each topic: topic.txt in the wide sense, topic_r1.txt in the narrow"
)


def mirflickr(folder: Path) -> Dataset:
    """A task for each topic: narrow is relevant, wide only is unnameable, the rest irrelevant.

    Looks for features.npy, a row for each of the images 1, 2, 3 ... in their order, and for the
    folder `annotations`. An image may belong to several topics. A fifth of the images is the test
    set.
    """
    features = _features(folder / "features.npy")
    topics = _topics(folder / "annotations", len(features))
    train, test = split(folder, None, len(features), 0.2, seed=0)
    parts = features[train], features[test]
    tasks = [
        Task(topic, *parts, relevance[train], relevance[test])
        for topic, relevance in topics.items()
        if (relevance[train] == 1).any() and (relevance[test] == 1).any()
    ]
    if not tasks:
        raise DataError(f"{folder} must have a topic with relevant images in both sets, got none")
    return Dataset("mirflickr", tasks, KERNELS["mirflickr"])


def _features(path: Path) -> Features:
    if not path.is_file():
        raise MissingDataError(
            f"looked for {path}, an array of one feature vector for each image of MIRFLICKR-25K in "
            "the order of their numbers, but there is none; make it with a network of your choice "
            "and numpy.save (the paper: VGG-16, first fully connected layer, 512 components)"
        )
    try:
        features: Features = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise DataError(
            f"{path} must be an array of feature vectors, but: {numpy_says(error)}"
        ) from error
    check_features(path, features)
    return features


def _topics(folder: Path, images: int) -> dict[str, IntArray]:
    narrow = sorted(folder.glob("*_r1.txt")) if folder.is_dir() else []
    if not narrow:
        raise DataError(f"looked for topic_r1.txt files in {folder}, but found none; {_ADVICE}")
    topics = {}
    for path in narrow:
        topic = path.name.removesuffix("_r1.txt")
        wide = path.with_name(f"{topic}.txt")
        if not wide.is_file():
            raise DataError(f"looked for {wide} beside {path.name}, but there is none; {_ADVICE}")
        relevance = np.full(images, -1)
        relevance[_numbers(wide, images)] = 0
        relevance[_numbers(path, images)] = 1
        topics[topic] = relevance
    return topics


def _numbers(path: Path, images: int) -> IntArray:
    """The images of a topic, counted from 0; in the file they are counted from 1."""
    try:
        numbers = np.array([int(word) for word in path.read_text().split()], dtype=np.int64)
    except (ValueError, UnicodeDecodeError) as error:
        raise DataError(f"{path} must hold numbers of images, but: {error}") from error
    if numbers.size and not 1 <= numbers.min() <= numbers.max() <= images:
        raise DataError(
            f"{path} must hold numbers of images from 1 to {images}, got {numbers.min()} to "
            f"{numbers.max()}"
        )
    return numbers - 1
