"""Results as downloads; pictures are sent while they are read."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fastapi import Response
from fastapi.responses import StreamingResponse

from ital.collection.export import FILES, Found, file_name, left_out
from ital.collection.scan import open_inside, printable

TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "paths": "text/plain; charset=utf-8",
    "paths0": "application/octet-stream",
    "zip": "application/zip",
}
"""What a download is, by its format."""

LEFT_OUT = "Left-Out"
"""The header with the number of results that a format cannot hold, if there are any."""

_PIECE = 1 << 18


def download(kind: str, results: list[Found], root: Path, name: str) -> Response:
    """Results in a format, as a file of a name."""
    ending = {"paths": "txt", "paths0": "txt"}.get(kind, kind)
    headers = {}
    if missed := len(left_out(kind, results, root)):
        # A program sees the header, a person the name of the file.
        headers[LEFT_OUT] = str(missed)
        name = f"{name}-without-{missed}"
    headers["Content-Disposition"] = f'attachment; filename="{name}.{ending}"'
    if kind == "zip":
        pictures = [(file_name(one, len(results)), one.path) for one in results]
        content = archive(pictures, root, {"results.csv": FILES["csv"](results, root)})
        return StreamingResponse(content, media_type=TYPES[kind], headers=headers)
    return Response(FILES[kind](results, root), media_type=TYPES[kind], headers=headers)


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


def archive(
    pictures: Sequence[tuple[str, str]], root: Path, files: Mapping[str, str | bytes]
) -> Iterator[bytes]:
    """A ZIP of originals, by name and path, of files, and a list of what is no longer there."""
    pipe, missing = _Pipe(), []
    # Pictures are compressed already.
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_STORED) as zipped:
        for name, path in pictures:
            try:
                file = open_inside(root, path)
            except OSError:
                missing.append(path)
                continue
            with file, zipped.open(name, "w") as entry:
                while piece := file.read(_PIECE):
                    entry.write(piece)
                    yield pipe.take()
        for name, content in files.items():
            zipped.writestr(name, content)
        if missing:
            zipped.writestr("missing.txt", "".join(f"{printable(path)}\n" for path in missing))
    yield pipe.take()
