"""What can be done to searches. Every change is on disk before it is acknowledged."""

from __future__ import annotations

import hashlib
import logging
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Literal

from sqlalchemy import delete, or_, select
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.orm import Session

from ital import strategies
from ital.answers import Answer
from ital.checks import Identifier
from ital.collection import Collection
from ital.groups import Groups
from ital.history import Asked, Event, outside
from ital.server import saved, schemas, views
from ital.server.database import (
    AuditRow,
    Database,
    EventRow,
    RequestRow,
    SearchRow,
    UploadRow,
    events_of,
    now,
    search_of,
    upload_of,
)
from ital.server.memory import Memory, Opened
from ital.server.metrics import ROUND_SECONDS
from ital.server.problems import ConflictError, RefusedError, UnknownError
from ital.server.replay import noted, vector_of
from ital.server.served import ServedCollection

_UNUSED = timedelta(days=1)
"""How long an uploaded picture is kept that no search has."""

_MANY = 24
"""Answers that are learnt before they are acknowledged, as many as a batch may have."""

_log = logging.getLogger("ital.server")

_Change = Callable[[Session, SearchRow], None]


class Searches:
    """All searches of a server."""

    def __init__(
        self, database: Database, served: Mapping[str, ServedCollection], budget: int
    ) -> None:
        self._database = database
        self.memory = Memory(database, served, budget)

    def all(self, collection: str | None) -> list[schemas.SearchInfo]:
        """Searches, the latest first."""
        with self._database.reading() as session:
            query = select(SearchRow).order_by(SearchRow.updated.desc())
            if collection is not None:
                query = query.where(SearchRow.collection == collection)
            rows = session.scalars(query).all()
            events: dict[str, list[EventRow]] = {row.id: [] for row in rows}
            for event in session.scalars(select(EventRow).order_by(EventRow.number)):
                if event.search in events:
                    events[event.search].append(event)
            return [views.info(row, events[row.id]) for row in rows]

    def state(self, search: str) -> schemas.SearchState:
        """A search with its questions, once all that was said is learnt."""
        with self.memory.open(search) as opened:
            self._suggest(opened)
            state = views.state(opened)
            self._note(opened)
            return state

    def advice(self, search: str, threshold: float | None) -> schemas.AdviceAt:
        """Whether to go on, for somebody who would take the pictures above a threshold."""
        with self.memory.open(search) as opened:
            self._suggest(opened)
            return views.advice(opened, threshold)

    def create(self, request: schemas.SearchCreate) -> schemas.SearchState:
        """A new search. Nothing is kept of one that cannot be begun."""
        _check(request.settings)
        collection = self.memory.require(request.collection)
        labels: dict[str, int] = {}
        for ids, label in ((request.relevant, 1), (request.irrelevant, -1)):
            for identifier in ids:
                if Identifier(identifier) not in collection.pool:
                    raise UnknownError(f"there is no picture {identifier}")
                if labels.setdefault(str(identifier), label) != label:
                    raise RefusedError(f"picture {identifier} cannot be relevant and irrelevant")
        called = request.name or (request.text or "")[:200].strip()
        uploads = {str(outside(place)): name for place, name in enumerate(request.uploads)}
        labels |= dict.fromkeys(uploads, 1)
        if not labels and request.text is None:
            raise RefusedError("a search needs words or at least one picture to begin with")
        _check_words(collection, request.text)

        def begin(session: Session, row: SearchRow) -> None:
            for name in uploads.values():
                upload = upload_of(session, name, row.collection, keep=True)
                if vector_of(upload, collection) is None:
                    raise RefusedError(
                        "the collection is described by another model since the upload"
                    )
            row.name = called or _new_name(session, row.collection)
            session.add(row)
            session.flush()
            session.add(
                EventRow(search=row.id, number=1, kind="query", labels=labels, uploads=uploads)
            )

        row = _new_row(request.collection, request.settings, request.text)
        return self._begin(row, request, "create", begin)

    def begin_with(
        self, collection: str, name: str | None, labels: dict[str, int], key: str | None, of: str
    ) -> schemas.SearchState:
        """A new search that begins with labels from a file, which ``of`` tells from others."""

        def begin(session: Session, row: SearchRow) -> None:
            row.name = name or _new_name(session, collection)
            session.add(row)
            session.flush()
            session.add(EventRow(search=row.id, number=1, kind="query", labels=labels))

        row = _new_row(collection, schemas.Settings())
        return self._begin(row, schemas.Keyed(key=key), f"labels {of}", begin)

    def collection_of(self, search: str) -> str:
        """The collection that a search is over."""
        with self._database.reading() as session:
            return search_of(session, search).collection

    def open_saved(self, request: schemas.SearchFile, data: bytes) -> schemas.SearchState:
        """A new search of what the library saved, with all that can be undone."""
        collection = self.memory.require(request.collection)
        found = saved.read(data, collection)
        # A search that begins with words may have been told nothing yet.
        events = found.events or [Event("query", {})]

        def begin(session: Session, row: SearchRow) -> None:
            row.name = request.name or _new_name(session, row.collection)
            session.add(row)
            session.flush()
            saved.add_events(session, row, events, collection)

        row = SearchRow(
            collection=request.collection,
            settings=saved.settings_of(found, collection).model_dump(),
            seed=found.settings["seed"] % 2**31,
            text=saved.text_of(found),
            revision=1,
            position=len(events),
        )
        return self._begin(row, request, "load", begin)

    def file(self, search: str) -> tuple[str, str]:
        """The name of a search, and the file that the library would save of it."""
        with self.memory.open(search) as opened:
            return opened.row.name, opened.live.search.to_json()

    def duplicate(self, search: str, request: schemas.Duplicate) -> schemas.SearchState:
        """A copy, with all that can be undone and redone."""
        copy = SearchRow()

        def begin(session: Session, row: SearchRow) -> None:
            of = search_of(session, search, change=True)
            self.memory.require(of.collection)
            row.name = f"{of.name} (copy)"[:200]
            for column in ("collection", "settings", "seed", "text", "revision", "position"):
                setattr(row, column, getattr(of, column))
            session.add(row)
            session.flush()
            columns = ("number", "kind", "labels", "uploads", "asked", "insight", "created")
            for event in events_of(session, of):
                values = {column: getattr(event, column) for column in columns}
                session.add(EventRow(search=row.id, **values))

        return self._begin(copy, request, f"duplicate {search}", begin)

    def rename(self, search: str, name: str) -> schemas.SearchInfo:
        with self._database.writing() as session:
            row = search_of(session, search, change=True)
            row.name, row.updated = name, now()
            return views.info(row, events_of(session, row))

    def delete(self, search: str) -> None:
        """Forget a search, and the uploaded pictures that only it had."""
        with self._database.writing() as session:
            row = search_of(session, search, change=True)
            own = {name for event in events_of(session, row) for name in event.uploads.values()}
            session.delete(row)
            session.flush()
            # Whoever begins a search with one of them has to wait, or is waited for.
            unneeded = or_(UploadRow.id.in_(own), UploadRow.created < now() - _UNUSED)
            candidates = session.scalars(select(UploadRow.id).where(unneeded).with_for_update())
            names = set(candidates)
            for uploads in session.scalars(select(EventRow.uploads)) if names else ():
                names -= set(uploads.values())
            session.execute(delete(UploadRow).where(UploadRow.id.in_(names)))
        self.memory.forget(search)

    def answer(self, search: str, request: schemas.SearchAnswers) -> schemas.SearchState:
        """Learn answers, and ask the next questions."""

        def change(session: Session, row: SearchRow) -> None:
            collection = self.memory.require(row.collection)
            for identifier in request.answers:
                # What is said of a picture that has left since it was asked about is kept, too.
                if not collection.ever_had(identifier):
                    raise UnknownError(f"there is no picture {identifier}")
            labels = {one: Answer.of(answer).number for one, answer in request.answers.items()}
            groups = (
                None if request.alone else self.memory.served(row.collection).groups(collection)
            )
            if groups is not None:
                labels = _of_stacks(labels, said(session, row), groups, collection)
            learn(session, row, {str(one): label for one, label in labels.items()}, asked)

        # Before anything is locked in the database: others note there what they have in memory.
        asked = self.memory.how_asked(search, request.revision, request.answers)
        begun = time.perf_counter()
        state = self.change(search, request, "answer", change)
        ROUND_SECONDS.observe(time.perf_counter() - begun)
        return state

    def undo(self, search: str, request: schemas.Change) -> schemas.SearchState:
        """Take back the last round."""

        def change(session: Session, row: SearchRow) -> None:
            del session
            if row.position <= 1:
                raise RefusedError("there is nothing to undo")
            row.position -= 1

        return self.change(search, request, "undo", change)

    def redo(self, search: str, request: schemas.Change) -> schemas.SearchState:
        """Take back the last undo."""

        def change(session: Session, row: SearchRow) -> None:
            if row.position >= len(events_of(session, row)):
                raise RefusedError("there is nothing to redo")
            row.position += 1

        return self.change(search, request, "redo", change)

    def change_settings(self, search: str, request: schemas.SettingsChange) -> schemas.SearchState:
        """Ask in another way from now on."""
        _check(request.settings)

        def change(session: Session, row: SearchRow) -> None:
            del session
            row.settings = request.settings.model_dump()

        return self.change(search, request, "settle", change)

    def _begin(
        self, row: SearchRow, request: schemas.Keyed, what: str, begin: _Change
    ) -> schemas.SearchState:
        """Begin a search once, however often that is asked for with the same key."""
        key = request.key or secrets.token_urlsafe(12)
        # The name is that of the key, so that a second search of the key cannot be.
        row.id = hashlib.sha256(f"{what} {key}".encode()).hexdigest()[:16]
        digest = _digest(what, request)
        try:
            with self._database.writing() as session:
                if not _is_known(session, row.id, key, digest):
                    begin(session, row)
                    session.add(RequestRow(search=row.id, key=key, digest=digest))
        except IntegrityError:
            with self._database.reading() as session:
                if not _is_known(session, row.id, key, digest):
                    raise
        return self.state(row.id)

    def change(
        self, search: str, request: schemas.Change, what: str, change: _Change
    ) -> schemas.SearchState:
        """Make a change once: on disk first, then in memory.

        One of many answers is acknowledged in between. It is learnt when the search is asked for,
        and only then is counted where the search stands.
        """
        digest = _digest(what, request)
        with self._database.writing() as session:
            row = search_of(session, search, change=True)
            self.memory.require(row.collection)
            before = row.position
            if not _is_known(session, search, request.key, digest):
                if request.revision != row.revision:
                    raise ConflictError
                change(session, row)
                row.revision += 1
                row.updated = now()
                session.add(RequestRow(search=search, key=request.key, digest=digest))
            events = events_of(session, row)
            done = events[min(before, row.position) : max(before, row.position)]
            if sum(len(event.labels) for event in done) > _MANY:
                audit = session.get(AuditRow, row.id)
                return views.acknowledged(row, events, audit is not None)
        with self.memory.open(search) as opened:
            self._suggest(opened)
            return views.asking(opened)

    def _note(self, opened: Opened) -> None:
        """Note where a search stands after its last round, for the curves that the page shows."""
        row, event, relevant = opened.row, opened.counted[-1], opened.live.relevant
        if event.insight is not None or relevant is None:
            return
        try:
            with self._database.writing() as session:
                latest = session.get(SearchRow, row.id, with_for_update=True)
                kept = session.get(EventRow, (row.id, event.number))
                if latest is not None and latest.revision == row.revision and kept is not None:
                    kept.insight = views.standing(relevant)
        except SQLAlchemyError:
            # What was said is on disk, and that is what is acknowledged.
            _log.exception("where the search %s stands was not noted", row.id)

    def _suggest(self, opened: Opened) -> None:
        self.memory.suggest(opened.live, schemas.Settings(**opened.row.settings).batch)


