"""Pictures that show the same thing, told from all others by hash and by embedding.

A perceptual hash knows where a picture is bright and dark, an embedding what is to be seen. Each
alone mistakes pictures for copies: two sunsets are bright in the same places, and two photographs
of a bus show much the same. Both together seldom do.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ital.checks import IntArray
from ital.collection.encoder import Vectors
from ital.engine import for_blocks

Hashes = npt.NDArray[np.uint64]

MOST_BITS, LEAST_COSINE = 16, 0.9
"""Bits of 64 in which the hashes of two pictures may differ, and the least cosine of embeddings.

Hashes of unlike pictures differ in 32 bits, give or take 5, so that three spreads from there one in
a thousand pairs is left; cropping a picture by 5 % changes 6, seldom more than 12. The cosine
is what tells these from pictures with the same outlines: two of one kind have 0.7.
"""

SAME_BITS, SAME_COSINE = 4, 0.8
"""The same where hardly a bit differs, of copies that are merely smaller or compressed.

Small ones are blurred to the network, which takes details for what is not there: hence the lower
cosine. It still keeps apart what has the same outlines in other colours.
"""

_TILE = 4096
"""Hashes that are compared with some others at a time: what a core's cache holds."""


_NONE = (-1.0, -1)
"""The cosine and the row of no picture."""


class Stacked:
    """Pictures in stacks, each around a centre that all others of the stack are alike to.

    A picture joins the centre that it is most alike to, or is a centre itself if it is alike to
    none. So no chain of pictures, each like the next, makes one stack of unlike ones: two pictures
    of a stack never differ by more than twice of what is allowed for two. What is settled stays,
    whatever comes later, and only centres have to be looked at.

    Args:
        hashes: perceptual hashes by row.
        known: which rows have one; others are alike to none.
        vectors: embeddings of length 1 by row.

    """

    def __init__(self, hashes: Hashes, known: npt.NDArray[np.bool_], vectors: Vectors) -> None:
        self._hashes, self._known, self._vectors = hashes, known, vectors
        self.centres: IntArray = np.full(len(hashes), -1, dtype=np.int64)
        """Rows of the centres, by row; -1 for those that are not settled."""
        self._rows = np.empty(len(hashes), dtype=np.int64)
        self._codes = np.empty(len(hashes), dtype=np.uint64)
        self._count = 0

    def settle(self, row: int, centre: int) -> None:
        """Let a picture be of the stack around a centre, which may be itself."""
        self.centres[row] = centre
        if row == centre and self._known[row]:
            self._rows[self._count], self._codes[self._count] = row, self._hashes[row]
            self._count += 1

    def join(self, rows: IntArray) -> None:
        """Settle some rows, all at once compared with the centres and one by one with each other.

        They should be few, for all of them are compared with each other.
        """
        count = self._count
        near: dict[int, tuple[float, int]] = {}
        for row, others in self._candidates(rows[self._known[rows]], count):
            near[row] = self._nearest(row, others)
        for row in rows.tolist():
            best = near.get(row, _NONE)
            if self._known[row]:
                best = max(best, self._nearest(row, self._rows[count : self._count]))
            self.settle(row, row if best is _NONE else best[1])

    def _candidates(self, rows: IntArray, count: int) -> Iterator[tuple[int, IntArray]]:
        """Rows, each with centres whose hashes differ from its own in few bits."""
        found: list[tuple[IntArray, IntArray]] = []

        def compare(lo: int, hi: int) -> None:
            bits = np.bitwise_count(self._hashes[rows, None] ^ self._codes[lo:hi])
            some, others = np.divmod(np.flatnonzero(bits <= MOST_BITS), hi - lo)
            if some.size:
                found.append((rows[some], self._rows[lo + others]))

        for_blocks(compare, count, _TILE)
        if not found:
            return
        some, others = (np.concatenate(part) for part in zip(*found, strict=True))
        order = np.argsort(some, kind="stable")
        some, others = some[order], others[order]
        starts = np.flatnonzero(np.diff(some, prepend=-1))
        yield from zip(some[starts].tolist(), np.split(others, starts[1:]), strict=True)

    def _nearest(self, row: int, others: IntArray) -> tuple[float, int]:
        """The highest cosine of a picture with others that are alike to it, and with which."""
        bits = np.bitwise_count(self._hashes[others] ^ self._hashes[row])
        others, bits = others[bits <= MOST_BITS], bits[bits <= MOST_BITS]
        if not others.size:
            return _NONE
        some, one = (self._vectors[part].astype(np.float32, copy=False) for part in (others, row))
        cosines = some @ one
        alike = cosines >= np.where(bits <= SAME_BITS, SAME_COSINE, LEAST_COSINE)
        best = int(np.where(alike, cosines, -1.0).argmax())
        return (float(cosines[best]), int(others[best])) if alike[best] else _NONE
