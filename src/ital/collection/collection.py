"""A collection of pictures, open for searching."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from ital import checks, savefile
from ital.answers import Answer
from ital.checks import Identifier, IntArray
from ital.collection import mapped, pictures, stacks, views
from ital.collection.encoder import Encoder, Encoders, Vectors, encoder
from ital.collection.identity import Entry
from ital.collection.models import AnyModel, parts_of
from ital.collection.paths import paths_within
from ital.collection.pictures import Picture, UnreadableError
from ital.collection.scan import Skipped, open_inside
from ital.collection.store import EmptyError, Store, StoreError, Table
from ital.collection.text import text_direction
from ital.collection.words import Text, Words, likeness
from ital.engine import Engine
from ital.gaussian import FloatArray
from ital.groups import Groups
from ital.pool import Pool
from ital.search import Search

_ROWS = 4096
"""Vectors that are brought to length 1 at a time."""


class Collection:
    """Pictures, each with an identifier that it keeps, and their embeddings.

    Made by ``open``, of what ``ital index`` or ``ital import`` wrote, or by ``from_arrays``.
    """

    def __init__(
        self,
        ids: IntArray,
        paths: Sequence[str],
        root: Path,
        features: Vectors | None = None,
        store: Store | None = None,
        table: Table | None = None,
        addresses: npt.NDArray[np.uint64] | None = None,
        engine: Engine | None = None,
    ) -> None:
        self.ids, self.paths, self.root = ids, paths, root
        self._engine = engine
        self._features, self._store, self._table = features, store, table
        self._addresses = addresses
        self.state = None
        if store is not None and table is not None:
            found = stacks.written(store, table.fingerprint)
            self.state = (table.fingerprint, table.version, self._dimension, found)
        """What it was read from: two that are equal hold the same pictures."""

    @classmethod
    def open(
        cls, path: str | PathLike[str], model: str | None = None, engine: Engine | None = None
    ) -> Collection:
        """The collection of a folder, or in a folder.

        ``model`` is the fingerprint of one of several models that a folder was indexed with; the
        last one used if ``None``. ``engine`` is that of its searches.
        """
        store = Store.find(Path(path))
        known = store.about.models
        fingerprint = model or store.about.current
        if model is not None and model not in known:
            raise StoreError(f"model must be one of {', '.join(known)}, got {model!r}")
        table = None if fingerprint is None else store.table(fingerprint)
        if table is None or not len(table):
            raise EmptyError(f"the collection in {store.folder} holds no pictures yet")
        found = mapped.pictures(store, table)
        ids, addresses = (found[name].to_numpy() for name in ("id", "address"))
        paths = mapped.Paths(found["path"])
        kept = {"store": store, "table": table, "addresses": addresses}
        return cls(ids, paths, store.root, engine=engine, **kept)

    @classmethod
    def from_arrays(
        cls,
        features: npt.ArrayLike,
        paths: Sequence[str | PathLike[str]],
        ids: npt.ArrayLike | None = None,
        root: str | PathLike[str] = ".",
    ) -> Collection:
        """A collection in memory, of embeddings from elsewhere.

        ``paths`` are those of the pictures, from ``root`` on or whole, and lie within it.
        Identifiers are 1, 2, and so on if none are given.
        """
        vectors = unit_vectors(features)
        names = paths_within(Path(root), [str(path) for path in paths])
        if len(names) != len(vectors):
            raise ValueError(f"paths must be {len(vectors)}, one for each vector, got {len(names)}")
        given = np.arange(1, len(vectors) + 1) if ids is None else ids
        known = checks.identifiers(given, "ids", len(vectors))
        return cls(known, names, Path(root), features=vectors)

    def __len__(self) -> int:
        """The number of pictures."""
        return len(self.ids)

    def __repr__(self) -> str:
        return f"<ital.Collection: {len(self)} pictures in {self.root}>"

    def features(self) -> Vectors:
        """The embeddings, a contiguous row of length 1 for each of ``ids``, in their type.

        They are mapped into memory where there are files for that, and read once where not.
        """
        return self._embeddings.vectors

    @functools.cached_property
    def _embeddings(self) -> mapped.Embeddings:
        if self._features is not None:
            return mapped.Embeddings(self._features, {})
        assert self._store is not None
        assert self._table is not None
        return mapped.embeddings(self._store, self._table, self.ids)

    @functools.cached_property
    def _view(self) -> views.View:
        if self._store is None or self._table is None:
            return views.View(())
        return views.current(self._store, self._table)

    @property
    def _dimension(self) -> int:
        if self._store is None or self._table is None:
            return 0
        return self._store.about.pca.get(self._table.fingerprint, 0)

    @functools.cached_property
    def pool(self) -> Pool:
        """The embeddings as a pool that many searches can share."""
        kind = None
        if self._store is not None and self._table is not None:
            kind = f"{self._table.fingerprint} {self._dimension}"
        pool = Pool(self.features(), self.ids, kind, self.store_id, self._engine)
        for name, array in self._embeddings.known.items():
            pool.kept(name, functools.partial(np.asarray, array))
        return pool

    def search(self, text: Text | None = None, **kwargs: Any) -> Search:
        """A search over the collection, with identifiers instead of row numbers.

        It may begin with words, where the model of the collection knows words: ``"a street in the
        rain, not at night"``, or a list of such phrases. It takes the arguments of ``ital.Search``
        after the first.
        """
        if text is None:
            return Search(self.pool, **kwargs)
        if kwargs.get("prior") is not None:
            raise ValueError("text and prior are two ways to begin: give one of them")
        return Search(self.pool, prior=self.scores(text), text=Words.of(text).phrases, **kwargs)

    def load_search(
        self, path: str | PathLike[str], adopt: bool = False, groups: Any = None
    ) -> Search:
        """A search over the collection that was saved, whatever pictures came and went since.

        One of another collection is refused, for its identifiers mean other pictures; unless you
        ``adopt`` it, because you know that they mean the same.
        """
        text = savefile.text(path)
        prior = self.scores(text) if text else None
        return Search.load(path, self.pool, adopt, groups=groups, prior=prior)

    def read_labels(self, path: str | PathLike[str]) -> dict[int, Answer]:
        """What a table says of pictures here: .csv, .parquet or .json, by path or identifier.

        It has the columns path or id, and label, in any form of an ``Answer``. A file with anything
        wrong in it is refused as a whole, with the place and the reason.
        """
        from ital.collection import labels

        return labels.read(self, Path(path))

    def entries(self) -> list[Entry]:
        """What is known of the files of all pictures, by identifier; nothing without a store."""
        return [] if self._table is None else self._table.entries()

    def ever_had(self, identifier: int) -> bool:
        """Whether a picture is or was here: identifiers are never given twice."""
        given = 0 if self._store is None else self._store.about.next_id
        return Identifier(identifier) in self.pool or 0 < identifier < given

    def identifiers(self, paths: Iterable[str]) -> dict[str, int]:
        """What those paths are called that are of pictures here, from the folder on."""
        wanted = set(paths)
        return {
            path: int(identifier)
            for path, identifier in zip(self.paths, self.ids, strict=True)
            if path in wanted
        }

    def path(self, identifier: int) -> Path:
        """Where a picture is."""
        return self.root / self.paths[self._row(identifier)]

    def open_file(self, identifier: int) -> io.BufferedReader:
        """The file of a picture, to read; never one that is not in the folder of the collection."""
        return open_inside(self.root, self.paths[self._row(identifier)])

    def image(self, identifier: int) -> Image.Image:
        """A picture from its file, upright and in RGB, in its full size."""
        with self.open_file(identifier) as file:
            return _decoded(file, self.path(identifier), least=pictures.MAX_PIXELS).image

    def thumbnail(self, identifier: int) -> bytes:
        """A JPEG of 256 pixels: from the collection, or from the file if that has none."""
        row, path = self._row(identifier), self.path(identifier)
        if self._table is not None:
            address = None if self._addresses is None else int(self._addresses[row])
            kept = self._table.thumbnail(identifier, address)
            if kept is not None:
                return kept
        with self.open_file(identifier) as file:
            return pictures.thumbnail(_decoded(file, path, pictures.THUMBNAIL).image)

    def embed(self, image: str | PathLike[str] | bytes | Image.Image) -> Vectors:
        """The embedding of a picture from outside, for ``search.query``: a file, bytes or image."""
        least = self._encoder.least
        with pictures.quietly():
            if isinstance(image, Image.Image):
                picture = pictures.from_image(image, least)
            elif isinstance(image, bytes):
                picture = _decoded(io.BytesIO(image), "image", least)
            else:
                with Path(image).open("rb") as file:
                    picture = _decoded(file, image, least)
        prepared = self._encoder.buffer(1)
        self._encoder.prepare(picture.image, prepared[0])
        vector: Vectors = self._view(self._encoder.embed(prepared))[0]
        return vector

    def scores(self, text: Text) -> FloatArray:
        """How well each picture fits words, as ``search`` begins with them."""
        return likeness(self.features(), self.direction(text))

    def direction(self, text: Text) -> FloatArray:
        """The direction in the space of the embeddings in which pictures fit words better."""
        widths = [] if self._table is None else self._view.widths(self._table.dimension)
        return self._view.direction(text_direction(Words.of(text), self._model, widths))

    @functools.cached_property
    def knows_words(self) -> bool:
        """Whether searches can begin with words: the model of the pictures has one for text."""
        return self._model is not None and any(one.knows_words for one in parts_of(self._model))

    @functools.cached_property
    def taken(self) -> IntArray:
        """When pictures were taken, as far as that is known: see ``Table.taken``."""
        if self._table is None:
            return np.full(len(self.ids), -1)
        return self._table.taken(self.ids)

    @property
    def least_pixels(self) -> int:
        """What the model wants a picture to have on its shorter side."""
        return self._encoder.least

    @property
    def store_id(self) -> str | None:
        """Tells it apart from any other collection, and from one that is made anew in its place."""
        return None if self._store is None else self._store.about.id

    @property
    def can_embed(self) -> bool:
        """Whether pictures from outside can be described: the model is known."""
        return self._model is not None

    @property
    def _model(self) -> AnyModel | None:
        if self._store is None or self._table is None:
            return None
        return self._store.model(self._table.fingerprint)

    @functools.cached_property
    def _encoder(self) -> Encoder | Encoders:
        model = self._model
        if model is None:
            raise StoreError(
                "embed needs the model that described the pictures, but their embeddings came from "
                "elsewhere: give their own kind of vector to search.query"
            )
        return encoder(model)

    @functools.cached_property
    def stacks(self) -> list[list[int]]:
        """Pictures that show the same thing, copies and bursts: identifiers of two or more each.

        They are found when a folder is indexed. Embeddings from elsewhere have none.
        """
        if self._store is None or self._table is None:
            return []
        centres = stacks.load(self._store, self._table.fingerprint).of(self.ids)
        order = np.argsort(centres, kind="stable")
        starts = np.flatnonzero(np.diff(centres[order])) + 1
        return [part.tolist() for part in np.split(self.ids[order], starts) if len(part) > 1]

    @functools.cached_property
    def groups(self) -> Groups:
        """The stacks, in the form that many searches can share."""
        return Groups.of(self.stacks, self.pool)

    @property
    def skipped(self) -> list[Skipped]:
        """The files that are not in the collection, and why."""
        return [] if self._store is None else self._store.skipped()

    def _row(self, identifier: int) -> int:
        checks.whole_number(identifier, "identifier", least=0)
        row = int(np.searchsorted(self.ids, identifier))
        if row == len(self.ids) or self.ids[row] != identifier:
            raise IndexError(f"identifier must be that of a picture, got {identifier!r}")
        return row


def unit_vectors(features: npt.ArrayLike) -> Vectors:
    """Vectors in single precision, at length 1."""
    array = checks.matrix(features, "features")
    result = np.empty(array.shape, np.float32)
    finite, known = np.empty((2, len(array)), dtype=bool)
    for start in range(0, len(array), _ROWS):
        rows = slice(start, start + _ROWS)
        part = array[rows].astype(np.float64)
        finite[rows] = checks.squares_are_finite(part)
        largest = np.abs(part).max(axis=1, keepdims=True)
        known[rows] = largest[:, 0] > 0
        # Divided by a power of two that is close to it, for which there is no rounding and after
        # which not all squares vanish.
        part = np.ldexp(part, -np.frexp(largest)[1])
        with np.errstate(invalid="ignore"):
            result[rows] = part / np.linalg.norm(part, axis=1, keepdims=True)
    checks.finite_rows(finite, "features")
    if not known.all():
        empty = np.flatnonzero(~known)
        raise ValueError(
            f"features must have a length, but {empty.size} of {len(array)} rows hold zeros alone, "
            f"the first of them row {empty[0]}"
        )
    return result


def _decoded(file: Any, name: Any, least: int) -> Picture:
    try:
        return pictures.decode(file, least)
    except UnreadableError as error:
        raise UnreadableError(f"{name} must be a picture, but: {error}") from error
