"""The HTTP API, under /api/v1."""

from fastapi import APIRouter

from ital.server import schemas
from ital.server.routes import (
    audits,
    collections,
    datasets,
    labels,
    pictures,
    savefiles,
    searches,
)

api = APIRouter(
    prefix="/api/v1", responses={400: {"model": schemas.Problem}, 422: {"model": schemas.Problem}}
)
for part in (collections, pictures, searches, labels, savefiles, datasets, audits):
    api.include_router(part.router)
