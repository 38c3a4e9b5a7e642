"""The images that may be asked about."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ital.checks import IntArray, Rows


@dataclass(frozen=True)
class Unlabelled:
    """All images of a pool but those that are known, in ascending order.

    It reads like an array of their rows, which is made only where somebody asks for the whole of
    it: a pool may have millions of them.
    """

    images: int
    """In the pool."""
    known: IntArray
    """Rows, ascending."""

    @staticmethod
    def of(images: int, known: Rows) -> Unlabelled:
        return Unlabelled(images, np.unique(np.asarray(known, dtype=np.int64)))

    def __len__(self) -> int:
        return self.images - len(self.known)

    def __getitem__(self, places: npt.ArrayLike | slice) -> IntArray:
        """The rows at some places, which may be given by a mask as well."""
        wanted = np.asarray(np.arange(len(self))[places] if isinstance(places, slice) else places)
        if wanted.dtype == bool:
            wanted = np.flatnonzero(wanted)
        rows: IntArray = wanted + np.searchsorted(self._unknown_before, wanted, side="right")
        return rows

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> IntArray:
        return self[:] if dtype is None else self[:].astype(dtype)

    @cached_property
    def _unknown_before(self) -> IntArray:
        """How many candidates there are before each known row."""
        return self.known - np.arange(len(self.known))


Candidates = IntArray | Unlabelled
"""Rows of a pool in ascending order, as an array or as what is left of all of them."""


def without(candidates: Candidates, rows: Rows) -> Candidates:
    """The candidates less some of them."""
    if isinstance(candidates, Unlabelled):
        return Unlabelled.of(candidates.images, np.append(candidates.known, rows))
    return candidates[~np.isin(candidates, rows)]
