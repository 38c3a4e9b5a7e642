"""Collections on disk: a folder with a LanceDB table for each model, and a file about them all.

A table has a row for each picture. Writes are versions of Lance, which are there as a whole or not
at all, whatever dies in between.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import numpy.typing as npt
import platformdirs
import pyarrow as pa
import pyarrow.compute as pc
from filelock import FileLock, Timeout
from lancedb.index import BTree

from ital.collection.encoder import Vectors
from ital.collection.identity import Entry
from ital.collection.models import AnyModel, restored
from ital.collection.reader import Content, Read
from ital.collection.scan import Skipped, is_unicode
from ital.durable import write_whole

FOLDER = ".ital"
"""Where a collection lives within its folder of pictures."""

_ABOUT, _SKIPPED, _LOCK = "collection.json", "skipped.json", "lock"
_FORMAT, _VERSION = "ital collection", 1
_KEPT = timedelta(hours=1)
"""How long readers may go on with a version of a table that has been replaced."""


_AT_ONCE = 4096
"""Pictures that are read or written at a time where they are many."""

_SMALL_FILES = 16
"""Files of a table that are few enough to be left alone."""

_NAME, _MAPPED = "pictures-{}", "mapped-{}-{}"
"""Of the table of a model, by its fingerprint; of files that are made of it, by what is in them."""

TYPES = ("float32", "float16")
"""In which embeddings may be kept."""

_ENTRY = ("id", "path", "hash", "size", "modified")
_CONTENT = ("width", "height", "thumbnail", "phash", "taken")
"""Columns of an entry, and of its content beside the embedding."""

_ADDED = ("phash", "taken")
"""Columns that the first tables had not: there is nothing in them until rows are written."""


def in_cache(folder: Path) -> Path:
    """Where the collection of a folder is that is not to be written to: in the user's cache."""
    key = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
    return platformdirs.user_cache_path("ital", appauthor=False) / "folders" / key


class StoreError(ValueError):
    """A collection that cannot be read or written."""


class EmptyError(StoreError):
    """A collection that holds no pictures."""


@dataclass(frozen=True)
class Row(Entry):
    """All that a collection knows of a picture."""

    content: Content


@dataclass
class About:
    """The file about all tables of a collection."""

    id: str
    """Tells the collection apart from any other, and from one that is made anew in its place."""
    root: str
    """Where the pictures are; from the collection's folder on, if it lies within theirs."""
    next_id: int = 1
    """No identifier below it may be given to a new picture."""
    current: str | None = None
    """The fingerprint of the model that was used last."""
    models: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    """Models by their fingerprints; ``None`` where embeddings came from elsewhere."""
    pca: dict[str, int] = field(default_factory=dict)
    """The dimensions to which embeddings are reduced, by model; 0 if they are not."""


