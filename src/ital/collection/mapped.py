"""What a table holds, in files that are mapped into memory and not read: pictures and embeddings.

The system reads what is looked at, and lets go of it where memory is short. Files are made of one
version of a table and named by it, and are there as a whole or not at all. They hold nothing that
the table does not: where there are none, it is read instead. With them is what takes a search
longest to make of the embeddings, V_0 of `prior`, so that it is made once and not by every process.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, overload

import numpy as np
import pyarrow as pa

from ital.checks import IntArray
from ital.collection import views
from ital.collection.encoder import Vectors
from ital.collection.store import Store, StoreError, Table
from ital.collection.views import View
from ital.engine import one_blas_thread
from ital.gaussian import FloatArray
from ital.kernel import Kernel
from ital.pool import Pool
from ital.prior import Conditioned

_PICTURES, _FEATURES, _KNOWN = "pictures.arrow", "features.npy", "average-*.npy"
_PART = 4096


@dataclass(frozen=True)
class Embeddings:
    """Vectors, and what is known of them by the names under which a pool keeps it."""

    vectors: Vectors
    known: Mapping[str, FloatArray]


class Paths(Sequence[str]):
    """Paths where Arrow has them, each made a text when it is looked at."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            texts: list[str] = self._column[place].to_pylist()
            return texts
        text: str = self._column[int(place)].as_py()
        return text

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _PART):
            yield from self[start : start + _PART]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def pictures(store: Store, table: Table) -> pa.Table:
    """Identifiers, ascending, with paths and addresses in the table."""
    mapped = _open(_place(store, table))
    return table.pictures() if mapped is None else mapped[0]


def embeddings(store: Store, table: Table, ids: IntArray) -> Embeddings:
    """Embeddings, reduced if they are to be, a row for each of ``ids``, which are all."""
    place = _place(store, table)
    mapped = _open(place)
    if mapped is None:
        # Not where nothing can be written, nor while someone indexes: there would soon be others.
        with suppress(OSError, NotImplementedError, StoreError):
            latest = Store(store.folder)
            with latest.locked():
                write(latest, table.fingerprint)
            mapped = _open(place)
    return Embeddings(_read(store, table, ids), {}) if mapped is None else mapped[1]


def write(store: Store, fingerprint: str) -> None:
    """Make the files of the table of a model, with the lock held. Those of older versions go."""
    table = store.table(fingerprint)
    if table is None or not len(table) or _open(_place(store, table)) is not None:
        return
    store.forget_mapped(fingerprint)
    part = store.mapped(fingerprint, "part")
    part.mkdir()
    try:
        found = table.pictures()
        with _durable(part / _PICTURES) as file, pa.ipc.new_file(file, found.schema) as writer:
            writer.write_table(found)
        with _durable(part / _FEATURES) as file:
            _write_features(file, store, table, found["id"].to_numpy())
        _write_average(part)
        part.rename(_place(store, table))
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _place(store: Store, table: Table) -> Path:
    return store.mapped(table.fingerprint, f"{table.version}{views.current(store, table).key}")


def _open(place: Path) -> tuple[pa.Table, Embeddings] | None:
    """Pictures and embeddings, or ``None`` if there are no files, or none that are whole."""
    try:
        found = pa.ipc.open_file(pa.memory_map(str(place / _PICTURES))).read_all()
        known = {path.stem: _load(path) for path in place.glob(_KNOWN)}
        return (found, Embeddings(_load(place / _FEATURES), known)) if known else None
    except (OSError, EOFError, ValueError):
        return None


def _load(path: Path) -> Any:
    return np.asarray(np.load(path, mmap_mode="r"))


def _read(store: Store, table: Table, ids: IntArray) -> Vectors:
    # Filled a part at a time, so that there never is a second copy.
    view = views.current(store, table)
    vectors: Vectors = np.empty((len(ids), view.width(table.dimension)), table.dtype)
    for places, part in _parts(table, ids, view):
        vectors[places] = part
    vectors.flags.writeable = False
    return vectors


def _write_features(file: BinaryIO, store: Store, table: Table, ids: IntArray) -> None:
    """Not into mapped memory, where a disk that is full would end the process."""
    view = views.current(store, table)
    shape = len(ids), view.width(table.dimension)
    header = {"descr": table.dtype.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    start, size = file.tell(), shape[1] * table.dtype.itemsize
    for places, part in _parts(table, ids, view):
        order = np.argsort(places)
        gaps = np.flatnonzero(np.diff(places[order]) != 1) + 1
        for run in np.split(order, gaps):
            file.seek(start + size * int(places[run[0]]))
            file.write(part[run].data)


def _write_average(part: Path) -> None:
    """V_0 under the kernel that searches have unless they are given another."""
    with one_blas_thread():
        pool = Pool(_load(part / _FEATURES))
        conditioned = Conditioned.of(pool, Kernel.over(pool))
    assert conditioned.average is not None
    with _durable(part / f"{conditioned.name}.npy") as file:
        np.save(file, conditioned.average)


def _parts(table: Table, ids: IntArray, view: View) -> Iterator[tuple[Any, Vectors]]:
    for places, vectors in table.embeddings(ids):
        if len(places):
            yield places, view(vectors).astype(table.dtype, copy=False)


@contextmanager
def _durable(path: Path) -> Iterator[BinaryIO]:
    """A file that is on disk when it is closed."""
    with path.open("xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
