"""What a search sees of the embeddings in a table: as they are, centred, in fewer dimensions."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from itertools import pairwise

from ital.collection import centring, pca
from ital.collection.centring import Centring
from ital.collection.encoder import Vectors
from ital.collection.store import Store, Table
from ital.gaussian import FloatArray


@dataclass(frozen=True)
class View:
    """Steps from embeddings to what a search sees, one after the other; there may be none."""

    steps: tuple[Centring | pca.Projection, ...]

    @property
    def key(self) -> str:
        """Tells it from others of the same embeddings; empty if they are as they are."""
        if not self.steps:
            return ""
        checksum = self.steps[0].checksum
        for step in self.steps[1:]:
            checksum = zlib.crc32(step.checksum.to_bytes(4, "big"), checksum)
        return f"-{self.steps[-1].dimension}-{checksum:08x}"

    def width(self, dimension: int) -> int:
        """Dimensions that a search sees of so many."""
        return self.steps[-1].dimension if self.steps else dimension

    def widths(self, dimension: int) -> list[int]:
        """What of so many dimensions of a table is of each of the models that described it."""
        ends = [int(end) for step in self.steps if isinstance(step, Centring) for end in step.ends]
        return [end - start for start, end in pairwise([0, *ends, dimension])]

    def direction(self, vector: FloatArray) -> FloatArray:
        """A direction among embeddings, as a search sees it: a mean taken away is not in it."""
        for step in self.steps:
            if isinstance(step, pca.Projection):
                vector = step.components.astype(float) @ vector
        return vector

    def __call__(self, vectors: Vectors) -> Vectors:
        """Vectors of length 1, of others of length 1."""
        for step in self.steps:
            vectors = step(vectors)
        return vectors


def current(store: Store, table: Table) -> View:
    """What a search sees of a table now."""
    steps = (centring.load(store, table.fingerprint), pca.current(store, table))
    return View(tuple(step for step in steps if step is not None))
