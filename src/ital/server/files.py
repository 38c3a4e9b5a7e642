"""Files that are open, as answers: whole or in part, or not at all if the client has them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from email.utils import formatdate
from typing import BinaryIO

from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

_PIECE = 1 << 18


def respond(file: BinaryIO, request: Request, kind: str, headers: dict[str, str]) -> Response:
    """A file as an answer, which closes it."""
    status = os.fstat(file.fileno())
    size, tag = status.st_size, f'"{status.st_mtime_ns:x}-{status.st_size:x}"'
    headers = {**headers, "ETag": tag, "Accept-Ranges": "bytes"}
    with suppress(ValueError, OverflowError, OSError):  # dates beyond those that calendars have
        headers["Last-Modified"] = formatdate(status.st_mtime, usegmt=True)
    if is_known(tag, request):
        file.close()
        return Response(status_code=304, headers=headers)
    part = None
    if request.headers.get("if-range", tag) in (tag, headers.get("Last-Modified")):
        part = _part(request.headers.get("range", ""), size)
    if part is not None and not part:
        file.close()
        return Response(status_code=416, headers={"Content-Range": f"bytes */{size}"})
    if part is None:
        return _Sent(file, range(size), 200, headers, kind)
    headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{size}"
    return _Sent(file, part, 206, headers, kind)


def is_known(tag: str, request: Request) -> bool:
    """Whether a client has what is tagged so."""
    tags = request.headers.get("if-none-match", "").split(",")
    return bool({tag, "*"} & {one.strip().removeprefix("W/") for one in tags})


def _part(asked: str, size: int) -> range | None:
    """The bytes that are asked for; none, if all are: what makes no sense is left aside."""
    found = re.fullmatch(r"bytes=([0-9]{0,18})-([0-9]{0,18})", asked)
    if found is None or found[0] == "bytes=-":
        return None
    first, last = found.groups()
    if not first:
        return range(max(0, size - int(last)), size)
    if last and int(last) < int(first):
        return None
    return range(int(first), min(int(last) + 1, size) if last else size)


class _Sent(StreamingResponse):
    """Some bytes of a file. There may be fewer by the time that they are sent, but never more."""

    def __init__(
        self, file: BinaryIO, part: range, status: int, headers: dict[str, str], kind: str
    ) -> None:
        self._file, self._missing = file, len(part)
        headers["Content-Length"] = str(len(part))
        super().__init__(self._pieces(part), status, headers, kind)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._file:
            await super().__call__(scope, receive, send)

    async def stream_response(self, send: Send) -> None:
        async def unless_cut_off(message: Message) -> None:
            self._missing -= len(message.get("body", b""))
            # Without an end, the connection is closed, and the client knows that not all has come.
            if self._missing <= 0 or message.get("more_body", True):
                await send(message)

        await super().stream_response(unless_cut_off)

    def _pieces(self, part: range) -> Iterator[bytes]:
        # A disk that fails leaves no more to send than a file that has become shorter.
        with suppress(OSError):
            self._file.seek(part.start)
            left = len(part)
            while piece := self._file.read(min(_PIECE, left)):
                left -= len(piece)
                yield piece
