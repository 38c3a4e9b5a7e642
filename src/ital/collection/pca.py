"""Fewer dimensions by principal components, as in section 4.2 of the paper.

The components are learnt once, from the pictures that are there, and kept: pictures that come later
are projected by the same ones, so that no vector ever moves.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ital import checks
from ital.checks import numpy_says
from ital.collection.centring import Centring
from ital.collection.encoder import Vectors
from ital.collection.store import Store, StoreError, Table
from ital.durable import write_whole

_SAMPLE = 20_000
"""Pictures that the components are learnt from, if there are more."""


@dataclass(frozen=True)
class Projection:
    """Principal components of embeddings."""

    mean: npt.NDArray[np.float32]
    components: npt.NDArray[np.float32]

    @property
    def dimension(self) -> int:
        """Of what it makes."""
        return len(self.components)

    @property
    def checksum(self) -> int:
        """Tells it from others, which may be learnt when the file of the components was lost."""
        return zlib.crc32(self.components.tobytes(), zlib.crc32(self.mean.tobytes()))

    def __call__(self, vectors: Vectors) -> Vectors:
        """Vectors of length 1 in fewer dimensions."""
        projected = (vectors - self.mean) @ self.components.T
        length = np.linalg.norm(projected, axis=-1, keepdims=True)
        return (projected / np.where(length > 0, length, 1)).astype(np.float32)


def ensure(
    folder: Path, table: Table | None, dimension: int, centring: Centring | None = None
) -> None:
    """Learn the components of a table, centred if it is to be, unless they were learnt before."""
    checks.whole_number(dimension, "pca", least=1)
    if table is None:
        raise StoreError("pca needs pictures to learn from, and the collection has none")
    if _path(folder, table.fingerprint, dimension).exists():
        return
    most = min(len(table), table.dimension)
    if dimension > most:
        raise StoreError(
            f"pca must be at most {most}, for {len(table)} pictures of {table.dimension} "
            f"dimensions, got {dimension}"
        )
    from sklearn.decomposition import PCA

    sample = _sample(table) if centring is None else centring(_sample(table))
    fitted = PCA(dimension, svd_solver="covariance_eigh").fit(sample.astype(float))
    stream = io.BytesIO()
    np.savez(
        stream,
        mean=fitted.mean_.astype(np.float32),
        components=fitted.components_.astype(np.float32),
    )
    write_whole(_path(folder, table.fingerprint, dimension), stream.getvalue())


def current(store: Store, table: Table) -> Projection | None:
    """The components by which the embeddings of a table are reduced; ``None`` if they are not."""
    dimension = store.about.pca.get(table.fingerprint, 0)
    return load(store.folder, table.fingerprint, dimension) if dimension else None


def load(folder: Path, fingerprint: str, dimension: int) -> Projection:
    """The components that were learnt."""
    path = _path(folder, fingerprint, dimension)
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as saved:
            return Projection(saved["mean"], saved["components"])
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile) as error:
        raise StoreError(
            f"{path} must hold principal components, but: {numpy_says(error)}"
        ) from error


def _sample(table: Table) -> Vectors:
    ids = table.pictures()["id"].to_numpy()
    step = -(-len(ids) // _SAMPLE)
    sample = np.empty((-(-len(ids) // step), table.dimension), np.float32)
    for places, vectors in table.embeddings(ids):
        chosen = places % step == 0
        sample[places[chosen] // step] = vectors[chosen]
    return sample


def _path(folder: Path, fingerprint: str, dimension: int) -> Path:
    return folder / f"pca-{fingerprint}-{dimension}.npz"
