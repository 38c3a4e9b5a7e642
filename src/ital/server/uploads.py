"""Pictures from outside, from people who may mean no good."""

from __future__ import annotations

import io
import secrets

import numpy as np

from ital.collection import pictures
from ital.collection.pictures import UnreadableError
from ital.server.collections import Served
from ital.server.database import Database, UploadRow, upload_of
from ital.server.problems import RefusedError


class Uploads:
    """Embeddings and thumbnails of uploaded pictures. The pictures themselves are not kept."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, served: Served, content: bytes) -> str:
        """Describe a picture, so that searches can begin with it."""
        collection = served.collection
        if not collection.can_embed:
            raise RefusedError("the pictures of this collection were described elsewhere")
        if not content:
            raise UnreadableError("the upload is empty")
        with pictures.quietly():
            picture = pictures.decode(io.BytesIO(content))
            vector = collection.embed(picture.image)
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

    def thumbnail(self, served: Served, name: str) -> bytes:
        with self._database.reading() as session:
            return upload_of(session, name, served.id).thumbnail
