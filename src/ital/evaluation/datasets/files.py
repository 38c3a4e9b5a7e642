"""Data sets in files: NumPy archives, and USPS in the formats in which it is published."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ital.checks import numpy_says
from ital.evaluation.datasets.base import (
    DataError,
    Dataset,
    Features,
    MissingDataError,
    check_features,
    of_classes,
)
from ital.evaluation.datasets.prepare import split
from ital.evaluation.published import KERNELS

_USPS_ADVICE = (
    "USPS is published as usps.h5 (HDF5, groups train and test) and as zip.train and zip.test "
    "(text, also .gz; from the data page of The Elements of Statistical Learning)"
)


def digits() -> Dataset:
    """The 1,797 handwritten digits of 8 x 8 pixels that ship with scikit-learn."""
    from sklearn.datasets import load_digits

    data = load_digits()
    train, test = split("digits", data.target, len(data.data), 0.25, seed=0)
    return of_classes(
        "digits",
        (data.data[train], data.target[train]),
        (data.data[test], data.target[test]),
        image=_Picture(data.data[train], 8),
    )


def archive(path: Path, name: str | None = None, **known: Any) -> Dataset:
    """Arrays X_train, y_train, X_test, y_test, or X and y to be split; class_names if known."""
    wanted = "X_train, y_train, X_test and y_test (or X and y), and class_names where there are any"
    if not path.is_file():
        raise MissingDataError(
            f"looked for {path}, a NumPy archive of {wanted}, but there is none; numpy.savez makes "
            "one of features and classes"
        )
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as data:
            arrays = {key: data[key] for key in data.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error, TypeError) as error:
        raise DataError(
            f"{path} must be a NumPy archive of {wanted}, but: {numpy_says(error)}"
        ) from error
    if {"X", "y"} <= arrays.keys() and "X_train" not in arrays:
        _check(path, arrays["X"], arrays["y"])
        train, test = split(path, arrays["y"], len(arrays["y"]), 0.25, seed=0)
        for part, rows in (("train", train), ("test", test)):
            arrays |= {f"{key}_{part}": arrays[key][rows] for key in ("X", "y")}
    missing = [key for key in ("X_train", "y_train", "X_test", "y_test") if key not in arrays]
    if missing:
        raise DataError(
            f"{path} must hold {wanted}, but lacks {', '.join(missing)}; it has "
            f"{', '.join(arrays) or 'nothing'}"
        )
    for part in ("train", "test"):
        _check(path, arrays[f"X_{part}"], arrays[f"y_{part}"])
    if arrays["X_train"].shape[1] != arrays["X_test"].shape[1]:
        raise DataError(
            f"{path} must have as many features for training as for test images, got "
            f"{arrays['X_train'].shape[1]} and {arrays['X_test'].shape[1]}"
        )
    names = arrays.get("class_names")
    classes = len(np.unique(arrays["y_train"]))
    if names is not None and names.shape != (classes,):
        raise DataError(f"{path} has {classes} classes, but class_names of shape {names.shape}")
    return of_classes(
        name or path.stem,
        (arrays["X_train"], arrays["y_train"]),
        (arrays["X_test"], arrays["y_test"]),
        None if names is None else [str(one) for one in names.astype(str)],
        **known,
    )


def usps(folder: Path) -> Dataset:
    """The handwritten digits of the U.S. Postal Service, 16 x 16 pixels."""
    known: dict[str, Any] = {"kernel": KERNELS["usps"]}
    if (folder / "usps.npz").is_file():
        dataset = archive(folder / "usps.npz", "usps", **known)
    elif (folder / "usps.h5").is_file():
        train, test = (_usps_hdf5(folder / "usps.h5", part) for part in ("train", "test"))
        dataset = of_classes("usps", train, test, **known)
    else:
        train, test = (_usps_text(_text(folder, f"zip.{part}")) for part in ("train", "test"))
        dataset = of_classes("usps", train, test, **known)
    pixels = dataset.tasks[0].train
    for part in (pixels, dataset.tasks[0].test):
        if part.shape[1] != 256:
            raise DataError(f"USPS in {folder} must have 256 pixels an image, got {part.shape[1]}")
    return Dataset(dataset.name, dataset.tasks, dataset.kernel, _Picture(pixels, 16))


def _text(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise MissingDataError(
        f"looked for usps.npz, usps.h5, and {name} or {name}.gz in {folder}, but found none; "
        f"{_USPS_ADVICE}"
    )


def _usps_text(path: Path) -> tuple[Features, npt.NDArray[np.int64]]:
    """Lines of a digit and 256 grey values from -1 to 1."""
    try:
        lines = np.loadtxt(path, dtype=np.float32, ndmin=2)
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"{path} must hold lines of a digit and 256 grey values, but: {error}; {_USPS_ADVICE}"
        ) from error
    if lines.shape[1] != 257:
        raise DataError(
            f"{path} must hold lines of a digit and 256 grey values, got {lines.shape[1]} numbers "
            f"a line; {_USPS_ADVICE}"
        )
    features, digits = lines[:, 1:], lines[:, 0]
    check_features(path, features)
    if not np.isin(digits, range(10)).all():
        raise DataError(f"{path} must hold digits from 0 to 9, got {np.unique(digits)}")
    return features, digits.astype(np.int64)


def _usps_hdf5(path: Path, part: str) -> tuple[Features, npt.NDArray[np.int64]]:
    """Groups `train` and `test` of `data`, grey values from 0 to 1, and `target`."""
    import h5py

    try:
        with h5py.File(path) as file:
            features, classes = file[part]["data"][:], file[part]["target"][:].astype(np.int64)
    except (OSError, KeyError, AttributeError, TypeError, ValueError) as error:
        raise DataError(
            f"{path} must be an HDF5 file of groups train and test with data and target, but: "
            f"{error}; {_USPS_ADVICE}"
        ) from error
    _check(path, features, classes)
    return features, classes


def _check(path: Path, features: Features, classes: npt.NDArray[Any]) -> None:
    check_features(path, features)
    if classes.shape != (len(features),):
        raise DataError(
            f"{path} must hold one feature vector and one class for each image, got arrays of the "
            f"shapes {features.shape} and {classes.shape}"
        )


class _Picture:
    """Grey values as pictures, dark on light."""

    def __init__(self, features: Features, side: int) -> None:
        self.features, self.side = features, side
        self.low, self.high = features.min(), features.max()

    def __call__(self, image: int) -> npt.NDArray[np.uint8]:
        pixels = self.features[image].reshape(self.side, self.side)
        grey = 255 * (self.high - pixels) / (self.high - self.low)
        result: npt.NDArray[np.uint8] = np.rint(grey).astype(np.uint8)
        return result
