"""The HTTP API, and the page."""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query, Request, Response
from fastapi import Path as InPath
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from fastapi.staticfiles import StaticFiles
from PIL import Image, UnidentifiedImageError
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from ital import strategies
from ital.collection import pictures
from ital.collection.export import found
from ital.collection.pictures import UnreadableError
from ital.server import exports, schemas
from ital.server.collections import NoPicturesError, Served
from ital.server.config import ServerSettings
from ital.server.database import Database
from ital.server.metrics import PICTURES, REGISTRY
from ital.server.searches import ConflictError, Searches, UnknownError
from ital.server.security import Guard
from ital.server.uploads import Uploads

PAGE = Path(__file__).with_name("page")
"""The built page, which the wheel contains."""

_SHOWN_BY_BROWSERS = {"JPEG", "PNG", "WEBP", "GIF", "AVIF"}
_VIEW = 2560
"""The longer side of a picture that browsers cannot show as it is."""

_log = logging.getLogger("ital.server")

PictureId = Annotated[int, InPath(ge=0, le=2**53)]
Text = Annotated[str, InPath(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
Offset = Annotated[int, Query(ge=0, le=2**31)]
Limit = Annotated[int, Query(ge=1, le=1000)]


class Server:
    """What all requests share."""

    def __init__(self, settings: ServerSettings, served: list[Served], database: Database) -> None:
        self.settings, self.database = settings, database
        self.served = {one.id: one for one in served}
        self.searches = Searches(database, self.served, settings.memory_bytes)
        self.uploads = Uploads(database)
        self.stopping = asyncio.Event()

    def close(self) -> None:
        for one in self.served.values():
            one.stop()
        self.database.close()


def _server(request: Request) -> Server:
    server: Server = request.app.state.server
    return server


Shared = Annotated[Server, Depends(_server)]


def _collection(c: Text, server: Shared) -> Served:
    return server.searches.served(c)


OneOf = Annotated[Served, Depends(_collection)]

_CONFLICT: dict[int | str, dict[str, Any]] = {
    404: {"model": schemas.Problem},
    409: {"model": schemas.Conflict},
}
_MISSING: dict[int | str, dict[str, Any]] = {404: {"model": schemas.Problem}}

api = APIRouter(
    prefix="/api/v1", responses={400: {"model": schemas.Problem}, 422: {"model": schemas.Problem}}
)


def _info(served: Served) -> schemas.CollectionInfo:
    return schemas.CollectionInfo(
        id=served.id,
        name=served.name,
        pictures=len(served),
        version=served.version,
        skipped=len(served.skipped()),
        can_embed=len(served) > 0 and served.collection.can_embed,
        indexing=schemas.Indexing(**vars(served.run)),
    )


@api.get("/collections", tags=["collections"])
def collections(server: Shared) -> list[schemas.CollectionInfo]:
    """All collections."""
    return [_info(served) for served in server.served.values()]


@api.get("/collections/{c}", tags=["collections"], responses=_MISSING)
def collection(served: OneOf) -> schemas.CollectionInfo:
    """One collection."""
    return _info(served)


@api.get("/collections/{c}/skipped", tags=["collections"], responses=_MISSING)
def skipped(served: OneOf) -> list[schemas.SkippedFile]:
    """The files that are not in a collection, and why."""
    return [schemas.SkippedFile(path=path, reason=reason) for path, reason in served.skipped()]


@api.post("/collections/{c}/index", status_code=202, tags=["collections"], responses=_MISSING)
def start_indexing(served: OneOf) -> schemas.CollectionInfo:
    """Bring a collection up to date, in the background."""
    served.start()
    return _info(served)


@api.get(
    "/collections/{c}/events",
    tags=["collections"],
    responses={**_MISSING, 200: {"content": {"text/event-stream": {}}}},
    response_class=StreamingResponse,
)
async def events(served: OneOf, server: Shared) -> StreamingResponse:
    """A collection as server-sent events, one whenever something about it has changed."""

    async def stream() -> AsyncIterator[str]:
        last = None
        for beat in range(10**9):
            now = _info(served).model_dump_json()
            if now != last:
                yield f"data: {now}\n\n"
                last = now
            elif beat % 30 == 0:
                yield ": still here\n\n"
            try:
                await asyncio.wait_for(server.stopping.wait(), 0.5)
            except TimeoutError:
                continue
            return

    return StreamingResponse(
        stream(), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
    )


@api.get("/collections/{c}/pictures", tags=["pictures"], responses=_MISSING)
def picture_page(served: OneOf, offset: Offset = 0, limit: Limit = 200) -> schemas.PicturePage:
    """A window on a collection, in the order of identifiers."""
    if not len(served):
        return schemas.PicturePage(total=0, offset=offset, pictures=[])
    collection = served.collection
    names = collection.paths[offset : offset + limit]
    ids = collection.ids[offset : offset + limit].tolist()
    found = [schemas.Picture(id=one, name=name) for one, name in zip(ids, names, strict=True)]
    return schemas.PicturePage(total=len(collection), offset=offset, pictures=found)


def _path(served: Served, picture: int) -> Path:
    if picture not in served.collection.pool:
        raise UnknownError(f"there is no picture {picture}")
    path = served.collection.path(picture)
    if not path.is_file():
        raise UnknownError(f"the file of picture {picture} has gone")
    return path


def _image(content: bytes, request: Request, tag: str) -> Response:
    headers = {"ETag": f'"{tag}"', "Cache-Control": "private, max-age=86400"}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type="image/jpeg", headers=headers)


_JPEG: dict[int | str, dict[str, Any]] = {
    **_MISSING,
    200: {"content": {"image/jpeg": {}}},
    304: {"description": "Not changed"},
}
_SHOWN: dict[str, Any] = {Image.MIME[kind]: {} for kind in sorted(_SHOWN_BY_BROWSERS)}
_FILE: dict[int | str, dict[str, Any]] = {
    **_MISSING,
    200: {"content": {"application/octet-stream": {}}},
    206: {"description": "A part"},
    416: {"description": "No such part"},
}


@api.get(
    "/collections/{c}/pictures/{picture}/thumbnail",
    tags=["pictures"],
    responses=_JPEG,
    response_class=Response,
)
def thumbnail(served: OneOf, picture: PictureId, request: Request) -> Response:
    """A JPEG of 256 pixels."""
    if picture not in served.collection.pool:
        raise UnknownError(f"there is no picture {picture}")
    try:
        content = served.collection.thumbnail(picture)
    except (OSError, UnreadableError) as error:
        raise UnknownError(f"the file of picture {picture} cannot be read") from error
    return _image(content, request, f"{picture}-{served.version}")


@api.get(
    "/collections/{c}/pictures/{picture}/view",
    tags=["pictures"],
    responses={**_FILE, 200: {"content": _SHOWN}, 206: {"content": _SHOWN}},
    response_class=Response,
)
def view(served: OneOf, picture: PictureId, request: Request) -> Response:
    """A picture as browsers can show it: the file itself, or a JPEG made of it."""
    path = _path(served, picture)
    try:
        with Image.open(path, formats=pictures.FORMATS) as image:
            kind = image.format or ""
    except (OSError, UnidentifiedImageError) as error:
        raise UnknownError(f"the file of picture {picture} cannot be read") from error
    if kind in _SHOWN_BY_BROWSERS:
        # What the file is called does not matter: it is what it was seen to be.
        return FileResponse(
            path, media_type=Image.MIME[kind], headers={"Cache-Control": "private, max-age=3600"}
        )
    try:
        shown = served.collection.image(picture)
    except UnreadableError as error:
        raise UnknownError(f"the file of picture {picture} cannot be read") from error
    shown.thumbnail((_VIEW, _VIEW))
    stream = io.BytesIO()
    shown.save(stream, "JPEG", quality=90)
    return _image(stream.getvalue(), request, f"view-{picture}-{served.version}")


@api.get(
    "/collections/{c}/pictures/{picture}/original",
    tags=["pictures"],
    responses=_FILE,
    response_class=FileResponse,
)
def original(served: OneOf, picture: PictureId) -> FileResponse:
    """The file itself, to keep."""
    path = _path(served, picture)
    return FileResponse(path, media_type="application/octet-stream", filename=path.name)


@api.post(
    "/collections/{c}/uploads",
    status_code=201,
    tags=["pictures"],
    responses={**_MISSING, 413: {"model": schemas.Problem}, 415: {"model": schemas.Problem}},
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
    async for piece in request.stream():
        content += piece
        if len(content) > most:
            # What else is to come is not read.
            detail = f"a picture may have {most} bytes at the most"
            raise HTTPException(413, detail, headers={"Connection": "close"})
    name = await asyncio.to_thread(server.uploads.add, served, bytes(content))
    return schemas.Upload(id=name)


@api.get(
    "/collections/{c}/uploads/{upload}/thumbnail",
    tags=["pictures"],
    responses=_JPEG,
    response_class=Response,
)
def upload_thumbnail(served: OneOf, upload: Text, server: Shared, request: Request) -> Response:
    """A picture from outside, as a JPEG of 256 pixels."""
    return _image(server.uploads.thumbnail(served, upload), request, upload)


@api.get("/strategies", tags=["searches"])
def all_strategies() -> list[schemas.StrategyInfo]:
    """The ways in which a search can ask."""
    return [
        schemas.StrategyInfo(name=name, description=strategies.describe(name))
        for name in strategies.names()
    ]


@api.get("/searches", tags=["searches"])
def searches(server: Shared, collection: str | None = None) -> list[schemas.SearchInfo]:
    """All searches, the latest first."""
    return server.searches.all(collection)


@api.post("/searches", status_code=201, tags=["searches"], responses=_MISSING)
def create_search(body: schemas.SearchCreate, server: Shared) -> schemas.SearchState:
    """A new search."""
    return server.searches.create(body)


@api.get("/searches/{s}", tags=["searches"], responses=_MISSING)
def search(s: Text, server: Shared) -> schemas.SearchState:
    """A search, with the questions that it asks."""
    return server.searches.state(s)


@api.patch("/searches/{s}", tags=["searches"], responses=_MISSING)
def rename_search(s: Text, body: schemas.Rename, server: Shared) -> schemas.SearchInfo:
    """Give a search another name."""
    return server.searches.rename(s, body.name)


@api.delete("/searches/{s}", status_code=204, tags=["searches"], responses=_MISSING)
def delete_search(s: Text, server: Shared) -> None:
    """Forget a search."""
    server.searches.delete(s)


@api.post("/searches/{s}/duplicate", status_code=201, tags=["searches"], responses=_MISSING)
def duplicate_search(s: Text, server: Shared) -> schemas.SearchState:
    """A copy of a search, to go on in another direction."""
    return server.searches.duplicate(s)


@api.post("/searches/{s}/answers", tags=["searches"], responses=_CONFLICT)
def answer(s: Text, body: schemas.Answers, server: Shared) -> schemas.SearchState:
    """Answer questions, or say something else of pictures that were answered before."""
    return server.searches.answer(s, body)


@api.post("/searches/{s}/undo", tags=["searches"], responses=_CONFLICT)
def undo(s: Text, body: schemas.Change, server: Shared) -> schemas.SearchState:
    """Take back the last round."""
    return server.searches.undo(s, body)


@api.post("/searches/{s}/redo", tags=["searches"], responses=_CONFLICT)
def redo(s: Text, body: schemas.Change, server: Shared) -> schemas.SearchState:
    """Take back the last undo."""
    return server.searches.redo(s, body)


@api.put("/searches/{s}/settings", tags=["searches"], responses=_CONFLICT)
def settle(s: Text, body: schemas.SettingsChange, server: Shared) -> schemas.SearchState:
    """Ask in another way from now on."""
    return server.searches.settle(s, body)


@api.get("/searches/{s}/results", tags=["searches"], responses=_MISSING)
def results(s: Text, server: Shared, offset: Offset = 0, limit: Limit = 200) -> schemas.ResultPage:
    """A window on the results, the best first."""
    return server.searches.results(s, offset, limit)


@api.get("/searches/{s}/thresholds", tags=["searches"], responses=_MISSING)
def thresholds(s: Text, server: Shared) -> schemas.Thresholds:
    """How many pictures are above each probability, and what to expect of them."""
    return server.searches.thresholds(s)


@api.get("/searches/{s}/history", tags=["searches"], responses=_MISSING)
def history(s: Text, server: Shared) -> schemas.History:
    """All rounds, those that were undone among them."""
    return server.searches.history(s)


@api.get("/searches/{s}/explanation/{picture}", tags=["searches"], responses=_MISSING)
def explanation(s: Text, picture: PictureId, server: Shared) -> schemas.Explanation:
    """The labelled pictures that pull a picture up, and those that push it down."""
    return server.searches.explanation(s, picture)


@api.get(
    "/searches/{s}/export",
    tags=["searches"],
    responses={**_MISSING, 200: {"content": {kind: {} for kind in exports.TYPES.values()}}},
    response_class=StreamingResponse,
)
def export(
    s: Text,
    server: Shared,
    format: Literal["csv", "json", "paths", "zip"] = "csv",  # noqa: A002  (its name in the API)
    threshold: Annotated[float | None, Query(ge=0, le=1)] = None,
    top: Annotated[int | None, Query(ge=1, le=2**31)] = None,
) -> StreamingResponse:
    """Results to keep, the best first."""
    with server.searches.opened(s) as (served, live):
        listed = found(served.collection, live, top, threshold)
        root = served.collection.root
    ending = {"paths": "txt"}.get(format, format)
    return StreamingResponse(
        exports.stream(format, listed, root),
        media_type=exports.TYPES[format],
        headers={"Content-Disposition": f'attachment; filename="ital-{s}.{ending}"'},
    )


def create_app(server: Server) -> FastAPI:
    """The application for some collections."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        del app
        yield
        server.stopping.set()
        await asyncio.to_thread(server.close)

    app = FastAPI(
        title="ital",
        version=version("ital"),
        summary="Find all the images that you mean, from one example and a few answers.",
        lifespan=lifespan,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # it would load scripts from elsewhere
        redoc_url=None,
    )
    app.state.server = server
    app.include_router(api)

    @app.get("/healthz", tags=["server"])
    def health() -> dict[str, str]:
        """Whether the server is there."""
        return {"status": "ok"}

    @app.get("/metrics", tags=["server"], response_class=Response)
    def metrics() -> Response:
        """Figures for Prometheus."""
        for served in server.served.values():
            PICTURES.labels(served.name).set(len(served))
        return Response(generate_latest(REGISTRY), media_type=CONTENT_TYPE_LATEST)

    _add_problems(app, server)
    if PAGE.is_dir():
        app.mount("/", StaticFiles(directory=PAGE, html=True), name="page")
    app.add_middleware(Guard, settings=server.settings)
    return app


def _add_problems(app: FastAPI, server: Server) -> None:
    """What goes wrong, in a sentence and never with a traceback."""

    def say(status: int, detail: str) -> JSONResponse:
        return JSONResponse({"detail": detail}, status)

    @app.exception_handler(UnknownError)
    @app.exception_handler(NoPicturesError)
    def unknown(request: Request, error: Exception) -> JSONResponse:
        del request
        return say(404, str(error))

    @app.exception_handler(ConflictError)
    def conflict(request: Request, error: Exception) -> JSONResponse:
        del error
        state = server.searches.state(request.path_params["s"])
        detail = "the search has moved on since"
        content = schemas.Conflict(detail=detail, state=state).model_dump(mode="json")
        return JSONResponse(content, 409)

    @app.exception_handler(UnreadableError)
    def unreadable(request: Request, error: Exception) -> JSONResponse:
        del request
        return say(415, f"this is no picture that can be read: {error}")

    @app.exception_handler(ValueError)
    def wrong(request: Request, error: Exception) -> JSONResponse:
        del request
        return say(400, str(error))

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        del request
        first = error.errors()[0]
        place = " ".join(str(part) for part in first["loc"])
        return say(422, f"{place}: {first['msg']}")

    @app.exception_handler(Exception)
    def failed(request: Request, error: Exception) -> JSONResponse:
        _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return say(500, "something went wrong here; the log of the server tells what")
