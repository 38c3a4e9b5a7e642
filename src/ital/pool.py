"""The pool: n feature vectors that never change, in one or more shards."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ital import checks
from ital.checks import Identifier, IntArray, Row, Rows
from ital.engine import Engine, ThreadEngine, for_blocks
from ital.features import BLOCK_ELEMENTS, Features
from ital.gaussian import FloatArray
from ital.turns import Turns

T = TypeVar("T")

_NEAR = 16.0
"""Times the mean squared distance from it that the centre may be from 0, squared, to be left there.

Distances then lose no more than five of their 53 bits to it.
"""

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
    """Feature vectors, which are used as they are, and what each image is called.

    Args:
        features: n vectors of length d: array or memory map, any real type.
        ids: a name for each image, ascending whole numbers; the row numbers if ``None``. Images
            with names of their own can come and go without the others changing theirs.
        fingerprint: what tells these features, and any that images will be added with, from
            features of another kind; a hash of the features themselves if ``None``.
        collection: what tells the collection apart that gave the images their names, where others
            may give the same names to images of the same kind.
        engine: where the pool's shards are; all in one on the threads of this machine if ``None``.

    """

    def __init__(
        self,
        features: npt.ArrayLike,
        ids: npt.ArrayLike | None = None,
        fingerprint: str | None = None,
        collection: str | None = None,
        engine: Engine | None = None,
    ) -> None:
        self.features = checks.matrix(features, "features")
        self.ids = None if ids is None else checks.identifiers(ids, "ids", len(self.features))
        if fingerprint is not None:
            self.fingerprint = fingerprint
        self.collection = collection
        self._kept: dict[Hashable, Any] = {}
        self._keeping = Turns()
        with np.errstate(over="ignore", invalid="ignore"):
            sample = np.asarray(self.features[self.sample(_SAMPLE)], dtype=float)
            self._centre = _centre(np.where(np.isfinite(sample), sample, 0.0))
        self.slices = (engine or ThreadEngine()).group(
            len(self), Features.of, self.features, self._centre
        )
        self._check_features()

    def __len__(self) -> int:
        return len(self.features)

    @property
    def dimension(self) -> int:
        return int(self.features.shape[1])

    def identifiers(self, rows: Rows) -> IntArray:
        """The names of the images in some rows."""
        return np.asarray(rows if self.ids is None else self.ids[rows], dtype=np.int64)

    def identifier(self, image: Any, name: str) -> Identifier:
        """``image`` as the name of an image of the pool; ``name`` is that of the argument."""
        if self.ids is None:
            return Identifier(checks.index(image, name, len(self)))
        if Identifier(checks.whole_number(image, name, least=0)) not in self:
            raise IndexError(f"{name} must be an identifier of an image of the pool, got {image!r}")
        return Identifier(int(image))

    def __contains__(self, image: Identifier) -> bool:
        """Whether an image of this name is in the pool."""
        return self.row(image) is not None

    def row(self, image: Identifier) -> Row | None:
        """Where an image is, or ``None`` if it is not in the pool."""
        if self.ids is None:
            return Row(image) if 0 <= image < len(self) else None
        row = int(np.searchsorted(self.ids, image))
        return Row(row) if row < len(self) and self.ids[row] == image else None

    def vectors(self, rows: Rows) -> FloatArray:
        """The features of some images in double precision."""
        return self.slices.gather(Features.vectors, rows, axis=0)

    def squared_distances(
        self,
        vectors: FloatArray,
        rows: Rows | None = None,
        function: Callable[[FloatArray], FloatArray] = np.asarray,
    ) -> FloatArray:
        """Squared Euclidean distances, shape (vectors, images), to all images or to ``rows``.

        ``function`` is applied to every block of them on the way.
        """
        return self.slices.gather(Features.squared_distances, rows, vectors, function)

    def cosines(self, vectors: FloatArray, rows: Rows | None = None) -> FloatArray:
        """Cosine similarities, shape (vectors, images), to all images or to ``rows``.

        A vector of zeros is like none, itself included.
        """
        return self.slices.gather(Features.cosines, rows, vectors)

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
        step = max(1, BLOCK_ELEMENTS // self.dimension)
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
        pairs, norms = squared[i, j], self.slices.gather(Features.norms, rows)
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
            for_blocks(fill, len(self), max(1, 32 * BLOCK_ELEMENTS // len(self)))
        density.flags.writeable = False
        return density

    def _check_features(self) -> None:
        """Refuse what are no numbers, and images that differ by so little that squares vanish."""
        norms = self.slices.gather(Features.norms, None)
        checks.finite_rows(np.isfinite(norms), "features")
        if norms.max() >= _LEAST_SPREAD**2:
            return
        if any(self.slices.ask(Features.differ_from, self.vectors(np.array([0])))):
            raise ValueError(
                f"features must differ by {_LEAST_SPREAD} or more, but are all closer to each "
                "other than that: multiply them by a constant"
            )


def _centre(sample: FloatArray) -> FloatArray:
    """A point amid some images: 0, if that is not far off, and their median otherwise."""
    median: FloatArray = np.median(sample, axis=0)
    spread = np.einsum("ij,ij->i", sample - median, sample - median).mean()
    return np.zeros_like(median) if median @ median <= _NEAR * spread else median
