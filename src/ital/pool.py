"""The pool: n feature vectors that never change."""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numkong
import numpy as np
import numpy.typing as npt

from ital import checks
from ital.checks import IntArray
from ital.engine import block_rows, for_blocks
from ital.turns import Turns

FloatArray = npt.NDArray[np.float64]
Rows = npt.NDArray[np.integer[Any]]
T = TypeVar("T")

_BLOCK_ELEMENTS = 1 << 16
"""Features converted at a time: 512 KB in double precision, which a second-level cache holds."""

_FEW_VECTORS = 16
"""Up to which products with features in single precision need no conversion of these."""

_NEAR = 16.0
"""Times the mean squared distance from it that the centre may be from 0, squared, to be left there.

Distances then lose no more than five of their 53 bits to it.
"""

_ROUNDING = 2.0**-47
"""Part of a number that the sum of two in single precision may be off by."""

_LEAST_SPREAD = 1e-140
"""The least distance from the centre, in one image at least, whose square keeps all its digits."""

HASHED = "import-"
"""How a fingerprint that is given begins if it is a hash of the features, too."""

_SAMPLE = 1000
"""Images, evenly spaced, that stand for all in the centre and in the median heuristic."""


@dataclass(frozen=True)
class Distances:
    """Squared distances of vectors to some that stay, measured from a point amid all."""

    centre: FloatArray
    columns: FloatArray
    """Those that stay, less the centre, as columns."""
    norms: FloatArray
    """Squared, of the columns."""

    def __call__(self, vectors: FloatArray) -> FloatArray:
        """Of vectors, a row for each."""
        some = vectors - self.centre
        squared: FloatArray = np.einsum("ij,ij->i", some, some)[:, None] + self.norms
        squared -= 2 * some @ self.columns
        return np.maximum(squared, 0.0, out=squared)


