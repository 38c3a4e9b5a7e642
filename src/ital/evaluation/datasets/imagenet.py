"""ImageNet as in the paper: tasks of one positive and nineteen negative classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ital.checks import numpy_says
from ital.evaluation.datasets.base import (
    DataError,
    Dataset,
    Features,
    LazyTasks,
    MissingDataError,
    Task,
    check_features,
)
from ital.evaluation.datasets.prepare import split
from ital.evaluation.published import KERNELS

TASKS, NEGATIVES = 25, 19


def imagenet(folder: Path, seed: int = 0) -> Dataset:
    """Twenty-five tasks of random classes, from a file `CLASS.npy` of features for each class.

    A quarter of every class is the test set.
    """
    files = sorted(folder.glob("*.npy")) if folder.is_dir() else []
    if len(files) <= NEGATIVES:
        raise MissingDataError(
            f"looked for at least {NEGATIVES + 1} files CLASS.npy of feature vectors in {folder}, "
            f"but found {len(files)}; make one for each class of ILSVRC with numpy.save (the "
            "paper: the bags of visual words that were published with it)"
        )
    return Dataset("imagenet", _Tasks(files, seed), KERNELS["imagenet"])


class _Tasks(LazyTasks):
    """Tasks whose features are read when they are asked for."""

    def __init__(self, files: list[Path], seed: int) -> None:
        rng = np.random.default_rng(seed)
        self._chosen = [
            [files[i] for i in rng.choice(len(files), NEGATIVES + 1, replace=False)]
            for _ in range(TASKS)
        ]

    def __len__(self) -> int:
        return len(self._chosen)

    def task(self, number: int) -> Task:
        files = self._chosen[number]
        parts = [_features(path) for path in files]
        if len({part.shape[1] for part in parts}) > 1:
            raise DataError(
                f"the files in {files[0].parent} must all have as many features an image, got "
                f"{sorted({part.shape[1] for part in parts})}"
            )
        classes = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        features = np.concatenate(parts)
        train, test = split(files[0].parent, classes, len(classes), 0.25, seed=0)
        relevance = np.where(classes == 0, 1, -1)
        name = f"{number + 1}: {files[0].stem}"
        return Task(name, features[train], features[test], relevance[train], relevance[test])


def _features(path: Path) -> Features:
    try:
        features: Features = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise DataError(
            f"{path} must be an array of feature vectors, but: {numpy_says(error)}"
        ) from error
    check_features(path, features)
    return features
