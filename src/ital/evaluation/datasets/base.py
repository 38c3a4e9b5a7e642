"""What a data set is: tasks, each of them a class to be found in a training set."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from ital.checks import IntArray

Features = npt.NDArray[Any]


class DataError(ValueError):
    """Data that is missing or malformed: what was looked for, where, and how to get it."""


class MissingDataError(DataError):
    """Data that is not there."""


def check_features(source: object, features: Any) -> None:
    """Refuse what are no feature vectors."""
    wanted = f"{source} must hold one feature vector for each image, finite real numbers"
    if not isinstance(features, np.ndarray) or features.dtype.kind not in "fiu":
        kind = getattr(features, "dtype", type(features).__name__)
        raise DataError(f"{wanted}, got {kind}")
    if features.ndim != 2 or 0 in features.shape:
        raise DataError(f"{wanted}, got an array of the shape {features.shape}")
    if not np.isfinite(features).all():
        raise DataError(f"{wanted}, got NaN or infinite ones")


@dataclass(frozen=True)
class Task:
    """One class to be found: images to learn from, images to be ranked, and what is relevant.

    Relevance is 1, -1, or 0 for images that nobody could name.
    """

    name: str
    train: Features
    test: Features
    train_relevance: IntArray
    test_relevance: IntArray
    queries: IntArray | None = None
    """Images of the training set to ask with, where they are fixed."""


@dataclass(frozen=True)
class Dataset:
    """Tasks over one data set or several, and what is known of it."""

    name: str
    tasks: Sequence[Task]
    kernel: dict[str, float] = field(default_factory=dict)
    """The paper's settings for it: length_scale, variance, noise."""
    image: Callable[[int], npt.NDArray[np.uint8]] | None = None
    """A picture of an image of the training set, grey or RGB, where all tasks share one."""


def of_classes(
    name: str,
    train: tuple[Features, npt.NDArray[Any]],
    test: tuple[Features, npt.NDArray[Any]],
    class_names: Sequence[str] | None = None,
    **known: Any,
) -> Dataset:
    """A data set in which every image has one class: a task for each class."""
    (train_features, train_classes), (test_features, test_classes) = train, test
    classes = np.unique(train_classes)
    if len(classes) < 2:
        raise DataError(f"{name} must have images of two or more classes, got {classes.tolist()}")
    missing = classes[~np.isin(classes, test_classes)]
    if missing.size:
        raise DataError(
            f"the test set of {name} must hold images of every class, but has none of "
            f"{', '.join(map(str, missing))}"
        )
    names = [str(one) for one in classes] if class_names is None else list(class_names)
    tasks = [
        Task(
            names[number],
            train_features,
            test_features,
            np.where(train_classes == one, 1, -1),
            np.where(test_classes == one, 1, -1),
        )
        for number, one in enumerate(classes)
    ]
    return Dataset(name, tasks, **known)


class LazyTasks(Sequence[Task]):
    """Tasks that are made when they are asked for."""

    @overload
    def __getitem__(self, number: int) -> Task: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Task]: ...
    def __getitem__(self, number: int | slice) -> Task | Sequence[Task]:
        numbers = range(len(self))[number]
        return self.task(numbers) if isinstance(numbers, int) else [self[i] for i in numbers]

    @abstractmethod
    def task(self, number: int) -> Task: ...


class ChangedTasks(LazyTasks):
    """The same tasks over other features, which ``change`` makes from training and test set."""

    def __init__(
        self,
        tasks: Sequence[Task],
        change: Callable[[Features, Features], tuple[Features, Features]],
    ) -> None:
        self._tasks, self._change = tasks, change
        self._last: tuple[Task, Task] | None = None

    def __len__(self) -> int:
        return len(self._tasks)

    def task(self, number: int) -> Task:
        task = self._tasks[number]
        # Most data sets have one set of features for all of their tasks.
        if self._last is None or self._last[0].train is not task.train:
            train, test = self._change(task.train, task.test)
            self._last = task, replace(task, train=train, test=test)
        return replace(task, train=self._last[1].train, test=self._last[1].test)
