"""Labels from files."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request

from ital.server import bodies, schemas
from ital.server.dependencies import CONFLICT, JSON, OneOf, Shared, Text
from ital.server.labels import MOST_BYTES

router = APIRouter(tags=["labels"])

FileName = Annotated[
    str,
    Query(min_length=1, max_length=255, description="It ends in .csv, .json or .parquet."),
]


@router.post(
    "/searches/{s}/labels", responses={**CONFLICT, **bodies.TOO_LARGE}, openapi_extra=bodies.FILE
)
async def teach(
    s: Text,
    server: Shared,
    request: Request,
    name: FileName,
    revision: Annotated[int, Query(ge=0)],
    key: Annotated[schemas.Key, Query()],
) -> schemas.SearchState:
    """Teach a search what a file says of pictures, by path or identifier: the body is the file."""
    change = schemas.Change(revision=revision, key=key)
    async with bodies.received(request, _most(server), "a file of labels") as file:
        return await asyncio.to_thread(server.labels.teach, s, name, file, change)


@router.post(
    "/collections/{c}/labels",
    status_code=201,
    responses={**JSON, **bodies.TOO_LARGE},
    openapi_extra=bodies.FILE,
)
async def begin(
    served: OneOf,
    server: Shared,
    request: Request,
    name: FileName,
    key: Annotated[schemas.Key | None, Query()] = None,
) -> schemas.SearchState:
    """A new search that begins with what a file says of pictures: the body is the file."""
    async with bodies.received(request, _most(server), "a file of labels") as file:
        return await asyncio.to_thread(server.labels.begin, served, name, file, key)


def _most(server: Shared) -> int:
    return min(server.settings.upload_bytes, MOST_BYTES)
