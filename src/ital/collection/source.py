"""Where the pictures of a collection come from: a store, arrays, or another program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from ital.checks import IntArray
from ital.collection.encoder import Vectors
from ital.collection.identity import Entry
from ital.collection.scan import Skipped
from ital.collection.store import StoreError
from ital.collection.text import text_direction
from ital.collection.words import Words
from ital.gaussian import FloatArray

_NO_MODEL = (
    "embed needs the model that described the pictures, but their embeddings came from elsewhere: "
    "give their own kind of vector to search.query"
)


class Source(ABC):
    """Pictures, and what is known of them.

    A program that has pictures of its own is searched by a subclass that has identifiers, paths
    and embeddings, and as much of the rest as it knows: where it says nothing else, there are no
    thumbnails, no pictures from outside, no stacks.
    """

    ids: IntArray
    """Ascending. A picture keeps its own, and no other gets it."""
    paths: Sequence[str]
    """Of the files, from ``root`` on, one for each of ``ids``; names, if there are no files."""
    root: Path = Path()
    has_files: bool = True
    keys: Sequence[str] | None = None
    """What the pictures are called where they come from, if that is not ``ids``."""
    id: str | None = None
    """Tells the collection apart from any other, and from one that is made anew in its place."""
    kind: str | None = None
    """Tells embeddings apart that cannot be compared with these; a hash of them if ``None``."""
    state: object = None
    """What it was read from: two that are equal hold the same pictures."""

    @abstractmethod
    def features(self) -> Vectors:
        """A row of length 1 for each of ``ids``."""

    def known(self) -> Mapping[str, FloatArray]:
        """What is known of the embeddings, by the names under which a pool keeps it."""
        return {}

    def thumbnail(self, row: int) -> bytes | None:
        """A JPEG of 256 pixels; ``None`` to make it of the file."""
        del row
        return None

    @property
    def can_embed(self) -> bool:
        """Whether pictures from outside can be described."""
        return False

    @property
    def least_pixels(self) -> int:
        """What ``embed`` wants a picture to have on its shorter side."""
        raise StoreError(_NO_MODEL)

    def embed(self, image: Image.Image) -> Vectors:
        """The embedding of a picture from outside, upright and in RGB."""
        del image
        raise StoreError(_NO_MODEL)

    @property
    def knows_words(self) -> bool:
        """Whether ``direction`` can be asked for."""
        return False

    def direction(self, words: Words) -> FloatArray:
        """The direction among ``features`` in which pictures fit words better."""
        return text_direction(words, None, ())

    def ever_had(self, identifier: int) -> bool:
        """Whether a picture was here that is not any more."""
        del identifier
        return False

    def entries(self) -> list[Entry]:
        """What is known of the files of all pictures, by identifier."""
        return []

    def taken(self) -> IntArray:
        """When pictures were taken, in nanoseconds since 1970; -1 where nothing tells."""
        return np.full(len(self.ids), -1)

    def stacks(self) -> list[list[int]]:
        """Identifiers of pictures that show the same thing, two or more each."""
        return []

    def skipped(self) -> list[Skipped]:
        """The files that are not in the collection, and why."""
        return []
