"""Searches as files, which the library and the command line open and save."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response

from ital.server import bodies, schemas
from ital.server.dependencies import JSON, MISSING, OneOf, Shared, Text

router = APIRouter(tags=["searches"])


@router.get(
    "/searches/{s}/file",
    responses={**MISSING, 200: {"content": {"application/json": {}}}},
    response_class=Response,
)
def search_file(s: Text, server: Shared) -> Response:
    """A search as `ital.Search.save` writes it, to keep or to go on with elsewhere."""
    name, content = server.searches.file(s)
    headers = {"Content-Disposition": f"attachment; filename*=utf-8''{quote(name, safe='')}.json"}
    return Response(content, media_type="application/json", headers=headers)


@router.post(
    "/collections/{c}/searches",
    status_code=201,
    responses={**JSON, **bodies.TOO_LARGE},
    openapi_extra=bodies.FILE,
)
async def open_search_file(
    served: OneOf,
    server: Shared,
    request: Request,
    name: Annotated[schemas.Name | None, Query()] = None,
    key: Annotated[schemas.Key | None, Query()] = None,
) -> schemas.SearchState:
    """A new search from a file that was saved, which is the body of the request."""
    async with bodies.received(request, server.settings.upload_bytes, "a saved search") as file:
        data = file.read()
    digest = hashlib.sha256(data).hexdigest()
    about = schemas.SearchFile(collection=served.id, name=name, key=key, digest=digest)
    return await asyncio.to_thread(server.searches.open_saved, about, data)
