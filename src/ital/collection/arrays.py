"""Embeddings in memory, of pictures from elsewhere."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ital import checks
from ital.checks import IntArray
from ital.collection.encoder import Vectors
from ital.collection.paths import paths_within
from ital.collection.source import Source

_ROWS = 4096
"""Vectors that are brought to length 1 at a time."""

_BITS = 53
"""Of identifiers that are made of keys: as many as JavaScript keeps of a number."""


class ArraySource(Source):
    """Embeddings with identifiers, ascending whole numbers, or with keys, which may be any texts.

    Of a key an identifier is made, always the same, whatever pictures come and go.
    """

    def __init__(
        self,
        features: npt.ArrayLike,
        paths: Sequence[str] | None,
        ids: Any = None,
        root: Path = Path(),
        name: str | None = None,
    ) -> None:
        vectors = unit_vectors(features)
        count = len(vectors)
        keys = _keys(ids, count)
        names = None if paths is None else paths_within(root, paths)
        if names is not None and len(names) != count:
            raise ValueError(f"paths must be {count}, one for each vector, got {len(names)}")
        self.root, self.has_files, self.id = root, names is not None, name
        if keys is None:
            given = np.arange(1, count + 1) if ids is None else ids
            self.ids = checks.identifiers(given, "ids", count)
        else:
            numbers = identifiers_of(keys)
            order = np.argsort(numbers)
            self.ids, vectors = numbers[order], vectors[order]
            self.keys = [keys[row] for row in order]
            names = names and [names[row] for row in order]
        self.paths = names or self.keys or [str(one) for one in self.ids.tolist()]
        self._features = vectors
        # Without a name, pictures are known by each digit of the embeddings, and must all be there.
        self.kind = None if name is None else f"{name} {vectors.shape[1]}"

    def features(self) -> Vectors:
        return self._features


def identifiers_of(keys: Sequence[str]) -> IntArray:
    """Whole numbers for keys, made of each key alone. Two keys that get the same are refused."""
    found: dict[int, str] = {}
    numbers = np.empty(len(keys), np.int64)
    for row, key in enumerate(keys):
        digest = hashlib.sha256(key.encode(errors="surrogatepass")).digest()
        number = int.from_bytes(digest[:8]) >> (64 - _BITS)
        if number in found:
            other = found[number]
            raise ValueError(f"ids must be different, but {other!r} and {key!r} are taken for one")
        found[number], numbers[row] = key, number
    return numbers


def _keys(ids: Any, count: int) -> list[str] | None:
    """Identifiers that are texts, or ``None`` if there are none, or others."""
    if ids is None or np.asarray(ids).dtype.kind not in "UO":
        return None
    keys = list(ids)
    if len(keys) != count or not all(isinstance(key, str) and key for key in keys):
        raise ValueError(f"ids must be {count} texts or whole numbers, got {len(keys)}")
    return [str(key) for key in keys]


def unit_vectors(features: npt.ArrayLike) -> Vectors:
    """Vectors in single precision, at length 1."""
    array = checks.matrix(features, "features")
    result = np.empty(array.shape, np.float32)
    finite, known = np.empty((2, len(array)), dtype=bool)
    for start in range(0, len(array), _ROWS):
        rows = slice(start, start + _ROWS)
        part = array[rows].astype(np.float64)
        finite[rows] = checks.squares_are_finite(part)
        largest = np.abs(part).max(axis=1, keepdims=True)
        known[rows] = largest[:, 0] > 0
        # Divided by a power of two that is close to it, for which there is no rounding and after
        # which not all squares vanish.
        part = np.ldexp(part, -np.frexp(largest)[1])
        with np.errstate(invalid="ignore"):
            result[rows] = part / np.linalg.norm(part, axis=1, keepdims=True)
    checks.finite_rows(finite, "features")
    if not known.all():
        empty = np.flatnonzero(~known)
        raise ValueError(
            f"features must have a length, but {empty.size} of {len(array)} rows hold zeros alone, "
            f"the first of them row {empty[0]}"
        )
    return result
