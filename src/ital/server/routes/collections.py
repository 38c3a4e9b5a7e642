"""Collections, and the indexing of them."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from ital.server import schemas
from ital.server.dependencies import MISSING, OneOf, Shared
from ital.server.served import ServedCollection

_BEAT_SECONDS, _QUIET_BEATS = 0.5, 30
"""How often changes are looked for, and after how many times without one a client is told so."""

router = APIRouter(prefix="/collections", tags=["collections"])


def _info(served: ServedCollection) -> schemas.CollectionInfo:
    current = served.current
    return schemas.CollectionInfo(
        id=served.id,
        name=served.name,
        pictures=0 if current is None else len(current),
        version=0 if current is None else zlib.crc32(repr(current.source.state).encode()),
        skipped=len(served.skipped),
        can_embed=current is not None and current.can_embed,
        knows_words=current is not None and current.knows_words,
        indexing=schemas.Indexing(**vars(served.run)),
    )


@router.get("")
def collections(server: Shared) -> list[schemas.CollectionInfo]:
    """All collections."""
    return [_info(served) for served in server.served.values()]


@router.get("/{c}", responses=MISSING)
def collection(served: OneOf) -> schemas.CollectionInfo:
    """One collection."""
    return _info(served)


@router.get("/{c}/skipped", responses=MISSING)
def skipped(served: OneOf) -> list[schemas.SkippedFile]:
    """The files that are not in a collection, and why."""
    return [schemas.SkippedFile(path=one.path, reason=one.reason) for one in served.skipped]


@router.post("/{c}/index", status_code=202, responses=MISSING)
def start_indexing(served: OneOf) -> schemas.CollectionInfo:
    """Bring a collection up to date, in the background."""
    served.start()
    return _info(served)


@router.get(
    "/{c}/events",
    responses={**MISSING, 200: {"content": {"text/event-stream": {}}}},
    response_class=StreamingResponse,
)
async def events(served: OneOf, server: Shared) -> StreamingResponse:
    """A collection as server-sent events, one whenever something about it has changed."""

    async def stream() -> AsyncIterator[str]:
        last, quiet = "", 0
        while not server.stopping.is_set():
            now = _info(served).model_dump_json()
            quiet = 0 if now != last else (quiet + 1) % _QUIET_BEATS
            if now != last:
                yield f"data: {now}\n\n"
            elif not quiet:
                yield ": still here\n\n"
            last = now
            try:
                await asyncio.wait_for(server.stopping.wait(), _BEAT_SECONDS)
            except TimeoutError:
                continue

    return StreamingResponse(
        stream(), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
    )
