"""Searches as the files that the library saves: opened here, to go on in the browser."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.orm import Session

from ital import savefile, strategies
from ital.collection import Collection
from ital.collection.words import Words
from ital.gaussian import FloatArray
from ital.history import Event
from ital.savefile import SavedSearch
from ital.scores import Scores
from ital.search import Search
from ital.server import schemas
from ital.server.database import EventRow, SearchRow, UploadRow
from ital.server.problems import RefusedError, UnknownError
from ital.server.replay import noted

_FIXED = {"base_rate": "learn", "variance": 1.0, "noise": 1e-6}
"""What searches of a server have, all of them."""

_LARGEST = 2**53
"""Of identifiers in the API."""


def read(data: bytes, collection: Collection) -> SavedSearch:
    """A saved search of a collection, if it can be gone on with here."""
    try:
        words = savefile.words(data)
        prior = collection.scores(words) if words else None
        scores = None if prior is None else Scores(prior, len(collection))
        saved = savefile.parse(data, "the file", collection.pool, scores=scores)
        with savefile.broken_if_it_fails("the file"):
            Search(collection.pool, **saved.settings, prior=prior).replay(saved.events)
    except ValueError as error:
        raise RefusedError(str(error)) from error
    labels = {image: label for event in saved.events for image, label in event.labels.items()}
    if not words and not any(labels.values()):
        raise RefusedError("a search needs at least one picture to begin with")
    for image in labels:
        if image > _LARGEST or (image >= 0 and not collection.ever_had(image)):
            raise UnknownError(f"there is no picture {image}")
    return saved


def settings_of(saved: SavedSearch, collection: Collection) -> schemas.Settings:
    """How a saved search asks. What cannot be kept is a reason not to open it."""
    given = saved.settings
    for name, value in _FIXED.items():
        if given[name] != value:
            raise RefusedError(f"{name} must be {value!r} in the browser, got {given[name]!r}")
    strategy = given["strategy"]
    if vars(strategy) != vars(strategies.create(strategy.name)):
        raise RefusedError(
            f"strategy must have the parameters that it has by itself in the browser, got "
            f"{strategy!r}"
        )
    user, scale = given["user"], given["length_scale"]
    known: dict[str, Any] = {"learn": True} if user == "learn" else vars(user)
    own = scale == collection.pool.median_distance()
    try:
        return schemas.Settings(
            strategy=strategy.name,
            user=schemas.User(**known),
            length_scale=None if own else scale,
        )
    except ValidationError as error:
        problem = error.errors()[0]
        raise RefusedError(f"{problem['loc'][-1]}: {problem['msg']}") from error


def text_of(saved: SavedSearch) -> str | None:
    """The line of words that a saved search began with."""
    phrases = saved.settings.get("text") or ()
    line = ", ".join(phrases)
    if phrases and list(Words.of(line).phrases) != list(phrases):
        raise RefusedError(f"text must have no commas within its phrases, got {phrases!r}")
    return line or None


def add_events(
    session: Session, row: SearchRow, events: list[Event], collection: Collection
) -> None:
    """The events of a saved search, as those of a search that is there."""
    for number, event in enumerate(events, start=1):
        uploads = {
            str(name): _upload(session, row.collection, vector, collection)
            for name, vector in event.vectors.items()
        }
        session.add(
            EventRow(
                search=row.id,
                number=number,
                kind=event.kind,
                labels={str(image): label for image, label in event.labels.items()},
                uploads=uploads,
                asked=noted(event.asked),
            )
        )


def _upload(session: Session, served: str, vector: FloatArray, collection: Collection) -> str:
    """The picture from outside that has this embedding, or a new one, of which nothing is seen."""
    with np.errstate(over="ignore"):
        single = vector.astype(np.float32)
    if not np.isfinite(single).all():
        raise RefusedError("vectors must be within the range of 32 bits")
    content, kind = single.tobytes(), collection.pool.fingerprint
    same = select(UploadRow.id).where(
        UploadRow.collection == served, UploadRow.kind == kind, UploadRow.vector == content
    )
    known = session.scalars(same.limit(1).with_for_update(read=True)).first()
    if known is not None:
        return known
    name = secrets.token_urlsafe(12)
    session.add(UploadRow(id=name, collection=served, kind=kind, vector=content, thumbnail=b""))
    session.flush()
    return name
