"""Any folder of pictures with a folder for each class."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ital.evaluation.datasets.base import DataError, Dataset, of_classes
from ital.evaluation.datasets.prepare import split


def pictures(folder: Path) -> Dataset:
    """A task for each folder. A quarter of every class is the test set.

    The features are embeddings of EfficientNet-Lite0, which are kept in the user's cache.
    """
    from PIL import Image

    from ital.collection import Collection, index
    from ital.collection.store import in_cache

    cache = in_cache(folder)
    # Every process of a run comes here; the first one does the work.
    done = index(folder, cache, wait=True)
    for one in done.skipped:
        raise DataError(f"{folder / one.path} must be a picture, but: {one.reason}")
    parts = [Path(path).parts for path in Collection.open(cache).paths] if done.pictures else []
    counts = Counter(part[0] for part in parts if len(part) > 1)
    if len(counts) < 2 or min(counts.values()) < 4:
        raise DataError(
            f"{folder} must hold two or more folders, one for each class, of four or more pictures "
            f"each, got {dict(sorted(counts.items()))}"
        )
    collection = Collection.open(cache)
    rows = np.array([row for row, part in enumerate(parts) if len(part) > 1])
    names = np.array([parts[row][0] for row in rows])
    features = collection.features()[rows]
    train, test = split(folder, names, len(names), 0.25, seed=0)

    def image(number: int) -> npt.NDArray[np.uint8]:
        thumbnail = collection.thumbnail(int(collection.ids[rows[train[number]]]))
        with Image.open(io.BytesIO(thumbnail)) as opened:
            return np.asarray(opened)

    return of_classes(
        folder.resolve().name,
        (features[train], names[train]),
        (features[test], names[test]),
        image=image,
    )
