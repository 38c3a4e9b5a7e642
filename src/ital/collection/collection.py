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
from ital.collection import pictures
from ital.collection.arrays import ArraySource
from ital.collection.encoder import Vectors
from ital.collection.identity import Entry
from ital.collection.pictures import Picture, UnreadableError
from ital.collection.scan import Skipped, open_inside
from ital.collection.source import Source
from ital.collection.store import EmptyError, Store, StoreError
from ital.collection.stored import StoreSource
from ital.collection.words import Text, Words, likeness
from ital.engine import Engine
from ital.gaussian import FloatArray
from ital.groups import Groups
from ital.pool import Pool
from ital.search import Search


class Collection:
    """Pictures, each with an identifier that it keeps, and their embeddings.

    Made by ``open``, of what ``ital index`` or ``ital import`` wrote, by ``from_arrays``, or of
    any other ``Source``.
    """

    def __init__(self, source: Source, engine: Engine | None = None) -> None:
        self.source, self.engine = source, engine
        self.ids, self.paths, self.root = source.ids, source.paths, source.root

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
        return cls(StoreSource(store, table), engine)

    @classmethod
    def from_arrays(
        cls,
        features: npt.ArrayLike,
        paths: Sequence[str | PathLike[str]] | None = None,
        ids: npt.ArrayLike | None = None,
        root: str | PathLike[str] = ".",
        name: str | None = None,
    ) -> Collection:
        """A collection in memory, of embeddings from elsewhere.

        Args:
            features: a vector for each picture.
            paths: of the pictures, from ``root`` on or whole, and within it; ``None`` if there are
                no files.
            ids: ascending whole numbers, or texts, which are the ``keys`` then, in any order; 1, 2,
                and so on if ``None``.
            root: the folder of the pictures.
            name: by which searches know the collection again when pictures have come or gone.
                Without one they know it as long as nothing changes.

        """
        names = None if paths is None else [str(path) for path in paths]
        return cls(ArraySource(features, names, ids, Path(root), name))

    def __len__(self) -> int:
        """The number of pictures."""
        return len(self.ids)

    def __repr__(self) -> str:
        return f"<ital.Collection: {len(self)} pictures in {self.root}>"

    def features(self) -> Vectors:
        """The embeddings, a contiguous row of length 1 for each of ``ids``, in their type.

        They are mapped into memory where there are files for that, and read once where not.
        """
        return self.source.features()

    @functools.cached_property
    def pool(self) -> Pool:
        """The embeddings as a pool that many searches can share."""
        source = self.source
        pool = Pool(self.features(), self.ids, source.kind, source.id, self.engine)
        for name, array in source.known().items():
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
        text = savefile.words(Path(path).read_bytes())
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
        return self.source.entries()

    def ever_had(self, identifier: int) -> bool:
        """Whether a picture is or was here: identifiers are never given twice."""
        return Identifier(identifier) in self.pool or self.source.ever_had(identifier)

    @property
    def keys(self) -> Sequence[str] | None:
        """What pictures are called where they come from, if that is not ``ids``."""
        return self.source.keys

    @functools.cached_property
    def by_key(self) -> dict[str, int]:
        """The identifiers of pictures by their keys; empty if there are none."""
        return dict(zip(self.keys or (), self.ids.tolist(), strict=True)) if self.keys else {}

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

    @property
    def has_files(self) -> bool:
        """Whether pictures are files."""
        return self.source.has_files

    def open_file(self, identifier: int) -> io.BufferedReader:
        """The file of a picture, to read; never one that is not in the folder of the collection."""
        path = self.paths[self._row(identifier)]
        if not self.has_files:
            raise FileNotFoundError(f"picture {identifier} must have a file, but has none")
        return open_inside(self.root, path)

    def image(self, identifier: int) -> Image.Image:
        """A picture from its file, upright and in RGB, in its full size."""
        with self.open_file(identifier) as file:
            return _decoded(file, self.path(identifier), least=pictures.MAX_PIXELS).image

    def thumbnail(self, identifier: int) -> bytes:
        """A JPEG of 256 pixels: from the collection, or from the file if that has none."""
        kept = self.source.thumbnail(self._row(identifier))
        if kept is not None:
            return kept
        with self.open_file(identifier) as file:
            path = self.path(identifier)
            return pictures.thumbnail(_decoded(file, path, pictures.THUMBNAIL).image)

    def embed(self, image: str | PathLike[str] | bytes | Image.Image) -> Vectors:
        """The embedding of a picture from outside, for ``search.query``: a file, bytes or image."""
        least = self.least_pixels
        with pictures.quietly():
            if isinstance(image, Image.Image):
                picture = pictures.from_image(image, least)
            elif isinstance(image, bytes):
                picture = _decoded(io.BytesIO(image), "image", least)
            else:
                with Path(image).open("rb") as file:
                    picture = _decoded(file, image, least)
        return self.source.embed(picture.image)

    def scores(self, text: Text) -> FloatArray:
        """How well each picture fits words, as ``search`` begins with them."""
        return likeness(self.features(), self.direction(text))

    def direction(self, text: Text) -> FloatArray:
        """The direction in the space of the embeddings in which pictures fit words better."""
        return self.source.direction(Words.of(text))

    @property
    def knows_words(self) -> bool:
        """Whether searches can begin with words: the model of the pictures has one for text."""
        return self.source.knows_words

    @functools.cached_property
    def taken(self) -> IntArray:
        """When pictures were taken, in nanoseconds since 1970; -1 where nothing tells."""
        return self.source.taken()

    @property
    def least_pixels(self) -> int:
        """What the model wants a picture to have on its shorter side."""
        return self.source.least_pixels

    @property
    def store_id(self) -> str | None:
        """Tells it apart from any other collection, and from one that is made anew in its place."""
        return self.source.id

    @property
    def can_embed(self) -> bool:
        """Whether pictures from outside can be described: the model is known."""
        return self.source.can_embed

    @functools.cached_property
    def stacks(self) -> list[list[int]]:
        """Pictures that show the same thing, copies and bursts: identifiers of two or more each.

        They are found when a folder is indexed. Embeddings from elsewhere have none.
        """
        return self.source.stacks()

    @functools.cached_property
    def groups(self) -> Groups:
        """The stacks, in the form that many searches can share."""
        return Groups.of(self.stacks, self.pool)

    @property
    def skipped(self) -> list[Skipped]:
        """The files that are not in the collection, and why."""
        return self.source.skipped()

    def _row(self, identifier: int) -> int:
        checks.whole_number(identifier, "identifier", least=0)
        row = int(np.searchsorted(self.ids, identifier))
        if row == len(self.ids) or self.ids[row] != identifier:
            raise IndexError(f"identifier must be that of a picture, got {identifier!r}")
        return row


def _decoded(file: Any, name: Any, least: int) -> Picture:
    try:
        return pictures.decode(file, least)
    except UnreadableError as error:
        raise UnreadableError(f"{name} must be a picture, but: {error}") from error
