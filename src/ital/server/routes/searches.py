"""Searches, and what is asked of them."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from ital import strategies
from ital.collection.export import cut
from ital.server import exports, schemas, views
from ital.server.arrangement import Arrangement, Sort
from ital.server.dependencies import CONFLICT, JSON, MISSING, Limit, Offset, PictureId, Shared, Text
from ital.server.problems import RefusedError

router = APIRouter(tags=["searches"])


@router.get("/strategies")
def all_strategies() -> list[schemas.StrategyInfo]:
    """The ways in which a search can ask."""
    return [
        schemas.StrategyInfo(name=name, description=strategies.describe(name))
        for name in strategies.names()
    ]


@router.get("/searches")
def searches(server: Shared, collection: schemas.Key | None = None) -> list[schemas.SearchInfo]:
    """All searches, the latest first."""
    return server.searches.all(collection)


@router.post("/searches", status_code=201, responses=JSON)
def create_search(body: schemas.SearchCreate, server: Shared) -> schemas.SearchState:
    """A new search."""
    return server.searches.create(body)


@router.get("/searches/{s}", responses=MISSING)
def search(s: Text, server: Shared) -> schemas.SearchState:
    """A search, with the questions that it asks."""
    return server.searches.state(s)


@router.patch("/searches/{s}", responses=JSON)
def rename_search(s: Text, body: schemas.Rename, server: Shared) -> schemas.SearchInfo:
    """Give a search another name."""
    return server.searches.rename(s, body.name)


@router.delete("/searches/{s}", status_code=204, responses=MISSING)
def delete_search(s: Text, server: Shared) -> None:
    """Forget a search."""
    server.searches.delete(s)


@router.post("/searches/{s}/duplicate", status_code=201, responses=JSON)
def duplicate_search(
    s: Text, server: Shared, body: schemas.Duplicate | None = None
) -> schemas.SearchState:
    """A copy of a search, to go on in another direction."""
    return server.searches.duplicate(s, body or schemas.Duplicate())


@router.post("/searches/{s}/answers", responses=CONFLICT)
def answer(s: Text, body: schemas.SearchAnswers, server: Shared) -> schemas.SearchState:
    """Answer questions, or say something else of pictures that were answered before."""
    return server.searches.answer(s, body)


@router.post("/searches/{s}/undo", responses=CONFLICT)
def undo(s: Text, body: schemas.Change, server: Shared) -> schemas.SearchState:
    """Take back the last round."""
    return server.searches.undo(s, body)


@router.post("/searches/{s}/redo", responses=CONFLICT)
def redo(s: Text, body: schemas.Change, server: Shared) -> schemas.SearchState:
    """Take back the last undo."""
    return server.searches.redo(s, body)


@router.put("/searches/{s}/settings", responses=CONFLICT)
def change_settings(s: Text, body: schemas.SettingsChange, server: Shared) -> schemas.SearchState:
    """Ask in another way from now on."""
    return server.searches.change_settings(s, body)


@router.get("/searches/{s}/results", responses=MISSING)
def results(
    s: Text,
    server: Shared,
    offset: Offset = 0,
    limit: Limit = 200,
    sort: Sort = "probability",
    threshold: Annotated[float | None, Query(ge=0, le=1)] = None,
    folder: Annotated[str | None, Query(max_length=4096)] = None,
    first: Annotated[date | None, Query(alias="from")] = None,
    last: Annotated[date | None, Query(alias="to")] = None,
) -> schemas.ResultPage:
    """A window on the results, the best first, the latest first, or by name.

    Those of at least a probability, in a folder, and taken from one day to another.
    """
    arrangement = Arrangement(sort, threshold, folder, first, last)
    with server.searches.memory.open(s) as opened:
        return views.results(opened, offset, limit, arrangement)


@router.get("/searches/{s}/stacks/{picture}", responses=MISSING)
def stack(s: Text, picture: PictureId, server: Shared) -> schemas.ResultPage:
    """All pictures that show the same thing as one does, the best first."""
    with server.searches.memory.open(s) as opened:
        return views.stack(opened, picture)


@router.get("/searches/{s}/thresholds", responses=MISSING)
def thresholds(s: Text, server: Shared) -> schemas.Thresholds:
    """How many pictures are above each probability, and what to expect of them."""
    with server.searches.memory.open(s) as opened:
        return views.thresholds(opened)


@router.get("/searches/{s}/advice", responses=MISSING)
def advice(
    s: Text, server: Shared, threshold: Annotated[float | None, Query(ge=0, le=1)] = None
) -> schemas.AdviceAt:
    """Whether to go on: what the next answers are likely to bring.

    Without a threshold, it is the one at which precision and recall are expected to be the same.
    """
    return server.searches.advice(s, threshold)


@router.get("/searches/{s}/history", responses=MISSING)
def history(s: Text, server: Shared) -> schemas.History:
    """All rounds, those that were undone among them."""
    with server.searches.memory.open(s) as opened:
        return views.history(opened)


@router.get("/searches/{s}/explanation/{picture}", responses=MISSING)
def explanation(s: Text, picture: PictureId, server: Shared) -> schemas.Explanation:
    """The labelled pictures that pull a picture up, and those that push it down."""
    with server.searches.memory.open(s) as opened:
        return views.explanation(opened, picture)


@router.get(
    "/searches/{s}/export",
    responses={
        **MISSING,
        200: {
            "content": {kind: {} for kind in exports.TYPES.values()},
            "headers": {
                exports.LEFT_OUT: {
                    "description": "How many pictures are not in the list of paths, for there are "
                    "line breaks in theirs. The format paths0 has them all.",
                    "schema": {"type": "integer"},
                }
            },
        },
    },
    response_class=Response,
)
def export(
    s: Text,
    server: Shared,
    format: Literal["csv", "json", "paths", "paths0", "zip"] = "csv",  # noqa: A002  (in the API)
    threshold: Annotated[float | None, Query(ge=0, le=1)] = None,
    top: Annotated[int | None, Query(ge=1, le=2**31)] = None,
    stacks: Literal["whole", "best"] | None = None,
) -> Response:
    """Results to keep, the best first. Paths have a line each, or in paths0 a NUL after each."""
    with server.searches.memory.open(s) as opened:
        live = opened.live
        if not live.search.model.is_informed:
            raise RefusedError("the pictures that this search began with have gone")
        if format not in ("csv", "json") and not live.collection.has_files:
            raise RefusedError(f"the format {format} needs files, but the pictures have none")
        taken = cut(live.collection, live.search, top, threshold, stacks)
    # Others may go on with the search while the table, or a picture after the other, is made.
    listed = taken.found(live.collection)
    return exports.download(format, listed, live.collection.root, f"ital-{s}")
