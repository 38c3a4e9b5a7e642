"""What goes wrong, in a sentence and never with a traceback."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from ital.collection.pictures import UnreadableError
from ital.engine import ClusterError
from ital.server import schemas

if TYPE_CHECKING:
    from ital.server.searches import Searches


class UnknownError(LookupError):
    """There is no such collection, search, picture or upload."""


class RefusedError(ValueError):
    """A request that asks for what cannot be."""


class ConflictError(Exception):
    """A change was made on a revision that is no longer the current one."""


def add_problems(app: FastAPI, searches: Searches) -> None:
    """Tell clients what was wrong with their requests."""

    def say(status: int, detail: str) -> JSONResponse:
        return JSONResponse({"detail": detail}, status)

    @app.exception_handler(UnknownError)
    def unknown(request: Request, error: Exception) -> JSONResponse:
        del request
        return say(404, str(error))

    @app.exception_handler(ConflictError)
    def conflict(request: Request, error: Exception) -> JSONResponse:
        del error
        try:
            state = searches.state(request.path_params["s"])
        except UnknownError as gone:
            return say(404, str(gone))
        detail = "the search has moved on since"
        content = schemas.Conflict(detail=detail, state=state).model_dump(mode="json")
        return JSONResponse(content, 409)

    @app.exception_handler(UnreadableError)
    def unreadable(request: Request, error: Exception) -> JSONResponse:
        del request
        return say(415, f"this is no picture that can be read: {error}")

    @app.exception_handler(ClusterError)
    def unreachable(request: Request, error: Exception) -> JSONResponse:
        del request
        return say(503, f"{error}. All that you said is kept.")

    @app.exception_handler(RefusedError)
    def refused(request: Request, error: Exception) -> JSONResponse:
        del request
        return say(400, str(error))

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        if isinstance(error.body, bytes):  # it was not taken for JSON
            kind = request.headers.get("content-type") or "none"
            return say(415, f"Content-Type must be application/json, got {kind[:100]}")
        first = error.errors()[0]
        place = " ".join(str(part) for part in first["loc"])
        return say(422, f"{place}: {first['msg']}")
