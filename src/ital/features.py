"""A slice of the features of a pool: what a shard reads, block by block, in double precision."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numkong
import numpy as np
import numpy.typing as npt

from ital.checks import Rows
from ital.engine import block_rows, for_blocks
from ital.gaussian import FloatArray

BLOCK_ELEMENTS = 1 << 16
"""Features converted at a time: 512 KB in double precision, which a second-level cache holds."""

_FEW_VECTORS = 16
"""Up to which products with features in single precision need no conversion of these."""

_ROUNDING = 2.0**-47
"""Part of a number that the sum of two in single precision may be off by."""


class Features:
    """Vectors in the type in which they were given: array or memory map, any real type.

    They are neither copied nor rounded. Blocks of them are converted to double precision on the
    fly, which costs little beside reading them, so that distances are as exact as if all of the
    features were held in double precision.

    Distances are differences of norms and products. Taken from a ``centre`` amid the images they
    lose few digits to an offset that all of the features share.
    """

    def __init__(self, array: npt.NDArray[Any], centre: FloatArray) -> None:
        self.array, self.centre = array, centre
        self.squared_norms = np.empty(len(self))
        """Squared distances from the centre; not finite where features are not."""
        with np.errstate(over="ignore", invalid="ignore"):
            self.for_converted(self._fill_norms)

    @staticmethod
    def of(first: int, last: int, array: npt.NDArray[Any], centre: FloatArray) -> Features:
        """Those of a pool from one image to another."""
        return Features(array[first:last], centre)

    def __len__(self) -> int:
        return len(self.array)

    @property
    def dimension(self) -> int:
        return int(self.array.shape[1])

    def vectors(self, rows: Rows) -> FloatArray:
        """The features of some images in double precision."""
        return np.asarray(self.array[rows], dtype=float)

    def norms(self, rows: Rows | None = None) -> FloatArray:
        """Squared distances of images from the centre."""
        return self.squared_norms if rows is None else self.squared_norms[rows]

    def differ_from(self, vector: FloatArray) -> bool:
        """Whether there is another than this one."""
        found = []
        self.for_converted(lambda lo, hi, block: found.append(bool((block != vector).any())))
        return any(found)

    def squared_distances(
        self,
        vectors: FloatArray,
        function: Callable[[FloatArray], FloatArray] = np.asarray,
        rows: Rows | None = None,
    ) -> FloatArray:
        """Squared Euclidean distances, shape (vectors, images), to all images or to ``rows``.

        ``function`` is applied to every block of them on the way, in the block's thread.
        """
        out = np.empty((len(vectors), len(self) if rows is None else len(rows)))
        measure = self.measuring(vectors, rows)

        def fill(lo: int, hi: int) -> None:
            out[:, lo:hi] = function(measure(lo, hi)).T

        for_blocks(fill, out.shape[1], self._step(len(vectors)))
        return out

    def mean_of(
        self, vectors: FloatArray, function: Callable[[FloatArray], FloatArray]
    ) -> FloatArray:
        """The mean over some vectors of a ``function`` of the squared distance, for every image.

        There is never an array of vectors x images: each block is summed up where it is made.
        """
        out = np.empty(len(self))
        half = self.array.dtype == np.float16
        measure = self._measuring_in_singles(vectors) if half else self.measuring(vectors)

        def fill(lo: int, hi: int) -> None:
            out[lo:hi] = function(measure(lo, hi)).mean(axis=1)

        for_blocks(fill, len(self), self._step(len(vectors)))
        return out

    def measuring(
        self, vectors: FloatArray, rows: Rows | None = None
    ) -> Callable[[int, int], FloatArray]:
        """What gives squared distances, shape (images, vectors), to images from one to another.

        They are images of the slice, or of ``rows``. Any number of threads may call it.
        """
        norms, others = self.norms(rows), vectors - self.centre
        # |x - y|^2 = |x - c|^2 + |y - c|^2 - 2 x'(y - c) + 2 c'(y - c)
        constant = np.einsum("ij,ij->i", others, others) + 2 * (others @ self.centre)
        multiply = self._multiplying(-2 * others, rows)

        def measure(lo: int, hi: int) -> FloatArray:
            products = multiply(lo, hi)
            products += constant
            products += norms[lo:hi, None]
            # Rounding may take the distance of two copies below 0.
            return np.maximum(products, 0.0, out=products)

        return measure

    def _measuring_in_singles(self, vectors: FloatArray) -> Callable[[int, int], Any]:
        """The same in single precision: half of the time for many vectors.

        It is off by far less than features in half precision are themselves.
        """
        others = vectors - self.centre
        constant = np.einsum("ij,ij->i", others, others) + 2 * (others @ self.centre)
        columns, added = (-2 * others.T).astype(np.float32), constant.astype(np.float32)
        converted = self._converting()

        def measure(lo: int, hi: int) -> npt.NDArray[np.float32]:
            products = np.empty((hi - lo, len(vectors)), dtype=np.float32)
            for start, block in converted(lo, hi):
                part = products[start - lo :][: len(block)]
                np.matmul(block.astype(np.float32), columns, out=part)
                part += self.squared_norms[start : start + len(block), None].astype(np.float32)
            products += added
            return np.maximum(products, 0.0, out=products)

        return measure

    def cosines(self, vectors: FloatArray, rows: Rows | None = None) -> FloatArray:
        """Cosine similarities, shape (vectors, images), to all images or to ``rows``.

        A vector of zeros is like none, itself included.
        """
        columns = np.ascontiguousarray(_directions(vectors.copy()).T)
        out = np.empty((len(vectors), len(self) if rows is None else len(rows)))

        def fill(lo: int, hi: int, block: FloatArray) -> None:
            out[:, lo:hi] = (_directions(block) @ columns).T

        self.for_converted(fill, rows)
        return out

    def for_converted(
        self, work: Callable[[int, int, FloatArray], None], rows: Rows | None = None
    ) -> None:
        """Call ``work(start, stop, block)`` with every block of features in double precision."""
        converted = self._converting(rows)

        def convert(lo: int, hi: int) -> None:
            for start, block in converted(lo, hi):
                work(start, start + len(block), block)

        for_blocks(convert, len(self) if rows is None else len(rows), self._step())

    def _fill_norms(self, lo: int, hi: int, block: FloatArray) -> None:
        block -= self.centre
        np.einsum("ij,ij->i", block, block, out=self.squared_norms[lo:hi])

    def _multiplying(
        self, vectors: FloatArray, rows: Rows | None
    ) -> Callable[[int, int], FloatArray]:
        """What gives inner products with vectors, as ``measuring`` does with distances.

        Few calls for a block, each of which may have to wait for the interpreter's lock.
        """
        if self.array.dtype == np.float32 and len(vectors) <= _FEW_VECTORS:
            parts = _in_singles(vectors)
            if parts is not None:
                return self._multiplying_singles(parts, len(vectors), rows)
        columns, converted = np.ascontiguousarray(vectors.T), self._converting(rows)

        def multiply(lo: int, hi: int) -> FloatArray:
            products = np.empty((hi - lo, len(vectors)))
            for start, block in converted(lo, hi):
                np.matmul(block, columns, out=products[start - lo :][: len(block)])
            return products

        return multiply

    def _multiplying_singles(
        self, parts: npt.NDArray[np.float32], count: int, rows: Rows | None
    ) -> Callable[[int, int], FloatArray]:
        """The same of features in single precision, summed up in double precision as they are read.

        ``parts`` are those that the vectors, ``count`` of them, are sums of.
        """
        packed = numkong.dots_pack(parts)

        def multiply(lo: int, hi: int) -> FloatArray:
            block = self.array[lo:hi] if rows is None else self.array[rows[lo:hi]]
            products = np.asarray(numkong.dots_packed(np.ascontiguousarray(block), packed))
            return products if len(parts) == count else products[:, :count] + products[:, count:]

        return multiply

    def _converting(
        self, rows: Rows | None = None
    ) -> Callable[[int, int], Iterator[tuple[int, FloatArray]]]:
        """What gives blocks of features in double precision, each to be used before the next.

        They are of images of the slice, or of ``rows``, and come with the number of the first one.
        """
        step, buffers = self._step(), threading.local()
        size = len(self) if rows is None else len(rows)

        def convert(lo: int, hi: int) -> Iterator[tuple[int, FloatArray]]:
            if not hasattr(buffers, "block"):
                buffers.block = np.empty((min(step, size), self.dimension))
            for start in range(lo, hi, step):
                part = slice(start, min(hi, start + step))
                block = buffers.block[: part.stop - start]
                np.copyto(block, self.array[part] if rows is None else self.array[rows[part]])
                yield start, block

        return convert

    def _step(self, vectors: int | None = None) -> int:
        """How many images to convert at a time; to measure, if there are ``vectors`` for that."""
        converted = max(1, BLOCK_ELEMENTS // self.dimension)
        if vectors is None:
            return converted
        return max(converted, min(block_rows(len(self)), BLOCK_ELEMENTS // max(1, vectors)))


def _in_singles(vectors: FloatArray) -> npt.NDArray[np.float32] | None:
    """Vectors as sums of two in single precision, the first of all before the second of all.

    Images of a pool of such vectors need the first alone. ``None`` where two have too few digits.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        first = vectors.astype(np.float32)
        second = (vectors - first).astype(np.float32)
        exact = np.abs(vectors - first - second) <= _ROUNDING * np.abs(vectors)
    if not exact.all():
        return None
    return np.concatenate([first, second]) if second.any() else first


def _directions(vectors: FloatArray) -> FloatArray:
    """Vectors at length 1, or 0 where they are 0. Overwrites its argument."""
    # Divided by the largest element first: no square overflows, and only zeros are shorter than 1.
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    vectors /= np.where(largest > 0, largest, 1.0)
    vectors /= np.sqrt(np.maximum(np.einsum("ij,ij->i", vectors, vectors), 1.0))[:, None]
    return vectors
