"""What is in files: read, hashed, decoded, shrunk and described, a few at a time."""

from __future__ import annotations

import functools
import hashlib
import os
import threading
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ital.collection import pictures
from ital.collection.encoder import Encoder, Encoders, Vectors, encoder
from ital.collection.models import AnyModel
from ital.collection.phash import phash
from ital.collection.pictures import UnreadableError
from ital.collection.scan import File, Skipped, open_inside, reason


@dataclass(frozen=True)
class Content:
    """What a picture is, wherever its file may be."""

    width: int
    height: int
    thumbnail: bytes | None
    embedding: Vectors
    phash: int | None = None
    """What its copies have nearly the same, too; ``None`` where the picture was never seen."""
    taken: int | None = None


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
    phash: int
    taken: int | None

    def described(self, vector: Vectors) -> Read | Skipped:
        if not np.isfinite(vector).all():
            return Skipped(self.file.path, "the model gives no vector", lasting=False)
        about = (self.width, self.height, self.thumbnail, vector, self.phash, self.taken)
        content = Content(*about)
        return Read(self.file, self.hash, content)


class Reader:
    """Reads files below a folder; may be used by many threads at once."""

    def __init__(self, root: Path, encoder: Encoder | Encoders, known: Container[str]) -> None:
        self._root, self._encoder, self._known = root, encoder, known
        self._buffers = threading.local()

    def read(self, files: Sequence[File]) -> list[Read | Skipped]:
        """What is in some files, in their order; the network sees all new ones at once."""
        prepared = self._buffer(len(files))
        found: list[_Decoded | Read | Skipped] = []
        new = 0
        for file in files:
            found.append(self._open(file, prepared[new]))
            new += isinstance(found[-1], _Decoded)
        vectors = iter(self._encoder.embed(prepared[:new]) if new else ())
        return [one.described(next(vectors)) if isinstance(one, _Decoded) else one for one in found]

    def _buffer(self, count: int) -> npt.NDArray[np.generic]:
        """Room for prepared pictures, which a thread uses again: to get it takes long."""
        if not hasattr(self._buffers, "prepared") or len(self._buffers.prepared) < count:
            self._buffers.prepared = self._encoder.buffer(count)
        buffer: npt.NDArray[np.generic] = self._buffers.prepared
        return buffer

    def _open(self, file: File, out: npt.NDArray[np.generic]) -> _Decoded | Read | Skipped:
        """Read a file, and prepare its picture for the network."""
        try:
            with open_inside(self._root, file.path) as stream:
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
        self._encoder.prepare(picture.image, out)
        small = pictures.shrunk(picture.image)
        about = (picture.width, picture.height, pictures.thumbnail(small), phash(small))
        return _Decoded(file, digest, *about, picture.taken)


def reading(
    root: Path, model: AnyModel, known: Container[str]
) -> Callable[[Sequence[File]], list[Read | Skipped]]:
    """What reads files, many batches at once: the network keeps to the core of whoever runs it."""
    return Reader(root, encoder(model, threads=1), known).read


def hashing(root: Path) -> Callable[[Sequence[File]], list[str | None]]:
    """What gives hashes of files; ``None`` of those that cannot be read."""
    return functools.partial(_hashes, root)


def _hashes(root: Path, files: Sequence[File]) -> list[str | None]:
    return [_hash(root, file) for file in files]


def _hash(root: Path, file: File) -> str | None:
    try:
        with open_inside(root, file.path) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None  # it will be reported when it is to be read
