"""Pictures from outside, from people who may mean no good."""

from __future__ import annotations

import secrets
import threading
from typing import IO

import numpy as np

from ital.collection import pictures
from ital.collection.pictures import UnreadableError
from ital.server.database import Database, UploadRow, upload_of
from ital.server.problems import RefusedError, UnknownError
from ital.server.served import ServedCollection


class Uploads:
    """Embeddings and thumbnails of uploaded pictures. The pictures themselves are not kept."""

    def __init__(self, database: Database, most: int) -> None:
        self._database, self._most = database, most
        # Small files can be large pictures. Many at once take memory, and no less time.
        self._turn = threading.Lock()

    def add(self, served: ServedCollection, file: IO[bytes]) -> str:
        """Describe a picture, so that searches can begin with it."""
        collection = served.collection
        if not collection.can_embed:
            raise RefusedError("the pictures of this collection were described elsewhere")
        with self._turn, pictures.quietly():
            try:
                picture = pictures.decode(file, collection.least_pixels, self._most)
                vector = collection.embed(picture.image)
            finally:
                pictures.give_back()
        if not np.isfinite(vector).all():
            raise UnreadableError("the model makes nothing of it")
        upload = UploadRow(
            id=secrets.token_urlsafe(12),
            collection=served.id,
            kind=collection.pool.fingerprint,
            vector=vector.tobytes(),
            thumbnail=pictures.thumbnail(picture.image),
        )
        name = upload.id
        with self._database.writing() as session:
            session.add(upload)
        return name

    def thumbnail(self, served: ServedCollection, name: str) -> bytes:
        with self._database.reading() as session:
            thumbnail = upload_of(session, name, served.id).thumbnail
        if not thumbnail:
            raise UnknownError(
                "a saved search has what the model saw in a picture, not the picture"
            )
        return thumbnail
