"""Where a pool is cut into shards, and which of them has which image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ital.checks import FloatArray, IntArray, Rows


@dataclass(frozen=True)
class Cut:
    """Rows from one bound to the next are those of a shard, in which they count from 0."""

    bounds: tuple[int, ...]

    @staticmethod
    def of(images: int, shards: int) -> Cut:
        """As even as can be; none of them is empty, unless there is no image at all."""
        count = max(1, min(images, shards))
        return Cut(tuple(images * one // count for one in range(count + 1)))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """The first row of each shard, and the first one behind it."""
        return zip(self.bounds[:-1], self.bounds[1:], strict=True)

    def split(self, rows: Rows) -> list[tuple[int, IntArray, Rows]]:
        """For each shard that has any: its number, places among ``rows``, and its own rows.

        The first has none of no rows.
        """
        if len(self) == 1 or not len(rows):
            return [(0, np.arange(len(rows)), rows)]
        shards = np.searchsorted(self.bounds, rows, side="right") - 1
        parts = [(shard, np.flatnonzero(shards == shard)) for shard in range(len(self))]
        return [
            (shard, places, rows[places] - self.bounds[shard])
            for shard, places in parts
            if places.size
        ]

    def assemble(self, rows: Rows | None, found: list[FloatArray], axis: int = -1) -> FloatArray:
        """What shards said of their images, along an axis: of all, or in the order of ``rows``.

        ``found`` has something of each shard, or of each that has one of the rows.
        """
        if len(found) == 1:
            return found[0]
        together = np.concatenate(found, axis=axis)
        if rows is None:
            return together
        order = np.argsort(np.concatenate([places for _, places, _ in self.split(rows)]))
        return np.take(together, order, axis=axis)