class Store:
    """The folder of a collection."""

    def __init__(self, folder: Path) -> None:
        if not is_unicode(str(folder)):
            raise StoreError(f"the path {folder!r} must be Unicode: give another place by --to")
        self.folder = folder
        self.about = self._read_about()
        self._database = lancedb.connect(folder)

    @classmethod
    def find(cls, path: Path) -> Store:
        """The collection in a folder of pictures, or that which the folder is itself."""
        for folder in (path / FOLDER, path):
            if (folder / _ABOUT).is_file():
                return cls(folder)
        raise StoreError(
            f"{path} must be a folder that was indexed, but has no {FOLDER}: run ital index first"
        )

    @classmethod
    def around(cls, path: Path) -> Store | None:
        """The collection in whose own folder a path lies, if it does."""
        for folder in path.resolve().parents:
            if (folder / _ABOUT).is_file():
                with suppress(StoreError):  # others may call a file so as well
                    return cls(folder)
        return None

    @classmethod
    def create(cls, folder: Path, root: Path) -> Store:
        """The collection in ``folder``, a new one if there is none, of the pictures in ``root``."""
        if folder.resolve() == root.resolve():
            raise StoreError(f"{folder} must not be the folder of the pictures itself")
        inside = folder.parent.resolve() == root.resolve()
        place = ".." if inside else str(root.resolve())
        if (folder / _ABOUT).is_file():
            store = cls(folder)
            if store.root.resolve() != root.resolve():
                raise StoreError(f"{folder} holds a collection of {store.root}, not of {root}")
            return store
        try:
            folder.mkdir(parents=True, exist_ok=True)
            names = [one.name for one in folder.iterdir()]
            # What a crash left of the very beginning is nothing.
            others = [name for name in names if name != _LOCK and not name.startswith(f".{_ABOUT}")]
            if others:
                raise StoreError(f"{folder} must be a new or empty folder, but holds {others[:5]}")
            write_whole(folder / _ABOUT, _json(About(secrets.token_hex(6), place)))
        except OSError as error:
            raise StoreError(
                f"cannot write to {folder} ({error.strerror}): give another place by --to"
            ) from error
        return cls(folder)

    @contextmanager
    def locked(self, wait: bool = False) -> Iterator[None]:
        """Keep all other processes from changing the collection."""
        try:
            lock = FileLock(self.folder / _LOCK, timeout=-1 if wait else 0).acquire()
        except Timeout:
            raise StoreError(f"another process is indexing into {self.folder}") from None
        with lock:
            self.about = self._read_about()
            yield

    @property
    def root(self) -> Path:
        """The folder of the pictures."""
        return self.folder.parent if self.about.root == ".." else Path(self.about.root)

    def _read_about(self) -> About:
        path = self.folder / _ABOUT
        try:
            content = json.loads(path.read_bytes())
            kind = (content.pop("format"), content.pop("version"))
            if kind != (_FORMAT, _VERSION):
                raise ValueError(f"it is of the kind {kind}, not {(_FORMAT, _VERSION)}")
            # The first collections had none, and were known by their place.
            place = str(self.folder.resolve()).encode()
            content.setdefault("id", hashlib.sha256(place).hexdigest()[:12])
            about = About(**content)
            kinds = ((about.models, dict), (about.pca, dict), (about.next_id, int))
            if not all(isinstance(value, kind) for value, kind in kinds):
                raise ValueError("its values are of the wrong kinds")
            if about.current is not None and about.current not in about.models:
                raise ValueError(f"it knows no model {about.current!r}")
            return about
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(f"{path} must describe a collection, but: {error}") from error

    def write_about(self, **changes: Any) -> None:
        """Change what is known of all tables."""
        about = About(**{**asdict(self.about), **changes})
        with self._failing_in_words("write to"):
            write_whole(self.folder / _ABOUT, _json(about))
        self.about = about

    def model(self, fingerprint: str) -> AnyModel | None:
        """A model by its fingerprint; ``None`` if its embeddings came from elsewhere."""
        content = self.about.models[fingerprint]
        return None if content is None else restored(content)

    def use(self, fingerprint: str, model: AnyModel | None) -> None:
        """Make a model the current one. A file of it may have moved since it was last used.

        A text model that it was given once stays with it until it is given another.
        """
        content = None if model is None else json.loads(json.dumps(asdict(model)))
        before = self.about.models.get(fingerprint)
        if content and before and before.get("text") and not content["text"]:
            content["text"] = before["text"]
        models = {**self.about.models, fingerprint: content}
        if (models, fingerprint) != (self.about.models, self.about.current):
            self.write_about(models=models, current=fingerprint)

    def table(self, fingerprint: str) -> Table | None:
        """The table of a model, if there is one."""
        # A crash may have come before the first version of a table.
        if not any((self._place(fingerprint) / "_versions").glob("*.manifest")):
            return None
        with self._failing_in_words("read"):
            table = self._database.open_table(_NAME.format(fingerprint))
            return Table(self, table, fingerprint)

    def create_table(self, fingerprint: str, dimension: int, kind: str | None = None) -> Table:
        """A new table for a model, in the place of any that there is."""
        with self._failing_in_words("write to"):
            self.forget_mapped(fingerprint)  # versions are counted anew
            if self._place(fingerprint).exists():
                shutil.rmtree(self._place(fingerprint))
            name = _NAME.format(fingerprint)
            schema = _schema(_embedding(dimension, kind or TYPES[0]))
            table = self._database.create_table(name, schema=schema)
            return Table(self, table, fingerprint)

    def _place(self, fingerprint: str) -> Path:
        return self.folder / f"{_NAME.format(fingerprint)}.lance"

    def mapped(self, fingerprint: str, key: str) -> Path:
        """Where files are that are made of the table of a model."""
        return self.folder / _MAPPED.format(fingerprint, key)

    def forget_mapped(self, fingerprint: str) -> None:
        """Remove them. Whoever has them mapped can go on."""
        for place in self.folder.glob(_MAPPED.format(fingerprint, "*")):
            shutil.rmtree(place, ignore_errors=True)

    def tables(self) -> list[Table]:
        """The tables of all models."""
        found = [self.table(fingerprint) for fingerprint in self.about.models]
        return [table for table in found if table is not None]

    def next_id(self) -> int:
        """The lowest identifier that no picture has or had, under any model."""
        ids = (batch["id"].to_numpy() for table in self.tables() for batch in table.batches("id"))
        return max(self.about.next_id, *(int(part.max(initial=0)) + 1 for part in ids), 1)

    def skipped(self, decoders: str | None = None) -> list[Skipped]:
        """What the last run left out; nothing, if that was with other than these ``decoders``."""
        path = self.folder / _SKIPPED
        if not path.exists():
            return []
        try:
            content = json.loads(path.read_bytes())
            if decoders not in (None, content["decoders"]):
                return []
            return [Skipped(**one) for one in content["files"]]
        except (ValueError, TypeError, KeyError) as error:
            raise StoreError(f"{path} must list skipped files, but: {error}") from error

    def write_skipped(self, skipped: Sequence[Skipped], decoders: str) -> None:
        content = {"decoders": decoders, "files": [asdict(one) for one in skipped]}
        with self._failing_in_words("write to"):
            write_whole(self.folder / _SKIPPED, json.dumps(content, indent=1))

    @contextmanager
    def _failing_in_words(self, doing: str) -> Iterator[None]:
        """Say in a sentence what LanceDB and the file system say in many."""
        try:
            yield
        except StoreError:
            raise
        except (OSError, RuntimeError, ValueError) as error:
            text = " ".join(str(error).split())
            full = any(word in text for word in ("No space left", "os error 28", "File too large"))
            reason = "there is no room on the disk" if full else text
            raise StoreError(
                f"cannot {doing} {self.folder}: {reason}. All that was indexed before is kept"
            ) from error


