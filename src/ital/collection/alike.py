"""Pictures that show the same thing, told from all others by hash and by embedding.

A perceptual hash knows where a picture is bright and dark, an embedding what is to be seen. Each
alone mistakes pictures for copies: two sunsets are bright in the same places, and two photographs
of a bus show much the same. Both together seldom do. How near embeddings of different pictures come
depends on the collection: drawings of one hand are nearer to each other than two photographs of the
same moment. So what is near enough is measured, on pictures that are different by their hashes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from ital.checks import IntArray
from ital.collection.encoder import Vectors
from ital.engine import for_blocks

Hashes = npt.NDArray[np.uint64]

MOST_BITS, LEAST_COSINE = 18, 0.88
"""Bits of 64 in which the hashes of two pictures may differ, and the least cosine of embeddings, in
a collection in which different pictures do not come so near.

Hashes of unlike pictures differ in 32 bits, give or take 5, so that three in a thousand pairs are
left; cropping a picture by 5 % on every side changes 10, seldom more than 18. The cosine is what
tells these from pictures with the same outlines: two of one kind have 0.7.
"""

SAME_BITS, SAME_COSINE, MOST_DIFFERENCE = 4, 0.8, 15.0
"""Copies that are merely smaller, compressed or brighter are known by their pixels as well: hardly
a bit differs, and their miniatures hardly do.

Small ones are blurred to the network, which takes details for what is not there: hence the lower
cosine. Miniatures of such copies of photographs differed by 14.8 at the most, those of two emoji
by 16.1 at the least.
"""

OTHER_BITS, OTHER_PART = 24, 0.99
"""Pictures whose hashes differ in more bits are different ones: copies never came to more than 22,
even if cropped by 5 % on every side. This part of a collection must have no different picture
within the limit.
"""

_SAMPLE = 512
"""Pictures, evenly spaced, of which the nearest different one is looked for."""

_TRIED = 8
"""Centres, the nearest, whose miniatures a picture is compared with."""

_TILE = 4096
"""Hashes that are compared with some others at a time: what a core's cache holds."""


_NONE = (-1.0, -1)
"""The cosine and the row of no picture."""


def least_cosine(hashes: Hashes, known: npt.NDArray[np.bool_], vectors: Vectors) -> float:
    """The cosine that embeddings of different pictures of a collection hardly ever reach."""
    rows = np.flatnonzero(known)
    if not rows.size:
        return LEAST_COSINE
    some = rows[np.linspace(0, len(rows) - 1, min(len(rows), _SAMPLE)).astype(np.int64)]
    sample = vectors[some].astype(np.float32, copy=False).T
    nearest: list[npt.NDArray[np.float32]] = []

    def compare(lo: int, hi: int) -> None:
        others = rows[lo:hi]
        cosines = vectors[others].astype(np.float32, copy=False) @ sample
        cosines[np.bitwise_count(hashes[others, None] ^ hashes[some]) <= OTHER_BITS] = -1.0
        nearest.append(cosines.max(axis=0))

    for_blocks(compare, len(rows), _TILE)
    return max(LEAST_COSINE, float(np.quantile(np.max(nearest, axis=0), OTHER_PART)))


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
        least: the least cosine of pictures that are alike, whatever their pixels are.
        differ: by how much the miniatures of two rows do.

    """

    def __init__(
        self,
        hashes: Hashes,
        known: npt.NDArray[np.bool_],
        vectors: Vectors,
        least: float,
        differ: Callable[[int, int], float],
    ) -> None:
        self._hashes, self._known, self._vectors = hashes, known, vectors
        self._least, self._differ = least, differ
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
        best = int(cosines.argmax())
        if cosines[best] >= self._least:
            return float(cosines[best]), int(others[best])
        close = np.flatnonzero((bits <= SAME_BITS) & (cosines >= SAME_COSINE))
        for place in close[np.argsort(-cosines[close], kind="stable")][:_TRIED].tolist():
            if self._differ(row, int(others[place])) <= MOST_DIFFERENCE:
                return float(cosines[place]), int(others[place])
        return _NONE
