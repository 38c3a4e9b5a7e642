"""Embeddings that someone has already: NumPy, Parquet and Lance files as collections."""

from __future__ import annotations

import hashlib
import itertools
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import parquet

from ital.checks import numpy_says
from ital.collection import mapped
from ital.collection.arrays import unit_vectors
from ital.collection.collection import Collection
from ital.collection.encoder import Vectors
from ital.collection.paths import paths_within
from ital.collection.reader import Content
from ital.collection.store import Row, Store, Table, checked_type
from ital.pool import HASHED, Pool

FEATURES = ("features", "embedding", "embeddings", "vector", "vectors", "X")
PATHS = ("paths", "path", "file", "files", "filename", "image")
"""Names of arrays and columns that are looked for, in this order."""

_BATCH = 4096


def import_embeddings(
    file: str | PathLike[str],
    to: str | PathLike[str],
    paths: Sequence[str] | None = None,
    root: str | PathLike[str] = ".",
    store: str | None = None,
) -> Collection:
    """Make a collection of embeddings in a file, and open it.

    Args:
        file: ``.npy``, ``.npz``, ``.parquet`` or a ``.lance`` table.
        to: the folder for the collection. One that is there gets a second set of embeddings, and
            pictures keep their identifiers by their paths.
        paths: where the pictures are, if the file does not tell, from ``root`` on or whole.
        root: the folder of the pictures. None may lie outside of it, and some must be there.
        store: keep embeddings in float16, half as much, or float32; ``None`` for the latter.

    """
    kind = checked_type(store)
    features, own = _read(Path(file))
    names = own if paths is None else list(paths)
    if names is not None and not all(isinstance(name, str) for name in names):
        raise ValueError(f"paths must be texts, but those of {file} are not all")
    if names is None:
        raise ValueError(f"paths must be given, for {file} does not tell where its pictures are")
    vectors = unit_vectors(features)
    names = paths_within(Path(root), names)
    if len(names) != len(vectors) or len(set(names)) != len(names):
        raise ValueError(
            f"paths must be different, one for each of {len(vectors)} vectors, got {len(names)}, "
            f"{len(set(names))} of them different"
        )
    if len(missing(Path(root), names)) == len(names):
        raise ValueError(
            f"root must be the folder of the pictures, got {str(root)!r}: none of {len(names)} "
            "pictures found there"
        )
    digest = hashlib.sha256(Pool(vectors).fingerprint.encode())
    digest.update("\0".join(names).encode())
    fingerprint = f"{HASHED}{digest.hexdigest()[:16]}"
    kept = Store.create(Path(to), Path(root))
    with kept.locked():
        ids = _identifiers(kept, names)
        table = kept.table(fingerprint)
        if table is None or len(table) != len(names):  # the latter if a crash came in between
            # Known before it is written, so that its identifiers are given to no others.
            kept.write_about(models={**kept.about.models, fingerprint: None})
            _write(kept.create_table(fingerprint, vectors.shape[1], kind), ids, names, vectors)
        elif kind is not None:
            table.keep_in(kind)
        kept.use(fingerprint, None)
        with suppress(OSError):  # without, the collection takes longer to open
            mapped.write(kept, fingerprint)
    return Collection.open(kept.folder)


def read_paths(file: Path) -> list[str]:
    """The lines of a text file."""
    content = file.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = f"{str(file)!r} must be text in UTF-8, but: line {line} is not"
        raise ValueError(message) from error
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def missing(root: Path, names: Sequence[str]) -> list[str]:
    """The paths where there is no file, or none that can be reached."""

    def is_there(path: Path) -> bool:
        try:
            return path.is_file()
        except OSError:
            return False

    return [name for name in names if not is_there(root / name)]


def _identifiers(store: Store, names: Sequence[str]) -> list[int]:
    """Those that pictures of the same paths have, under the current model or another."""
    tables = sorted(store.tables(), key=lambda table: table.fingerprint != store.about.current)
    fresh = itertools.count(store.next_id())
    known: dict[str, int] = {}
    for table in tables:
        taken = set(known.values())
        for entry in table.entries():
            if entry.id not in taken:
                known.setdefault(entry.path, entry.id)
    return [known[name] if name in known else next(fresh) for name in names]


def _write(table: Table, ids: Sequence[int], names: Sequence[str], vectors: Vectors) -> None:
    for start in range(0, len(names), _BATCH):
        part = slice(start, start + _BATCH)
        rows = [
            Row(identifier, name, "", -1, -1, Content(0, 0, None, vector))
            for identifier, name, vector in zip(ids[part], names[part], vectors[part], strict=True)
        ]
        table.write(rows, new=True)
    table.tidy()


def _read(file: Path) -> tuple[Any, list[str] | None]:
    """Features and, if the file has them, paths."""
    kinds = {".npy": _npy, ".npz": _npz, ".parquet": _parquet, ".lance": _lance}
    if file.suffix not in kinds:
        raise ValueError(f"file must end in {', '.join(kinds)}, got {str(file)!r}")
    if not file.exists():
        raise FileNotFoundError(f"file must be there, but {str(file)!r} is not")
    try:
        return kinds[file.suffix](file)
    except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, pa.ArrowException) as error:
        raise ValueError(f"{file} must be a {file.suffix} file, but: {error}") from error


def _npy(file: Path) -> tuple[Any, list[str] | None]:
    with _as_os_error():
        return np.load(file, mmap_mode="r", allow_pickle=False), None


def _npz(file: Path) -> tuple[Any, list[str] | None]:
    with file.open("rb") as stream:
        with _as_os_error():
            archive = np.load(stream, allow_pickle=False)
            if isinstance(archive, np.ndarray):
                raise ValueError("it holds a single array")
            names = list(archive)
        features, paths = _chosen(file, names)
        with _as_os_error():
            found = None if paths is None else _texts(archive[paths])
            return archive[features], found


def _parquet(file: Path) -> tuple[Any, list[str] | None]:
    return _columns(file, parquet.read_table(file))


def _lance(file: Path) -> tuple[Any, list[str] | None]:
    with _as_os_error():
        table = lancedb.connect(file.parent).open_table(file.stem).to_arrow()
    return _columns(file, table)


def _texts(names: npt.NDArray[Any]) -> list[str]:
    return [name.decode() if isinstance(name, bytes) else str(name) for name in names.tolist()]


@contextmanager
def _as_os_error() -> Iterator[None]:
    """Tell what libraries say of a file, as a ValueError, from what we say of its content."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise OSError(numpy_says(error)) from error


def _columns(file: Path, table: pa.Table) -> tuple[Any, list[str] | None]:
    features, paths = _chosen(file, table.column_names)
    column = table[features].combine_chunks()
    ragged = pa.types.is_list(column.type) or pa.types.is_large_list(column.type)
    if not ragged and not pa.types.is_fixed_size_list(column.type):
        raise ValueError(f"the column {features} of {file} must hold vectors, got {column.type}")
    if column.null_count or column.flatten().null_count:
        raise ValueError(f"the column {features} of {file} must have no missing values")
    if ragged and len(set(np.diff(column.offsets.to_numpy()).tolist())) > 1:
        raise ValueError(f"the column {features} of {file} must hold vectors of equal length")
    vectors = column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), -1)
    return vectors, None if paths is None else table[paths].to_pylist()


def _chosen(file: Path, names: Sequence[str]) -> tuple[str, str | None]:
    features = [name for name in FEATURES if name in names]
    if not features:
        raise ValueError(
            f"{file} must hold one of {', '.join(FEATURES)}, and has {', '.join(names)}"
        )
    return features[0], next((name for name in PATHS if name in names), None)
