"""What is in files: read, hashed, decoded, shrunk and described, a few at a time."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ital.collection import pictures
from ital.collection.encoder import Encoder, Vectors
from ital.collection.pictures import UnreadableError
from ital.collection.scan import File, Skipped, reason


@dataclass(frozen=True)
class Content:
    """What a picture is, wherever its file may be."""

    width: int
    height: int
    thumbnail: bytes | None
    embedding: Vectors


@dataclass(frozen=True)
class Read:
    """A file that was read. Content that is known by its hash was not looked at."""

    file: File
    hash: str
    content: Content | None


@dataclass(frozen=True)
class _Decoded:
    file: File
    hash: str
    width: int
    height: int
    thumbnail: bytes
    prepared: npt.NDArray[np.generic]

    def described(self, vector: Vectors) -> Read | Skipped:
        if not np.isfinite(vector).all():
            return Skipped(self.file.path, "the model gives no vector", lasting=False)
        content = Content(self.width, self.height, self.thumbnail, vector)
        return Read(self.file, self.hash, content)


class Reader:
    """Reads files below a folder; may be used by many threads at once."""

    def __init__(self, root: Path, encoder: Encoder, known: Container[str]) -> None:
        self._root, self._encoder, self._known = root, encoder, known

    def read(self, files: Sequence[File]) -> list[Read | Skipped]:
        """What is in some files, in their order; the network sees all new ones at once."""
        found = [self._open(file) for file in files]
        new = [one.prepared for one in found if isinstance(one, _Decoded)]
        vectors = iter(self._encoder.embed(np.stack(new)) if new else ())
        return [one.described(next(vectors)) if isinstance(one, _Decoded) else one for one in found]

    def _open(self, file: File) -> _Decoded | Read | Skipped:
        try:
            with (self._root / file.path).open("rb") as stream:
                status = os.fstat(stream.fileno())
                file = File(file.path, status.st_size, status.st_mtime_ns)
                if not file.size:
                    raise UnreadableError("empty")
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
                if digest in self._known:
                    return Read(file, digest, None)
                stream.seek(0)
                picture = pictures.decode(stream, self._encoder.least)
        except UnreadableError as error:
            return Skipped(file.path, str(error), file.size, file.modified)
        except OSError as error:
            return Skipped(file.path, reason(error), lasting=False)
        return _Decoded(
            file,
            digest,
            picture.width,
            picture.height,
            pictures.thumbnail(picture.image),
            self._encoder.prepare(picture.image),
        )