def row(identifier: int, read: Read) -> Row:
    """The row of a file that was read."""
    assert read.content is not None
    file = read.file
    return Row(identifier, file.path, read.hash, file.size, file.modified, read.content)


class Table:
    """The pictures of a collection, as one model sees them."""

    def __init__(self, store: Store, table: Any, fingerprint: str) -> None:
        self.fingerprint = fingerprint
        self._store, self._table = store, table

    def __len__(self) -> int:
        return int(self._table.count_rows())

    @property
    def version(self) -> int:
        """Goes up with every write, by whatever process; this table stays at that it was opened."""
        return int(self._table.version)

    @property
    def dimension(self) -> int:
        """Of the embeddings."""
        return int(self._embedding.list_size)

    @property
    def dtype(self) -> np.dtype[Any]:
        """In which embeddings are kept, one of ``TYPES``."""
        dtype: np.dtype[Any] = np.dtype(self._embedding.value_type.to_pandas_dtype())
        return dtype

    @property
    def _embedding(self) -> pa.FixedSizeListType:
        return self._table.schema.field("embedding").type

    def keep_in(self, kind: str) -> None:
        """Round all embeddings to fewer digits, those that come later, too."""
        if kind == self.dtype:
            return
        if kind == TYPES[0]:
            raise StoreError(
                f"store must be {self.dtype}, for the embeddings in {self._store.folder} were "
                f"rounded to it, got {kind!r}: index into another place by --to"
            )
        change = {"path": "embedding", "data_type": _embedding(self.dimension, kind)}
        with self._store._failing_in_words("write to"):
            self._table.alter_columns(change)

    def complete(self, phash: Callable[[bytes], int]) -> None:
        """Give a table of an older version what it lacks: hashes, which ``phash`` makes of JPEGs.

        Pictures that came without a thumbnail have none.
        """
        with self._store._failing_in_words("write to"):
            if "phash" not in self._table.schema.names:
                self._table.add_columns(pa.field("phash", pa.uint64()))
            lacking = "phash is null and thumbnail is not null"
            query = self._table.search().where(lacking).select(["id", "thumbnail"])
            while len(found := query.limit(_AT_ONCE).to_arrow()):
                hashes = [phash(content) for content in found["thumbnail"].to_pylist()]
                column = pa.array(hashes, pa.uint64())
                some = found.select(["id"]).append_column("phash", column)
                self._table.merge_insert("id").when_matched_update_all().execute(some)

    def batches(self, *columns: str) -> Iterator[pa.RecordBatch]:
        """Some columns of all rows, in no particular order, a part at a time."""
        yield from self._table.search().select(list(columns)).to_batches(batch_size=_AT_ONCE)

    def entries(self) -> list[Entry]:
        """What is known of all pictures, by identifier."""
        found = [
            Entry(*values)
            for batch in self.batches(*_ENTRY)
            for values in zip(*(batch[column].to_pylist() for column in _ENTRY), strict=True)
        ]
        return sorted(found, key=lambda entry: entry.id)

    def pictures(self) -> pa.Table:
        """Identifiers, ascending, with paths and addresses, each column in one piece."""
        columns = self._table.search().with_row_id(True).select(["id", "path"])
        found = columns.to_arrow().rename_columns({"_rowid": "address"})
        # So that all paths fit into one piece.
        wide = found.set_column(1, "path", found["path"].cast(pa.large_string()))
        return wide.sort_by("id").combine_chunks()

    def embeddings(self, ids: npt.NDArray[np.int64]) -> Iterator[tuple[Any, Vectors]]:
        """Embeddings a part at a time, with their places in ``ids``, which are all, ascending."""
        for batch in self.batches("id", "embedding"):
            places = np.searchsorted(ids, batch["id"].to_numpy())
            yield places, _matrix(batch["embedding"])

    def rows(self, ids: Sequence[int]) -> dict[int, Row]:
        """All that is known of some pictures."""
        known = [name for name in (*_ENTRY, *_CONTENT) if name in self._table.schema.names]
        found = self._where(ids, [*known, "embedding"])
        vectors = _matrix(found["embedding"].combine_chunks())
        columns = {name: found[name].to_pylist() for name in known}
        rows = {}
        for place, vector in enumerate(vectors):
            values = {name: column[place] for name, column in columns.items()}
            about = {name: values.pop(name) for name in _CONTENT if name in values}
            rows[values["id"]] = Row(**values, content=Content(**about, embedding=vector))
        return rows

    def taken(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """When pictures were taken, in nanoseconds since 1970, for ``ids``: all, ascending.

        It is when the file was written last where the picture does not tell, or was indexed before
        that was asked for; -1 where there is no file.
        """
        when: npt.NDArray[np.int64] = np.full(len(ids), -1)
        columns = [name for name in ("taken", "modified") if name in self._table.schema.names]
        for batch in self.batches("id", *columns):
            said = pc.coalesce(*(batch[name] for name in columns))
            when[np.searchsorted(ids, batch["id"].to_numpy())] = said.to_numpy(zero_copy_only=False)
        return when

    def thumbnail(self, identifier: int, address: int | None = None) -> bytes | None:
        """What is kept of a picture, at its address if that is known: half the time of a search."""
        found, columns = None, ["id", "thumbnail"]
        if address is not None:
            with suppress(OSError, RuntimeError, ValueError):
                found = self._table.take_row_ids([address]).select(columns).to_arrow()
        # An address is only good in the version of the table that it was read from.
        if found is None or found["id"].to_pylist() != [identifier]:
            with self._store._failing_in_words("read"):
                found = self._where([identifier], columns)
        content: bytes | None = found["thumbnail"][0].as_py() if len(found) else None
        return content

    def _where(self, ids: Sequence[int], columns: list[str]) -> pa.Table:
        condition = f"id in ({', '.join(str(int(one)) for one in ids)})"
        try:
            return self._table.search().where(condition).select(columns).to_arrow()
        except (OSError, RuntimeError, ValueError):
            # The version that was opened has been tidied away since, or all of the collection.
            if self._store._read_about().id != self._store.about.id:
                raise StoreError(f"the collection in {self._store.folder} was made anew") from None
            self._table.checkout_latest()
            return self._table.search().where(condition).select(columns).to_arrow()

    def write(self, rows: Sequence[Row], new: bool) -> None:
        """Add pictures, or replace those of the same identifiers: all or none."""
        columns: dict[str, Any] = {name: [getattr(row, name) for row in rows] for name in _ENTRY}
        columns |= {name: [getattr(row.content, name) for row in rows] for name in _CONTENT}
        flat = np.concatenate([row.content.embedding for row in rows]).astype(self.dtype)
        columns["embedding"] = pa.FixedSizeListArray.from_arrays(pa.array(flat), self.dimension)
        columns["model"] = [self.fingerprint] * len(rows)
        table = pa.table(columns, schema=_schema(self._embedding))
        with self._store._failing_in_words("write to"):
            missing = [name for name in _ADDED if name not in self._table.schema.names]
            if missing:
                self._table.add_columns([table.schema.field(name) for name in missing])
            if new:
                self._table.add(table)
            else:
                self._table.merge_insert("id").when_matched_update_all().execute(table)

    def delete(self, ids: Sequence[int]) -> None:
        """Let pictures leave. Their identifiers are never given to others."""
        self._store.write_about(next_id=self._store.next_id())
        with self._store._failing_in_words("write to"):
            self._table.delete(f"id in ({', '.join(map(str, ids))})")

    def tidy(self) -> None:
        """Join small files into larger ones, and remove what no reader can still be reading.

        What is looked up by its identifier is found by an index, which Lance brings up to date when
        it joins files. The few rows that came since are read through.
        """
        with self._store._failing_in_words("write to"):
            if not self._table.list_indices():
                self._table.create_index("id", config=BTree())
            if self._table.stats()["fragment_stats"]["num_small_fragments"] >= _SMALL_FILES:
                self._table.optimize(cleanup_older_than=_KEPT)


def checked_type(kind: str | None) -> str | None:
    """The name of a type in which embeddings may be kept, if one is given."""
    if kind not in (None, *TYPES):
        raise StoreError(f"store must be {' or '.join(TYPES)}, got {kind!r}")
    return kind


def _embedding(dimension: int, kind: str) -> pa.FixedSizeListType:
    return pa.list_(pa.type_for_alias(kind), dimension)


def _schema(embedding: pa.FixedSizeListType) -> pa.Schema:
    return pa.schema(
        {
            "id": pa.int64(),
            "path": pa.string(),
            "hash": pa.string(),
            "size": pa.int64(),
            "modified": pa.int64(),
            "width": pa.int32(),
            "height": pa.int32(),
            "thumbnail": pa.binary(),
            "taken": pa.int64(),
            "embedding": embedding,
            "model": pa.string(),
            "phash": pa.uint64(),
        }
    )


def _matrix(column: pa.FixedSizeListArray) -> Vectors:
    """Vectors where Arrow has them, without a copy."""
    flat: Vectors = column.flatten().to_numpy(zero_copy_only=True)
    return flat.reshape(len(column), -1)


def _json(about: About) -> str:
    return json.dumps({"format": _FORMAT, "version": _VERSION, **asdict(about)}, indent=1) + "\n"
