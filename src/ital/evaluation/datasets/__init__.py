"""Data sets by name, or from files of your own."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from ital.evaluation.datasets import files, prepare
from ital.evaluation.datasets.base import ChangedTasks, DataError, Dataset, MissingDataError, Task
from ital.evaluation.datasets.folder import pictures
from ital.evaluation.datasets.imagenet import imagenet
from ital.evaluation.datasets.mirflickr import mirflickr
from ital.evaluation.published import KERNELS

__all__ = ["NAMES", "DataError", "Dataset", "MissingDataError", "Task", "load"]


def _archive(name: str) -> Callable[[Path], Dataset]:
    kernel = KERNELS.get(name, {})
    return lambda folder: files.archive(folder / f"{name}.npz", name, kernel=kernel)


_IN_A_FOLDER: dict[str, Callable[[Path], Dataset]] = {
    "butterflies": _archive("butterflies"),
    "usps": files.usps,
    "scenes13": _archive("scenes13"),
    "corel1k": _archive("corel1k"),
    "flowers102": _archive("flowers102"),
    "mirflickr": lambda folder: mirflickr(folder / "mirflickr"),
    "imagenet": lambda folder: imagenet(folder / "imagenet"),
}

NAMES = ("digits", *_IN_A_FOLDER)
"""Data sets that are known by name; all but `digits` are looked for in the folder ITAL_DATA."""


def load(data: str, pca: int | None = None) -> Dataset:
    """A data set by name, or from a NumPy archive, or from a folder of folders of pictures.

    Features are scaled jointly to [0, 1], after a PCA to so many dimensions if one is wanted.
    """
    dataset = _raw(data)
    tasks = dataset.tasks
    if pca is not None:
        tasks = ChangedTasks(tasks, partial(prepare.reduced, dimensions=pca))
    return replace(dataset, tasks=ChangedTasks(tasks, prepare.scaled))


def _raw(data: str) -> Dataset:
    if data == "digits":
        return files.digits()
    if data in _IN_A_FOLDER:
        folder = os.environ.get("ITAL_DATA")
        if not folder:
            raise MissingDataError(
                f"looked for {data} in the folder that the environment variable ITAL_DATA names, "
                "but it is not set; set it to the folder that holds your benchmark data"
            )
        return _IN_A_FOLDER[data](Path(folder))
    path = Path(data)
    if data and path.is_dir():
        return pictures(path)
    if path.suffix == ".npz":
        return files.archive(path)
    raise DataError(
        f"data must be one of {', '.join(NAMES)}, a NumPy archive FILE.npz, or a folder with a "
        f"folder of pictures for each class, got {data!r}"
    )