def learn(
    session: Session,
    row: SearchRow,
    labels: dict[str, int],
    asked: Mapping[Identifier, Asked],
    kind: Literal["query", "answer"] = "answer",
    audit: int | None = None,
) -> None:
    """Add a round of answers, to an audit or not, or examples, in the place of what was undone."""
    before = said(session, row)
    if row.text is None and any(before.values()) and not any((before | labels).values()):
        raise RefusedError("one picture must stay a yes or a no: all would be unsure")
    undone = (EventRow.search == row.id, EventRow.number > row.position)
    session.execute(delete(EventRow).where(*undone))
    row.position += 1
    number = row.position
    event = EventRow(search=row.id, number=number, kind=kind, labels=labels, audit=audit)
    event.asked = noted({one: how for one, how in asked.items() if str(one) in labels})
    session.add(event)


def said(session: Session, row: SearchRow) -> dict[str, int]:
    """What counts of all that was said, by picture."""
    counted = events_of(session, row)[: row.position]
    return {image: label for one in counted for image, label in one.labels.items()}


def _of_stacks(
    labels: dict[int, int], said: Mapping[str, int], groups: Groups, collection: Collection
) -> dict[int, int]:
    """Labels by which whole stacks come to be answered as one picture of each is.

    If something was said of a stack before, that is what changes: a label for one more of its
    pictures would have the model take one answer for two. Several pictures of one stack at once
    are each for themselves.
    """
    rows = {image: collection.pool.row(Identifier(image)) for image in labels}
    named = Counter(groups.first[row] for row in rows.values() if row is not None)
    meant: dict[int, int] = {}
    for image, label in labels.items():
        row, known = rows[image], []
        if row is not None and named[groups.first[row]] == 1:
            stack = collection.pool.identifiers(groups.members(row)).tolist()
            known = [one for one in stack if str(one) in said]
        meant |= dict.fromkeys(known or [image], label)
    return meant


