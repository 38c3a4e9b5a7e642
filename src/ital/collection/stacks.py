"""The stacks of a collection: which of its pictures show the same thing, in a file with its table.

They are brought up to date when a run of the indexer ends, and only read when the collection is
opened. Pictures that came are compared with the centres of the stacks that there are; those that
stayed are not compared again.
"""

from __future__ import annotations

import functools
import io
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ital.checks import IntArray
from ital.collection import mapped
from ital.collection.alike import Hashes, Stacked, least_cosine
from ital.collection.miniature import Miniature, difference, miniature
from ital.collection.store import Store, Table
from ital.durable import write_whole
from ital.engine import one_blas_thread

_KEPT = 1024
"""Miniatures that are kept, for they are compared with several others."""

_AT_ONCE = 64
"""Pictures that are compared with all centres at a time."""


@dataclass(frozen=True)
class Stacks:
    """The stack of each picture, by the identifier of its centre."""

    ids: IntArray
    """Of the pictures, ascending."""
    contents: Hashes
    """What tells whether a picture is still the same."""
    centres: IntArray
    """Identifiers of the centres, one for each of ``ids``."""
    least: float
    """How near embeddings had to be when stacks were last found."""

    def of(self, ids: IntArray) -> IntArray:
        """The centres of pictures; a picture that is not known here is its own."""
        if not len(self.ids):
            return ids
        places = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        return np.where(self.ids[places] == ids, self.centres[places], ids)


_NONE = Stacks(np.empty(0, np.int64), np.empty(0, np.uint64), np.empty(0, np.int64), 0.0)


def load(store: Store, fingerprint: str) -> Stacks:
    """The stacks of a model's table, as far as they are known."""
    with suppress(OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile):
        content = io.BytesIO(_path(store, fingerprint).read_bytes())
        with np.load(content, allow_pickle=False) as saved:
            least = float(saved["least"])
            return Stacks(saved["ids"], saved["contents"], saved["centres"], least)
    return _NONE


def written(store: Store, fingerprint: str) -> int:
    """When stacks were last found, in nanoseconds; 0 if they never were."""
    with suppress(OSError):
        return _path(store, fingerprint).stat().st_mtime_ns
    return 0


def update(store: Store, fingerprint: str) -> None:
    """Find the stacks of the pictures that came, with the lock held."""
    table = store.table(fingerprint)
    if table is None or not len(table):
        return
    known = load(store, fingerprint)
    found = _updated(store, table, known)
    if found is not known:
        stream = io.BytesIO()
        np.savez(stream, **vars(found))
        with suppress(OSError):  # without, what came since is in no stack
            write_whole(_path(store, fingerprint), stream.getvalue())


def _updated(store: Store, table: Table, known: Stacks) -> Stacks:
    ids, contents, hashes, hashed = _columns(table)
    if np.array_equal(ids, known.ids) and np.array_equal(contents, known.contents):
        return known
    vectors = mapped.embeddings(store, table, ids).vectors
    with one_blas_thread():
        least = least_cosine(hashes, hashed, vectors)
    stacked = Stacked(hashes, hashed, vectors, least, _difference(store, table, ids))
    # What is settled stays so: a picture that is as it was, around a centre that is, too.
    places = np.searchsorted(ids, known.ids)
    stays = np.append(ids, -1)[places] == known.ids
    stays &= np.append(contents, 0)[places] == known.contents
    stays &= stays[np.searchsorted(known.ids, known.centres)]
    centres = np.searchsorted(ids, known.centres[stays])
    for row, centre in zip(places[stays].tolist(), centres.tolist(), strict=True):
        stacked.settle(row, centre)
    # Files of the same content go with the first of them, whatever else they are like.
    first = _first_of_content(contents, stacked.centres)
    new = np.flatnonzero(stacked.centres < 0)
    join_all(stacked, new[first[new] == new])
    for row in new[first[new] != new].tolist():
        stacked.settle(row, int(stacked.centres[first[row]]))
    return Stacks(ids, contents, ids[stacked.centres], least)


def _difference(store: Store, table: Table, ids: IntArray) -> Callable[[int, int], float]:
    """By how much the miniatures of two rows differ, which are made of their thumbnails."""
    addresses = mapped.pictures(store, table)["address"]

    @functools.lru_cache(_KEPT)
    def small(row: int) -> Miniature | None:
        content = table.thumbnail(int(ids[row]), addresses[row].as_py())
        return None if content is None else miniature(content)

    def differ(row: int, other: int) -> float:
        one, another = small(row), small(other)
        return np.inf if one is None or another is None else difference(one, another)

    return differ


def join_all(stacked: Stacked, rows: IntArray) -> None:
    """Settle rows, however many, in memory that does not grow with their number."""
    with one_blas_thread():
        for start in range(0, len(rows), _AT_ONCE):
            stacked.join(rows[start : start + _AT_ONCE])


def _first_of_content(contents: Hashes, centres: IntArray) -> IntArray:
    """By row, the first row of the same content, of settled ones if there are any."""
    order = np.argsort(centres < 0, kind="stable")
    _, places, which = np.unique(contents[order], return_index=True, return_inverse=True)
    first = np.empty(len(contents), dtype=np.int64)
    first[order] = order[places][which]
    return first


def _columns(table: Table) -> tuple[IntArray, Hashes, Hashes, npt.NDArray[np.bool_]]:
    """Identifiers, ascending, with contents, perceptual hashes, and whether there is such a one."""
    parts = [
        (
            batch["id"].to_numpy(),
            np.array([int(one[:16], 16) for one in batch["hash"].to_pylist()], np.uint64),
            batch["phash"].fill_null(0).to_numpy(),
            batch["phash"].is_valid().to_numpy(zero_copy_only=False),
        )
        for batch in table.batches("id", "hash", "phash")
    ]
    ids, contents, hashes, hashed = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(ids)
    return ids[order], contents[order], hashes[order], hashed[order]


def _path(store: Store, fingerprint: str) -> Path:
    return store.folder / f"stacks-{fingerprint}.npz"
