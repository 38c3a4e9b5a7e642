"""From the rows of a search to the search that they lead to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from ital.checks import Identifier
from ital.collection import Collection
from ital.gaussian import FloatArray
from ital.groups import Groups
from ital.history import Asked, Event
from ital.search import Search
from ital.server import schemas
from ital.server.database import EventRow, SearchRow, UploadRow, events_of
from ital.user import UserModel


def searched(
    session: Session, row: SearchRow, collection: Collection, groups: Groups | None = None
) -> Search:
    """The search of a row, over the collection that it is of."""
    search = begun(row.settings, row.seed, row.text, collection, groups)
    events = events_of(session, row)[: row.position]
    lead(search, row.settings, events, vectors_of(session, events, row.collection, collection))
    return search


def begun(
    settings: Mapping[str, Any],
    seed: int,
    text: str | None,
    collection: Collection,
    groups: Groups | None = None,
) -> Search:
    """A search to which nothing was said yet but the words that it begins with, if any."""
    scale = schemas.Settings(**settings).length_scale
    return collection.search(text, length_scale=scale, seed=seed, groups=groups)


def lead(
    search: Search,
    settings: Mapping[str, Any],
    events: Sequence[EventRow],
    vectors: Mapping[str, FloatArray],
) -> None:
    """Lead a search to where events lead under some settings."""
    chosen = schemas.Settings(**settings)
    user = UserModel(chosen.user.p_label, chosen.user.p_mistake)
    search.configure(chosen.strategy, "learn" if chosen.user.learn else user)
    search.replay([_event(one, vectors) for one in events])


def vector_of(upload: UploadRow, collection: Collection) -> FloatArray | None:
    """The embedding of a picture from outside, unless the collection's are now of another kind."""
    if upload.kind != collection.pool.fingerprint:
        return None
    vector: FloatArray = np.frombuffer(upload.vector, np.float32).astype(float)
    return vector


def vectors_of(
    session: Session, events: Sequence[EventRow], served: str, collection: Collection
) -> dict[str, FloatArray]:
    """Of the pictures from outside that can be compared with, by their names."""
    names = {name for event in events for name in event.uploads.values()}
    rows = [session.get(UploadRow, name) for name in names]
    found = {row.id: vector_of(row, collection) for row in rows if row and row.collection == served}
    return {name: vector for name, vector in found.items() if vector is not None}


def noted(asked: Mapping[Identifier, Asked]) -> dict[str, tuple[str | None, float | None]]:
    """How it came to labels, as rows have it."""
    return {str(image): (how.strategy, how.probability) for image, how in asked.items()}


def _event(row: EventRow, vectors: Mapping[str, FloatArray]) -> Event:
    """An event, without the pictures from outside that cannot be compared with any more."""
    outside = {
        Identifier(int(image)): vectors[name]
        for image, name in row.uploads.items()
        if name in vectors
    }
    labels = {Identifier(int(image)): label for image, label in row.labels.items()}
    kept = {image: label for image, label in labels.items() if image >= 0 or image in outside}
    asked = {Identifier(int(image)): Asked(*how) for image, how in (row.asked or {}).items()}
    return Event("query" if row.kind == "query" else "answer", kept, outside, asked)
