"""Embeddings by several models, each centred, so that all have the same say in what is alike.

Vectors of one network often have much in common: a direction into which all of them point. Where
two networks speak together, the one whose vectors have less in common would drown the other. So the
mean of each network's vectors is taken away and each is brought to length 1 again.

Means are learnt from the pictures that are there, and kept, so that vectors stay where they are:
but anew, while there were few, when there are twice as many.
"""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from ital.checks import numpy_says
from ital.collection.encoder import Encoder, Vectors
from ital.collection.models import Ensemble
from ital.collection.store import Store, StoreError, Table
from ital.durable import write_whole

_ENOUGH = 1000
"""Pictures whose mean is kept for good."""

_NOTHING = 1e-6
"""A length below which a vector is its network's mean: it is left as it is."""


@dataclass(frozen=True)
class Centring:
    """What takes away the mean of each network's part of vectors."""

    mean: npt.NDArray[np.float32]
    ends: npt.NDArray[np.int64]
    """Where the parts end, all but the last."""
    learnt: int
    """The number of pictures whose mean it is."""

    @property
    def dimension(self) -> int:
        """Of what it makes."""
        return len(self.mean)

    @property
    def checksum(self) -> int:
        """Tells it from others."""
        return zlib.crc32(self.ends.tobytes(), zlib.crc32(self.mean.tobytes()))

    def __call__(self, vectors: Vectors) -> Vectors:
        """Vectors of length 1, with the same length in each part."""
        own = np.split(vectors.astype(np.float64), self.ends, axis=-1)
        parts = []
        for part, mean in zip(own, np.split(self.mean, self.ends), strict=True):
            centred = part - mean
            length = np.linalg.norm(centred, axis=-1, keepdims=True)
            kept = np.where(length > _NOTHING, centred, part)
            parts.append(kept / np.linalg.norm(kept, axis=-1, keepdims=True))
        whole: Vectors = np.concatenate(parts, axis=-1).astype(np.float32)
        return whole / np.float32(math.sqrt(len(parts)))


def ensure(store: Store, table: Table | None, model: Ensemble) -> None:
    """Learn the means of a table, unless they were learnt from enough pictures before."""
    if table is None or not len(table):
        return
    before = load(store, table.fingerprint)
    if before is not None and (before.learnt >= _ENOUGH or before.learnt * 2 > len(table)):
        return
    ids = table.pictures()["id"].to_numpy()
    total = np.zeros(table.dimension)
    for _, vectors in table.embeddings(ids):
        total += vectors.sum(axis=0, dtype=np.float64)
    mean = (total / len(ids)).astype(np.float32)
    stream = io.BytesIO()
    ends = _ends(model) if before is None else before.ends
    np.savez(stream, mean=mean, ends=ends, learnt=len(ids))
    write_whole(_path(store.folder, table.fingerprint), stream.getvalue())


def load(store: Store, fingerprint: str) -> Centring | None:
    """The means that were learnt; ``None`` if there are none, as for a model that is alone."""
    path = _path(store.folder, fingerprint)
    if not path.exists():
        return None
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as saved:
            return Centring(saved["mean"], saved["ends"], int(saved["learnt"]))
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile) as error:
        raise StoreError(
            f"{path} must hold the means of embeddings, but: {numpy_says(error)}"
        ) from error


def _ends(model: Ensemble) -> npt.NDArray[np.int64]:
    """Where in a vector what each model says ends, but the last: found by asking them."""
    widths = []
    for one in (Encoder(part) for part in model.parts):
        black = Image.new("RGB", (one.least, one.least))
        widths.append(one.embed(one.prepare(black)[None]).shape[1])
    return np.cumsum(widths)[:-1]


def _path(folder: Path, fingerprint: str) -> Path:
    return folder / f"centre-{fingerprint}.npz"
