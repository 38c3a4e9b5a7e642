"""Pictures by their identifiers, and pictures from outside."""

from __future__ import annotations

import asyncio
import hashlib
import io
import threading
from pathlib import Path
from typing import Any

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import FileResponse
from PIL import Image
from starlette.requests import ClientDisconnect

from ital.collection import Collection, pictures
from ital.collection.pictures import UnreadableError
from ital.collection.scan import inside
from ital.collection.store import StoreError
from ital.server import schemas
from ital.server.problems import UnknownError
from ital.server.shared import MISSING, Limit, Offset, OneOf, PictureId, Shared, Text

_SHOWN_BY_BROWSERS = {"JPEG", "PNG", "WEBP", "GIF", "AVIF"}
_VIEW = 2560
"""The longer side of a picture that browsers cannot show as it is."""

_CACHE = "private, max-age=60, must-revalidate"
"""A picture that has changed is seen a minute later."""

_SHOWN: dict[str, Any] = {Image.MIME[kind]: {} for kind in sorted(_SHOWN_BY_BROWSERS)}
_UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "Not changed"}}
_JPEG: dict[int | str, dict[str, Any]] = {
    **MISSING,
    **_UNCHANGED,
    200: {"content": {"image/jpeg": {}}},
}
_FILE: dict[int | str, dict[str, Any]] = {
    **MISSING,
    200: {"content": {"application/octet-stream": {}}},
    206: {"description": "A part"},
    416: {"description": "No such part"},
}

_converting = threading.Lock()
"""A picture in its full size may take most of a gigabyte: one at a time."""

router = APIRouter(prefix="/collections/{c}", tags=["pictures"])


@router.get("/pictures", responses=MISSING)
def picture_page(served: OneOf, offset: Offset = 0, limit: Limit = 200) -> schemas.PicturePage:
    """A window on a collection, in the order of identifiers."""
    collection = served.current
    if collection is None:
        return schemas.PicturePage(total=0, offset=offset, pictures=[])
    names = collection.paths[offset : offset + limit]
    ids = collection.ids[offset : offset + limit].tolist()
    found = [schemas.Picture(id=one, name=name) for one, name in zip(ids, names, strict=True)]
    return schemas.PicturePage(total=len(collection), offset=offset, pictures=found)


@router.get("/pictures/{picture}/thumbnail", responses=_JPEG, response_class=Response)
def thumbnail(served: OneOf, picture: PictureId, request: Request) -> Response:
    """A JPEG of 256 pixels."""
    collection = served.collection
    if picture not in collection.pool:
        raise UnknownError(f"there is no picture {picture}")
    try:
        content = collection.kept_thumbnail(picture)
        if content is None:
            _path(collection, picture)
            content = collection.thumbnail(picture)
    except (OSError, StoreError, UnreadableError) as error:
        raise _unreadable(picture) from error
    return _image(content, request)


@router.get(
    "/pictures/{picture}/view",
    responses={**_FILE, **_UNCHANGED, 200: {"content": _SHOWN}, 206: {"content": _SHOWN}},
    response_class=Response,
)
def view(served: OneOf, picture: PictureId, request: Request) -> Response:
    """A picture as browsers can show it: the file itself, or a JPEG made of it."""
    path = _path(served.collection, picture)
    try:
        with path.open("rb") as stream:
            kind = pictures.kind(stream)
            if kind in _SHOWN_BY_BROWSERS:
                # What the file is called does not matter: it is what it was seen to be.
                headers = {"Cache-Control": _CACHE}
                return _unless_known(_file(path, Image.MIME[kind], headers=headers), request)
            with _converting:
                content = _jpeg(pictures.decode(stream, _VIEW).image)
    except (OSError, UnreadableError) as error:
        raise _unreadable(picture) from error
    return _image(content, request)


@router.get("/pictures/{picture}/original", responses=_FILE, response_class=FileResponse)
def original(served: OneOf, picture: PictureId) -> FileResponse:
    """The file itself, to keep."""
    path = _path(served.collection, picture)
    try:
        return _file(path, "application/octet-stream", filename=path.name)
    except OSError as error:
        raise _unreadable(picture) from error


@router.post(
    "/uploads",
    status_code=201,
    responses={**MISSING, 413: {"model": schemas.Problem}, 415: {"model": schemas.Problem}},
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}}
            },
        }
    },
)
async def upload(served: OneOf, server: Shared, request: Request) -> schemas.Upload:
    """Describe a picture from outside, which is the body of the request."""
    most = server.settings.upload_bytes
    content = bytearray()
    try:
        async for piece in request.stream():
            content += piece
            if len(content) > most:
                # What else is to come is not read.
                detail = f"a picture may have {most} bytes at the most"
                raise HTTPException(413, detail, headers={"Connection": "close"})
    except ClientDisconnect as error:
        raise HTTPException(400, "the upload was broken off") from error
    name = await asyncio.to_thread(server.uploads.add, served, bytes(content))
    return schemas.Upload(id=name)


@router.get("/uploads/{upload}/thumbnail", responses=_JPEG, response_class=Response)
def upload_thumbnail(served: OneOf, upload: Text, server: Shared, request: Request) -> Response:
    """A picture from outside, as a JPEG of 256 pixels."""
    return _image(server.uploads.thumbnail(served, upload), request)


def _path(collection: Collection, picture: int) -> Path:
    if picture not in collection.pool:
        raise UnknownError(f"there is no picture {picture}")
    try:
        return inside(collection.root, collection.path(picture))
    except OSError as error:
        raise UnknownError(f"the file of picture {picture} has gone") from error


def _file(path: Path, kind: str, **more: Any) -> FileResponse:
    return FileResponse(path, media_type=kind, stat_result=path.stat(), **more)


def _unreadable(picture: int) -> UnknownError:
    return UnknownError(f"the file of picture {picture} cannot be read")


def _jpeg(image: Image.Image) -> bytes:
    image.thumbnail((_VIEW, _VIEW))
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=90)
    return stream.getvalue()


def _image(content: bytes, request: Request) -> Response:
    tag = hashlib.sha256(content).hexdigest()[:32]
    headers = {"ETag": f'"{tag}"', "Cache-Control": _CACHE}
    return _unless_known(Response(content, media_type="image/jpeg", headers=headers), request)


def _unless_known(response: Response, request: Request) -> Response:
    """A response, or less of it if the client has it already."""
    known = [
        tag.strip().removeprefix("W/")
        for tag in request.headers.get("if-none-match", "").split(",")
    ]
    if response.headers["etag"] in known or "*" in known:
        headers = {name: response.headers[name] for name in ("etag", "cache-control")}
        return Response(status_code=304, headers=headers)
    return response
