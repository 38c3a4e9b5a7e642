"""Searches as the classes of a data set."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from ital.server import datasets, exports, schemas
from ital.server.dependencies import MISSING, OneOf, Shared

router = APIRouter(prefix="/collections/{c}", tags=["data sets"])

Chosen = Annotated[list[schemas.Key], Query(alias="search", min_length=1, max_length=100)]
Split = Annotated[float, Query(ge=0, lt=1)]


@router.get("/classes", responses=MISSING)
def classes(
    served: OneOf,
    server: Shared,
    searches: Chosen,
    conflicts: schemas.Conflicts | None = None,
    split: Split = 0.0,
) -> schemas.Classes:
    """What searches would be as classes: how many pictures each has, and which are of several."""
    collection = served.collection
    claimed = datasets.claims(server.searches.memory, served.id, collection, searches)
    return datasets.classes(claimed, collection, conflicts, split)


@router.get(
    "/dataset",
    responses={**MISSING, 200: {"content": {exports.TYPES["zip"]: {}}}},
    response_class=Response,
)
def data_set(
    served: OneOf,
    server: Shared,
    searches: Chosen,
    layout: schemas.Layout = "folders",
    conflicts: schemas.Conflicts | None = None,
    split: Split = 0.0,
) -> Response:
    """A labelled data set with a class for each search, as a ZIP.

    Where several claim a picture, it is refused unless ``conflicts`` says what is to be done.
    """
    collection = served.collection
    claimed = datasets.claims(server.searches.memory, served.id, collection, searches)
    return datasets.download(claimed, collection, layout, conflicts, split)
