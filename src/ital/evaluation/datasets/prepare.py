"""Preparation as in section 4.1: joint scaling, PCA, stratified splits."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ital.evaluation.datasets.base import DataError, Features


def scaled(train: Features, test: Features) -> tuple[Features, Features]:
    """Both scaled by the one minimum and the one maximum of the training set, to [0, 1]."""
    if train.dtype.kind in "iu" or test.dtype.kind in "iu":
        train, test = train.astype(float), test.astype(float)  # small types would wrap around
    low, high = train.min(), train.max()
    extent = (high - low) or 1
    return (train - low) / extent, (test - low) / extent


def reduced(train: Features, test: Features, dimensions: int) -> tuple[Features, Features]:
    """Both on the first principal components of the training set."""
    from sklearn.decomposition import PCA

    most = min(train.shape)
    if not 1 <= dimensions <= most:
        raise DataError(
            f"pca must be from 1 to {most} for a training set of the shape {train.shape}, got "
            f"{dimensions}"
        )
    components = PCA(dimensions, svd_solver="full").fit(train)
    return components.transform(train), components.transform(test)


def split(
    source: object, classes: npt.NDArray[Any] | None, size: int, share: float, seed: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Indices of a training and a test set, the same share of every class if classes are given."""
    from sklearn.model_selection import train_test_split

    try:
        train, test = train_test_split(
            np.arange(size), test_size=share, random_state=seed, stratify=classes
        )
    except ValueError as error:
        raise DataError(f"{source} must have enough images of every class, but: {error}") from error
    return np.sort(train), np.sort(test)
