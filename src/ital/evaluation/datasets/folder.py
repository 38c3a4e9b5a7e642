"""Any folder of pictures with a folder for each class."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from ital.evaluation.datasets.base import DataError, Dataset, of_classes
from ital.evaluation.datasets.prepare import split

SIDE = 16
"""Pictures are described by their colours at so many places across and down."""

_SHOWN = 96


def pictures(folder: Path) -> Dataset:
    """A task for each folder. A quarter of every class is the test set.

    The features are small pictures: colours, not contents. For features of a network, save them as
    a NumPy archive.
    """
    classes = sorted(one for one in folder.iterdir() if one.is_dir() and one.name[0] != ".")
    files = [(path, one.name) for one in classes for path in sorted(one.iterdir())]
    files = [(path, name) for path, name in files if path.is_file() and path.name[0] != "."]
    counts = {one.name: sum(name == one.name for _, name in files) for one in classes}
    few = [name for name, count in counts.items() if count < 4]
    if len(counts) < 2 or few:
        raise DataError(
            f"{folder} must hold two or more folders, one for each class, of four or more pictures "
            f"each, got {counts}"
        )
    features = np.stack([_picture(path, SIDE).ravel() for path, _ in files])
    names = np.array([name for _, name in files])
    train, test = split(folder, names, len(names), 0.25, seed=0)
    return of_classes(
        folder.resolve().name,
        (features[train], names[train]),
        (features[test], names[test]),
        image=lambda image: _picture(files[train[image]][0], _SHOWN),
    )


def _picture(path: Path, side: int) -> npt.NDArray[np.uint8]:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as picture:
            return np.asarray(picture.convert("RGB").resize((side, side), Image.Resampling.BOX))
    except (UnidentifiedImageError, OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(f"{path} must be a picture, but: {error}") from error
