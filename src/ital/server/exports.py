"""Results as downloads; pictures are sent while they are read."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

from fastapi import Response
from fastapi.responses import StreamingResponse

from ital.collection.export import FILES, Found, file_name
from ital.collection.scan import open_inside
from ital.server.problems import RefusedError

TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "paths": "text/plain; charset=utf-8",
    "zip": "application/zip",
}
"""What a download is, by its format."""

_PIECE = 1 << 18


def download(kind: str, results: list[Found], root: Path, name: str) -> Response:
    """Results in a format, as a file of a name."""
    ending = {"paths": "txt"}.get(kind, kind)
    headers = {"Content-Disposition": f'attachment; filename="{name}.{ending}"'}
    if kind == "zip":
        return StreamingResponse(_zip(results, root), media_type=TYPES[kind], headers=headers)
    try:
        content = FILES[kind](results, root)
    except ValueError as error:
        raise RefusedError(str(error)) from error
    return Response(content, media_type=TYPES[kind], headers=headers)


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


def _zip(results: list[Found], root: Path) -> Iterator[bytes]:
    """The originals, a table of them, and a list of those that are no longer there."""
    pipe, missing = _Pipe(), []
    # Pictures are compressed already.
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_STORED) as archive:
        for one in results:
            try:
                file = open_inside(root, one.path)
            except OSError:
                missing.append(one.path)
                continue
            with file, archive.open(file_name(one, len(results)), "w") as entry:
                while piece := file.read(_PIECE):
                    entry.write(piece)
                    yield pipe.take()
        archive.writestr("results.csv", FILES["csv"](results, root))
        if missing:
            archive.writestr("missing.txt", "".join(f"{path}\n" for path in missing))
    yield pipe.take()
