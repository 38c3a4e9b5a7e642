"""What all requests share."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Depends, Query, Request
from fastapi import Path as InPath

from ital.server import schemas
from ital.server.audits import Audits
from ital.server.config import ServerSettings
from ital.server.database import Database
from ital.server.labels import Labels
from ital.server.searches import Searches
from ital.server.served import ServedCollection
from ital.server.uploads import Uploads


class Server:
    """Collections, searches, audits, labels and uploads, and the wish that it all may end."""

    def __init__(
        self, settings: ServerSettings, served: Sequence[ServedCollection], database: Database
    ) -> None:
        self.settings, self.database = settings, database
        self.served = {one.id: one for one in served}
        if len(self.served) < len(served):
            names = ", ".join(one.name for one in served)
            raise ValueError(f"two of {names} hold the same collection: index one of them anew")
        self.searches = Searches(database, self.served, settings.memory_bytes)
        self.audits = Audits(database, self.searches)
        self.labels = Labels(self.searches)
        self.uploads = Uploads(database, settings.upload_pixels)
        self.stopping = asyncio.Event()

    def close(self) -> None:
        for one in self.served.values():
            one.stop()
        for one in self.served.values():
            one.join()
        self.database.close()


async def _server(request: Request) -> Server:
    server: Server = request.app.state.server
    return server


Shared = Annotated[Server, Depends(_server)]
Text = Annotated[str, InPath(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
PictureId = Annotated[int, InPath(ge=0, le=2**53)]
Offset = Annotated[int, Query(ge=0, le=2**31)]
Limit = Annotated[int, Query(ge=1, le=1000)]


async def _collection(c: Text, server: Shared) -> ServedCollection:
    return server.searches.memory.served(c)


OneOf = Annotated[ServedCollection, Depends(_collection)]

MISSING: dict[int | str, dict[str, Any]] = {404: {"model": schemas.Problem}}
JSON: dict[int | str, dict[str, Any]] = {**MISSING, 415: {"model": schemas.Problem}}
CONFLICT: dict[int | str, dict[str, Any]] = {**JSON, 409: {"model": schemas.Conflict}}
"""What requests may be answered with, beside what they are for."""