def _check(settings: schemas.Settings) -> None:
    if settings.strategy not in strategies.names():
        known = ", ".join(strategies.names())
        raise RefusedError(f"strategy must be one of {known}, got {settings.strategy!r}")


def _new_row(collection: str, settings: schemas.Settings, text: str | None = None) -> SearchRow:
    return SearchRow(
        collection=collection,
        settings=settings.model_dump(),
        seed=secrets.randbits(31),
        text=text,
        revision=1,
        position=1,
    )


def _check_words(collection: Collection, text: str | None) -> None:
    try:
        if text is not None:
            collection.direction(text)
    except ValueError as error:
        raise RefusedError(str(error)) from error


def _new_name(session: Session, collection: str) -> str:
    query = select(SearchRow.name).where(SearchRow.collection == collection)
    taken = set(session.scalars(query))
    return next(name for n in range(1, len(taken) + 2) if (name := f"Search {n}") not in taken)


def _digest(what: str, request: schemas.Schema) -> str:
    return hashlib.sha256(f"{what} {request.model_dump_json()}".encode()).hexdigest()


def _is_known(session: Session, search: str, key: str, digest: str) -> bool:
    """Whether a change was made before; keys are for one change only."""
    known = session.get(RequestRow, (search, key))
    if known is not None and known.digest not in (None, digest):
        raise RefusedError(f"key {key} was used for another change")
    return known is not None
