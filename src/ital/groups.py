"""Groups of images that show the same thing: one question, and one answer, for all of a group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ital.checks import Identifier, IntArray, Rows
from ital.pool import Pool


class Groups:
    """The images of a pool, each in one group. An image that is like no other is one by itself."""

    def __init__(self, numbers: IntArray) -> None:
        _, first, which = np.unique(numbers, return_index=True, return_inverse=True)
        self.first: IntArray = first[which]
        """By row, the first row of the same group, which stands for it."""
        self.others: IntArray = np.flatnonzero(self.first != np.arange(len(numbers)))
        """Rows that are not the first of their group."""
        self._order = np.argsort(self.first, kind="stable")
        self._sorted = self.first[self._order]

    @staticmethod
    def of(groups: Any, pool: Pool) -> Groups:
        """Groups that are given as a number for each image, or as lists of images, or as such."""
        if isinstance(groups, Groups):
            _numbers(groups.first, len(pool))
            return groups
        if isinstance(groups, np.ndarray):
            return Groups(_numbers(groups, len(pool)))
        if isinstance(groups, (str, bytes, Mapping)) or not isinstance(groups, Iterable):
            raise TypeError(f"groups must be numbers by image or lists of images, got {groups!r}")
        numbers = np.arange(len(pool))
        given: set[Identifier] = set()
        for group in groups:
            if isinstance(group, (str, bytes, Mapping)) or not isinstance(group, Iterable):
                raise TypeError(f"groups must be lists of images, got {group!r} among them")
            images = [pool.identifier(image, "groups") for image in group]
            for image in images:
                if image in given:
                    raise ValueError(f"groups must hold an image once at most, got {image} twice")
                given.add(image)
            rows = [row for image in images if (row := pool.row(image)) is not None]
            numbers[rows] = min(rows, default=0)
        return Groups(numbers)

    def members(self, row: int) -> IntArray:
        """All rows of the group of a row, ascending."""
        first = self.first[row]
        ends = np.searchsorted(self._sorted, [first, first + 1])
        return self._order[ends[0] : ends[1]]

    def known(self, labelled: Rows) -> IntArray:
        """Rows that are not to be asked about: one of a group is, unless one has a label."""
        return np.union1d(np.append(self.others, labelled), self.first[labelled])

    def best(self, rows: IntArray) -> IntArray:
        """Places, ascending, of those among ``rows`` that are the first of their groups there."""
        return np.sort(np.unique(self.first[rows], return_index=True)[1])


def _numbers(groups: npt.NDArray[Any], count: int) -> IntArray:
    """One for each image."""
    if groups.dtype.kind not in "iu" or groups.shape != (count,):
        raise ValueError(
            f"groups must be {count} whole numbers, one for each image, got the shape "
            f"{groups.shape} and type {groups.dtype}"
        )
    return groups.astype(np.int64)
