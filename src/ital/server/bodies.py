"""Bodies of requests that are files, from people who may mean no good."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from fastapi import HTTPException, Request
from starlette.requests import ClientDisconnect

from ital.server import schemas
from ital.server.config import MEGABYTE

FILE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
"""How the API's document says that the body is one,"""

TOO_LARGE: dict[int | str, dict[str, Any]] = {413: {"model": schemas.Problem}}
"""and what it may be answered with."""


@asynccontextmanager
async def received(request: Request, most: int, what: str) -> AsyncIterator[IO[bytes]]:
    """The file that a request brings, from its beginning; ``what`` may have ``most`` bytes."""
    size = 0
    # Those that wait for their turn do so on the disk.
    with SpooledTemporaryFile(MEGABYTE) as file:
        try:
            async for piece in request.stream():
                file.write(piece)
                size += len(piece)
                if size > most:
                    # What else is to come is not read.
                    detail = f"{what} may have {most} bytes at the most"
                    raise HTTPException(413, detail, headers={"Connection": "close"})
        except ClientDisconnect as error:
            raise HTTPException(400, "the upload was broken off") from error
        file.seek(0)
        yield file