class Pool:
    """Feature vectors in the type in which they were given: array or memory map, any real type.

    They are neither copied nor rounded. Blocks of them are converted to double precision on the
    fly, which costs little beside reading them, so that distances are as exact as if all of the
    features were held in double precision.

    Args:
        features: n vectors of length d.
        ids: a name for each image, ascending whole numbers; the row numbers if ``None``. Images
            with names of their own can come and go without the others changing theirs.
        fingerprint: what tells these features, and any that images will be added with, from
            features of another kind; a hash of the features themselves if ``None``.
        collection: what tells the collection apart that gave the images their names, where others
            may give the same names to images of the same kind.

    """

    def __init__(
        self,
        features: npt.ArrayLike,
        ids: npt.ArrayLike | None = None,
        fingerprint: str | None = None,
        collection: str | None = None,
    ) -> None:
        self.features = checks.matrix(features, "features")
        self.ids = None if ids is None else checks.identifiers(ids, "ids", len(self.features))
        if fingerprint is not None:
            self.fingerprint = fingerprint
        self.collection = collection
        # Distances are differences of norms and products. Taken from a point amid the images they
        # lose few digits to an offset that all of the features share.
        self._squared_norms = np.empty(len(self))
        self._kept: dict[Hashable, Any] = {}
        self._keeping = Turns()
        with np.errstate(over="ignore", invalid="ignore"):
            sample = self.vectors(self.sample(_SAMPLE))
            self._centre = _centre(np.where(np.isfinite(sample), sample, 0.0))
            self._for_converted(self._fill_norms)
        checks.finite_rows(np.isfinite(self._squared_norms), "features")
        self._check_spread()

    def __len__(self) -> int:
        return len(self.features)

    @property
    def dimension(self) -> int:
        return int(self.features.shape[1])

    def identifiers(self, rows: Rows) -> IntArray:
        """The names of the images in some rows."""
        return np.asarray(rows if self.ids is None else self.ids[rows], dtype=np.int64)

    def identifier(self, image: Any, name: str) -> int:
        """``image`` as the name of an image of the pool; ``name`` is that of the argument."""
        if self.ids is None:
            return checks.index(image, name, len(self))
        if checks.whole_number(image, name, least=0) not in self:
            raise IndexError(f"{name} must be an identifier of an image of the pool, got {image!r}")
        return int(image)

    def __contains__(self, image: int) -> bool:
        """Whether an image of this name is in the pool."""
        return self.row(image) is not None

    def row(self, image: int) -> int | None:
        """Where an image is, or ``None`` if it is not in the pool."""
        if self.ids is None:
            return image if 0 <= image < len(self) else None
        row = int(np.searchsorted(self.ids, image))
        return row if row < len(self) and self.ids[row] == image else None

    def vectors(self, rows: Rows) -> FloatArray:
        """The features of some images in double precision."""
        return np.asarray(self.features[rows], dtype=float)

    def squared_distances(
        self,
        vectors: FloatArray,
        rows: Rows | None = None,
        function: Callable[[FloatArray], FloatArray] = np.asarray,
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
        measure = self.measuring(vectors)

        def fill(lo: int, hi: int) -> None:
            function(measure(lo, hi)).mean(axis=1, out=out[lo:hi])

        for_blocks(fill, len(self), self._step(len(vectors)))
        return out

    def measuring(
        self, vectors: FloatArray, rows: Rows | None = None
    ) -> Callable[[int, int], FloatArray]:
        """What gives squared distances, shape (images, vectors), to images from one to another.

        They are images of the pool, or of ``rows``. Any number of threads may call it.
        """
        norms = self._squared_norms if rows is None else self._squared_norms[rows]
        others = vectors - self._centre
        # |x - y|^2 = |x - c|^2 + |y - c|^2 - 2 x'(y - c) + 2 c'(y - c)
        constant = np.einsum("ij,ij->i", others, others) + 2 * (others @ self._centre)
        multiply = self._multiplying(-2 * others, rows)

        def measure(lo: int, hi: int) -> FloatArray:
            products = multiply(lo, hi)
            products += constant
            products += norms[lo:hi, None]
            # Rounding may take the distance of two copies below 0.
            return np.maximum(products, 0.0, out=products)

        return measure

    def _multiplying(
        self, vectors: FloatArray, rows: Rows | None
    ) -> Callable[[int, int], FloatArray]:
        """What gives inner products with vectors, as ``measuring`` does with distances.

        Few calls for a block, each of which may have to wait for the interpreter's lock.
        """
        if self.features.dtype == np.float32 and len(vectors) <= _FEW_VECTORS:
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
            block = self.features[lo:hi] if rows is None else self.features[rows[lo:hi]]
            products = np.asarray(numkong.dots_packed(np.ascontiguousarray(block), packed))
            return products if len(parts) == count else products[:, :count] + products[:, count:]

        return multiply

    def cosines(self, vectors: FloatArray, rows: Rows | None = None) -> FloatArray:
        """Cosine similarities, shape (vectors, images), to all images or to ``rows``.

        A vector of zeros is like none, itself included.
        """
        columns = np.ascontiguousarray(_directions(vectors.copy()).T)
        out = np.empty((len(vectors), len(self) if rows is None else len(rows)))

        def fill(lo: int, hi: int, block: FloatArray) -> None:
            out[:, lo:hi] = (_directions(block) @ columns).T

        self._for_converted(fill, rows)
        return out

    def distances_between(self, some: FloatArray, others: FloatArray) -> FloatArray:
        """Squared distances of vectors that need not be in the pool, shape (some, others)."""
        return self.distances_to(others)(some)

    def distances_to(self, others: FloatArray) -> Distances:
        """What gives the same of any vectors to these, of which it keeps what it needs."""
        columns = (others - self._centre).T
        return Distances(self._centre, columns, np.einsum("ij,ij->j", columns, columns))

    @functools.cached_property
    def fingerprint(self) -> str:
        """A hash of shape, type and values, to know these features again."""
        digest = hashlib.sha256(repr((self.features.shape, self.features.dtype.str)).encode())
        if self.ids is not None:
            digest.update(self.ids.data)
        step = max(1, _BLOCK_ELEMENTS // self.dimension)
        for lo in range(0, len(self), step):
            digest.update(np.ascontiguousarray(self.features[lo : lo + step]).data)
        return digest.hexdigest()

    def median_distance(self) -> float:
        """The median distance of two images, of an evenly spaced sample when there are many.

        Where most images are copies of each other, so that it would be 0, the median of the
        distances that are not; 1 where all images are the same.
        """
        rows = self.sample(_SAMPLE)
        squared = self.squared_distances(self.vectors(rows), rows)
        i, j = np.triu_indices(len(rows), 1)
        pairs, norms = squared[i, j], self._squared_norms[rows]
        # Copies come out at rounding error, not at 0.
        rounding = 1e-13 * (norms[i] + norms[j]) + 1e-28 * self._centre @ self._centre
        distinct = pairs[pairs > rounding]
        if 2 * distinct.size > pairs.size:
            distinct = pairs
        return float(np.sqrt(np.median(distinct))) if distinct.size else 1.0

    def density(self, neighbours: int) -> FloatArray:
        """The mean cosine similarity of every image to its nearest neighbours.

        It takes time that grows with the square of the pool, once.
        """
        return self.kept(
            ("density", neighbours), lambda: self._density(min(neighbours, len(self) - 1))
        )

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """What is made once for the pool, and then shared by all who ask for it by its key."""
        with self._keeping:
            if key not in self._kept:
                self._kept[key] = make()
            made: T = self._kept[key]
            return made

    def sample(self, count: int) -> Rows:
        """At most so many images, evenly spaced, to stand for all."""
        return np.arange(0, len(self), -(-len(self) // count))

    def _density(self, neighbours: int) -> FloatArray:
        density = np.zeros(len(self))

        def fill(lo: int, hi: int) -> None:
            cosines = self.cosines(self.vectors(np.arange(lo, hi)))
            cosines[np.arange(hi - lo), np.arange(lo, hi)] = -np.inf
            cosines.partition(len(self) - neighbours, axis=1)
            density[lo:hi] = cosines[:, len(self) - neighbours :].mean(axis=1)

        if neighbours:
            for_blocks(fill, len(self), max(1, 32 * _BLOCK_ELEMENTS // len(self)))
        density.flags.writeable = False
        return density

    def _check_spread(self) -> None:
        """Refuse images that differ by so little that the squares of all distances vanish."""
        if self._squared_norms.max() >= _LEAST_SPREAD**2:
            return
        first = self.vectors(np.array([0]))
        differ = np.zeros(len(self), dtype=bool)

        def compare(lo: int, hi: int, block: FloatArray) -> None:
            differ[lo:hi] = (block != first).any(axis=1)

        self._for_converted(compare)
        if differ.any():
            raise ValueError(
                f"features must differ by {_LEAST_SPREAD} or more, but are all closer to each "
                "other than that: multiply them by a constant"
            )

    def _fill_norms(self, lo: int, hi: int, block: FloatArray) -> None:
        block -= self._centre
        np.einsum("ij,ij->i", block, block, out=self._squared_norms[lo:hi])

    def _for_converted(
        self, work: Callable[[int, int, FloatArray], None], rows: Rows | None = None
    ) -> None:
        """Call ``work(start, stop, block)`` with every block of features in double precision."""
        converted = self._converting(rows)

        def convert(lo: int, hi: int) -> None:
            for start, block in converted(lo, hi):
                work(start, start + len(block), block)

        for_blocks(convert, len(self) if rows is None else len(rows), self._step())

    def _converting(
        self, rows: Rows | None = None
    ) -> Callable[[int, int], Iterator[tuple[int, FloatArray]]]:
        """What gives blocks of features in double precision, each to be used before the next.

        They are of images of the pool, or of ``rows``, and come with the number of the first one.
        """
        step, buffers = self._step(), threading.local()
        size = len(self) if rows is None else len(rows)

        def convert(lo: int, hi: int) -> Iterator[tuple[int, FloatArray]]:
            if not hasattr(buffers, "block"):
                buffers.block = np.empty((min(step, size), self.dimension))
            for start in range(lo, hi, step):
                part = slice(start, min(hi, start + step))
                block = buffers.block[: part.stop - start]
                np.copyto(block, self.features[part] if rows is None else self.features[rows[part]])
                yield start, block

        return convert

    def _step(self, vectors: int | None = None) -> int:
        """How many images to convert at a time; to measure, if there are ``vectors`` for that."""
        converted = max(1, _BLOCK_ELEMENTS // self.dimension)
        if vectors is None:
            return converted
        return max(converted, min(block_rows(len(self)), _BLOCK_ELEMENTS // max(1, vectors)))


def _centre(sample: FloatArray) -> FloatArray:
    """A point amid some images: 0, if that is not far off, and their median otherwise."""
    median: FloatArray = np.median(sample, axis=0)
    spread = np.einsum("ij,ij->i", sample - median, sample - median).mean()
    return np.zeros_like(median) if median @ median <= _NEAR * spread else median


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
