"""Bodies of requests that are files."""

from __future__ import annotations

from typing import IO, Any

from fastapi import HTTPException, Request
from starlette.requests import ClientDisconnect

from ital.server import schemas

BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
TOO_LARGE: dict[int | str, dict[str, Any]] = {413: {"model": schemas.Problem}}
"""How such a request is described, and what it may be answered with."""


async def receive(request: Request, file: IO[bytes], most: int) -> int:
    """Write the body of a request to a file, to be read from its beginning. Returns its bytes."""
    size = 0
    try:
        async for piece in request.stream():
            file.write(piece)
            size += len(piece)
            if size > most:
                # What else is to come is not read.
                detail = f"a file may have {most} bytes at the most"
                raise HTTPException(413, detail, headers={"Connection": "close"})
    except ClientDisconnect as error:
        raise HTTPException(400, "the upload was broken off") from error
    file.seek(0)
    return size
