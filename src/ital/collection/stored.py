"""The pictures of a store, as one model sees them."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np
from PIL import Image

from ital.checks import IntArray
from ital.collection import mapped, stacks, views
from ital.collection.encoder import Encoder, Encoders, Vectors, encoder
from ital.collection.identity import Entry
from ital.collection.models import AnyModel, parts_of
from ital.collection.scan import Skipped
from ital.collection.source import Source
from ital.collection.store import Store, Table
from ital.collection.text import text_direction
from ital.collection.words import Words
from ital.gaussian import FloatArray


class StoreSource(Source):
    """A table of a store. Pictures and embeddings are mapped where there are files for that."""

    def __init__(self, store: Store, table: Table) -> None:
        self.store, self.table = store, table
        found = mapped.pictures(store, table)
        self.ids, self._addresses = (found[name].to_numpy() for name in ("id", "address"))
        self.paths, self.root = mapped.Paths(found["path"]), store.root
        dimension = store.about.pca.get(table.fingerprint, 0)
        self.id, self.kind = store.about.id, f"{table.fingerprint} {dimension}"
        written = stacks.written(store, table.fingerprint)
        self.state = (table.fingerprint, table.version, dimension, written)

    @property
    def can_embed(self) -> bool:
        return self._model is not None

    @property
    def _model(self) -> AnyModel | None:
        return self.store.model(self.table.fingerprint)

    @functools.cached_property
    def _embeddings(self) -> mapped.Embeddings:
        return mapped.embeddings(self.store, self.table, self.ids)

    def features(self) -> Vectors:
        return self._embeddings.vectors

    def known(self) -> Mapping[str, FloatArray]:
        return self._embeddings.known

    def thumbnail(self, row: int) -> bytes | None:
        return self.table.thumbnail(int(self.ids[row]), int(self._addresses[row]))

    @functools.cached_property
    def _encoder(self) -> Encoder | Encoders | None:
        model = self._model
        return None if model is None else encoder(model)

    @functools.cached_property
    def _view(self) -> views.View:
        return views.current(self.store, self.table)

    @property
    def least_pixels(self) -> int:
        return super().least_pixels if self._encoder is None else self._encoder.least

    def embed(self, image: Image.Image) -> Vectors:
        encoder = self._encoder
        assert encoder is not None, "whoever knows how many pixels are needed has one"
        prepared = encoder.buffer(1)
        encoder.prepare(image, prepared[0])
        vector: Vectors = self._view(encoder.embed(prepared))[0]
        return vector

    @functools.cached_property
    def knows_words(self) -> bool:
        model = self._model
        return model is not None and any(one.knows_words for one in parts_of(model))

    def direction(self, words: Words) -> FloatArray:
        widths = self._view.widths(self.table.dimension)
        return self._view.direction(text_direction(words, self._model, widths))

    def ever_had(self, identifier: int) -> bool:
        return 0 < identifier < self.store.about.next_id

    def entries(self) -> list[Entry]:
        return self.table.entries()

    def taken(self) -> IntArray:
        return self.table.taken(self.ids)

    def stacks(self) -> list[list[int]]:
        centres = stacks.load(self.store, self.table.fingerprint).of(self.ids)
        order = np.argsort(centres, kind="stable")
        starts = np.flatnonzero(np.diff(centres[order])) + 1
        return [part.tolist() for part in np.split(self.ids[order], starts) if len(part) > 1]

    def skipped(self) -> list[Skipped]:
        return self.store.skipped()
