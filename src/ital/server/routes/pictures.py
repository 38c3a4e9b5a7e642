"""Pictures by their identifiers, and pictures from outside."""

from __future__ import annotations

import asyncio
import hashlib
import io
import threading
from contextlib import ExitStack
from typing import Any, BinaryIO
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from PIL import Image

from ital.checks import Identifier
from ital.collection import Collection, pictures
from ital.collection.pictures import UnreadableError
from ital.collection.store import StoreError
from ital.server import bodies, files, schemas
from ital.server.dependencies import JSON, MISSING, Limit, Offset, OneOf, PictureId, Shared, Text
from ital.server.problems import UnknownError

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
    **_UNCHANGED,
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
    groups = served.groups(collection)
    rows = range(offset, min(len(collection), offset + limit))
    found = [
        schemas.Picture(
            id=int(collection.ids[row]),
            name=collection.paths[row],
            stack=1 if groups is None else len(groups.members(row)),
        )
        for row in rows
    ]
    return schemas.PicturePage(total=len(collection), offset=offset, pictures=found)


@router.get("/pictures/{picture}/thumbnail", responses=_JPEG, response_class=Response)
def thumbnail(served: OneOf, picture: PictureId, request: Request) -> Response:
    """A JPEG of 256 pixels."""
    collection = served.collection
    if Identifier(picture) not in collection.pool:
        raise UnknownError(f"there is no picture {picture}")
    try:
        content = collection.thumbnail(picture)
    except (OSError, StoreError, UnreadableError) as error:
        if not collection.has_files:
            raise UnknownError(f"picture {picture} has no thumbnail and no file") from error
        raise _unreadable(picture) from error
    return _image(content, request)


@router.get(
    "/pictures/{picture}/view",
    responses={**_FILE, 200: {"content": _SHOWN}, 206: {"content": _SHOWN}},
    response_class=Response,
)
def view(served: OneOf, picture: PictureId, request: Request) -> Response:
    """A picture as browsers can show it: the file itself, or a JPEG made of it."""
    try:
        with ExitStack() as opened:
            file = opened.enter_context(_open(served.collection, picture))
            kind = pictures.kind(file)
            if kind in _SHOWN_BY_BROWSERS:
                # What the file is called does not matter: it is what it was seen to be.
                headers = {"Cache-Control": _CACHE}
                response = files.respond(file, request, Image.MIME[kind], headers)
                opened.pop_all()  # it is closed when it has been sent
                return response
            with _converting:
                content = _jpeg(pictures.decode(file, _VIEW).image)
    except (OSError, UnreadableError) as error:
        raise _unreadable(picture) from error
    return _image(content, request)


@router.get("/pictures/{picture}/original", responses=_FILE, response_class=Response)
def original(served: OneOf, picture: PictureId, request: Request) -> Response:
    """The file itself, to keep."""
    collection = served.collection
    file = _open(collection, picture)
    name = collection.path(picture).name
    named = f'="{name}"' if quote(name) == name else f"*=utf-8''{quote(name)}"
    headers = {"Content-Disposition": f"attachment; filename{named}"}
    return files.respond(file, request, "application/octet-stream", headers)


@router.post(
    "/uploads",
    status_code=201,
    responses={**JSON, **bodies.TOO_LARGE},
    openapi_extra=bodies.FILE,
)
async def upload(served: OneOf, server: Shared, request: Request) -> schemas.Upload:
    """Describe a picture from outside, which is the body of the request."""
    async with bodies.received(request, server.settings.upload_bytes, "a picture") as file:
        if not file.read(1):
            raise UnreadableError("the upload is empty")
        return schemas.Upload(id=await asyncio.to_thread(server.uploads.add, served, file))


@router.get("/uploads/{upload}/thumbnail", responses=_JPEG, response_class=Response)
def upload_thumbnail(served: OneOf, upload: Text, server: Shared, request: Request) -> Response:
    """A picture from outside, as a JPEG of 256 pixels."""
    return _image(server.uploads.thumbnail(served, upload), request)


def _open(collection: Collection, picture: int) -> BinaryIO:
    if Identifier(picture) not in collection.pool:
        raise UnknownError(f"there is no picture {picture}")
    if not collection.has_files:
        raise UnknownError(f"picture {picture} has no file")
    try:
        return collection.open_file(picture)
    except OSError as error:
        raise UnknownError(f"the file of picture {picture} has gone") from error


def _unreadable(picture: int) -> UnknownError:
    return UnknownError(f"the file of picture {picture} cannot be read")


def _jpeg(image: Image.Image) -> bytes:
    image.thumbnail((_VIEW, _VIEW))
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=90)
    return stream.getvalue()


def _image(content: bytes, request: Request) -> Response:
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": _CACHE}
    if files.is_known(tag, request):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type="image/jpeg", headers=headers)
