"""Results as downloads, sent while they are made."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

from ital.collection.export import FILES, Found, file_name

TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "paths": "text/plain; charset=utf-8",
    "zip": "application/zip",
}
"""What a download is, by its format."""

_PIECE = 1 << 18


class _Pipe(io.RawIOBase):
    """Takes what is written, and gives it away a piece at a time."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        piece = bytes(data)  # type: ignore[call-overload]
        self._pieces.append(piece)
        return len(piece)

    def take(self) -> bytes:
        taken, self._pieces = b"".join(self._pieces), []
        return taken


def stream(kind: str, results: list[Found], root: Path) -> Iterator[bytes]:
    """A download, a piece at a time."""
    if kind != "zip":
        yield FILES[kind](results, root).encode()
        return
    pipe = _Pipe()
    # Pictures are compressed already.
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_STORED) as archive:
        for one in results:
            name = file_name(one, len(results))
            try:
                with (root / one.path).open("rb") as file, archive.open(name, "w") as entry:
                    while piece := file.read(_PIECE):
                        entry.write(piece)
                        yield pipe.take()
            except OSError:
                continue  # it has gone since it was indexed
        archive.writestr("results.csv", FILES["csv"](results, root))
    yield pipe.take()
