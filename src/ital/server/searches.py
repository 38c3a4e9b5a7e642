"""Searches: rows of the database, and models in memory that are rebuilt from them when needed."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from ital import insight, ranking, strategies
from ital.checks import IntArray
from ital.history import Event
from ital.search import Search
from ital.server import schemas
from ital.server.collections import Served
from ital.server.database import Database, EventRow, RequestRow, SearchRow, UploadRow, now
from ital.server.metrics import ROUND_SECONDS, SEARCHES_IN_MEMORY
from ital.user import UserModel

LABELS: dict[schemas.Answer, int] = {"yes": 1, "no": -1, "unsure": 0}
ANSWERS: dict[int, schemas.Answer] = {label: answer for answer, label in LABELS.items()}


class UnknownError(LookupError):
    """There is no such search, picture or upload."""


class ConflictError(Exception):
    """A change was made on a revision that is no longer the current one."""


@dataclass
class Live:
    """A search in memory, at a revision, over a version of its collection."""

    search: Search
    revision: int
    version: int
    batch: IntArray | None = None
    order: IntArray | None = None
    """All rows, the best first."""
    thresholds: list[insight.Threshold] | None = None
    change: float | None = None
    """Which part of the matches the last change of labels has changed."""

    def bytes(self) -> int:
        """What it holds beyond the features, about: rows of eight bytes for each label."""
        return 8 * len(self.search) * (len(self.search.model.labels) + 6)


@dataclass
class _Slot:
    lock: threading.Lock = field(default_factory=threading.Lock)
    live: Live | None = None


class Searches:
    """All searches of a server."""

    def __init__(self, database: Database, served: dict[str, Served], budget: int) -> None:
        self._database, self._served, self._budget = database, served, budget
        self._slots: OrderedDict[str, _Slot] = OrderedDict()
        self._lock = threading.Lock()
        # A search uses all cores. Two at once take as long as one after the other, and all wait.
        self._turn = threading.Semaphore()

    # What there is

    def all(self, collection: str | None) -> list[schemas.SearchInfo]:
        with self._database.reading() as session:
            query = select(SearchRow).order_by(SearchRow.updated.desc())
            if collection is not None:
                query = query.where(SearchRow.collection == collection)
            return [_info(row, _events(session, row)) for row in session.scalars(query)]

    def state(self, search: str) -> schemas.SearchState:
        with self._open(search) as (row, events, live):
            return self._state(row, events, live)

    def create(self, request: schemas.SearchCreate) -> schemas.SearchState:
        """A new search. Nothing is kept of one that cannot be begun."""
        served = self.served(request.collection)
        _check(request.settings)
        labels: dict[str, int] = {}
        for ids, label in ((request.relevant, 1), (request.irrelevant, -1)):
            for identifier in ids:
                if identifier not in served.collection.pool:
                    raise UnknownError(f"there is no picture {identifier}")
                if labels.setdefault(str(identifier), label) != label:
                    raise ValueError(f"picture {identifier} cannot be relevant and irrelevant")
        uploads = {str(-1 - place): name for place, name in enumerate(request.uploads)}
        labels |= dict.fromkeys(uploads, 1)
        if not labels:
            raise ValueError("a search needs at least one picture to begin with")
        row = SearchRow(
            id=secrets.token_urlsafe(12),
            collection=served.id,
            name=request.name or "",
            settings=request.settings.model_dump(),
            seed=secrets.randbits(31),
            revision=1,
            position=1,
        )
        with self._database.writing() as session:
            for name in uploads.values():
                self._upload(session, served, name)
            if not row.name:
                count = len(session.scalars(select(SearchRow.id)).all())
                row.name = f"Search {count + 1}"
            session.add(row)
            session.flush()
            session.add(
                EventRow(search=row.id, number=1, kind="query", labels=labels, uploads=uploads)
            )
        self._remember(row.id, 1)
        return self.state(row.id)

    def duplicate(self, search: str) -> schemas.SearchState:
        """A copy, with all that can be undone and redone."""
        with self._database.writing() as session:
            row = self._row(session, search)
            copy = SearchRow(
                id=secrets.token_urlsafe(12),
                collection=row.collection,
                name=f"{row.name} (copy)"[:200],
                settings=row.settings,
                seed=row.seed,
                revision=row.revision,
                position=row.position,
            )
            session.add(copy)
            session.flush()
            for one in _events(session, row):
                session.add(
                    EventRow(
                        search=copy.id,
                        number=one.number,
                        kind=one.kind,
                        labels=one.labels,
                        uploads=one.uploads,
                        insight=one.insight,
                        created=one.created,
                    )
                )
        return self.state(copy.id)

    def rename(self, search: str, name: str) -> schemas.SearchInfo:
        with self._database.writing() as session:
            row = self._row(session, search, change=True)
            row.name, row.updated = name, now()
            return _info(row, _events(session, row))

    def delete(self, search: str) -> None:
        with self._database.writing() as session:
            session.delete(self._row(session, search))
        with self._lock:
            self._slots.pop(search, None)

    # What changes them

    def answer(self, search: str, request: schemas.Answers) -> schemas.SearchState:
        """Learn answers, and ask the next questions."""

        def change(session: Session, row: SearchRow) -> None:
            pool = self.served(row.collection).collection.pool
            for identifier in request.answers:
                if identifier not in pool:
                    raise UnknownError(f"there is no picture {identifier}")
            session.execute(
                delete(EventRow).where(EventRow.search == search, EventRow.number > row.position)
            )
            row.position += 1
            labels = {str(one): LABELS[answer] for one, answer in request.answers.items()}
            session.add(EventRow(search=search, number=row.position, kind="answer", labels=labels))

        with ROUND_SECONDS.time():
            return self._change(search, request, change)

    def undo(self, search: str, request: schemas.Change) -> schemas.SearchState:
        def change(session: Session, row: SearchRow) -> None:
            del session
            if row.position <= 1:
                raise ValueError("there is nothing to undo")
            row.position -= 1

        return self._change(search, request, change)

    def redo(self, search: str, request: schemas.Change) -> schemas.SearchState:
        def change(session: Session, row: SearchRow) -> None:
            if row.position >= len(_events(session, row)):
                raise ValueError("there is nothing to redo")
            row.position += 1

        return self._change(search, request, change)

    def settle(self, search: str, request: schemas.SettingsChange) -> schemas.SearchState:
        """Ask in another way from now on."""
        _check(request.settings)

        def change(session: Session, row: SearchRow) -> None:
            del session
            row.settings = request.settings.model_dump()

        return self._change(search, request, change)

    def _change(
        self,
        search: str,
        request: schemas.Change,
        change: Callable[[Session, SearchRow], None],
    ) -> schemas.SearchState:
        """Make a change once: on disk first, then in memory."""
        applied = False
        with self._database.writing() as session:
            row = self._row(session, search, change=True)
            known = session.get(RequestRow, (search, request.key)) is not None
            if not known:
                if request.revision != row.revision:
                    raise ConflictError
                change(session, row)
                row.revision += 1
                row.updated = now()
                session.add(RequestRow(search=search, key=request.key))
                applied, number = True, row.position
        if applied:
            self._remember(search, number)
        return self.state(search)

    def _remember(self, search: str, number: int) -> None:
        """Note where the search stands after an event, for the curve that the page shows."""
        with self._open(search) as (_, _, live):
            seen, change = insight.insight(live.search), live.change
        if seen is None:
            return
        with self._database.writing() as session:
            event = session.get(EventRow, (search, number))
            if event is not None and event.insight is None:
                event.insight = {**vars(seen), "change": 1.0 if change is None else change}

    # What they know

    def results(self, search: str, offset: int, limit: int) -> schemas.ResultPage:
        with self._open(search) as (row, _, live):
            model = live.search.model
            if live.order is None:
                live.order = ranking.largest(model.mean, None)
            rows = live.order[offset : offset + limit]
            probabilities = model.probabilities(rows)
            labels = live.search.labels
            collection = self.served(row.collection).collection
            found = [
                schemas.Result(
                    id=identifier,
                    name=collection.paths[place],
                    rank=offset + number + 1,
                    probability=float(probabilities[number]),
                    mean=float(model.mean[place]),
                    label=_answer(labels, identifier),
                )
                for number, (place, identifier) in enumerate(
                    zip(rows.tolist(), model.pool.identifiers(rows).tolist(), strict=True)
                )
            ]
            return schemas.ResultPage(
                revision=row.revision, total=len(live.search), offset=offset, results=found
            )

    def thresholds(self, search: str) -> schemas.Thresholds:
        with self._open(search) as (row, _, live):
            if live.thresholds is None:
                live.thresholds = insight.thresholds(live.search)
            points = [schemas.ThresholdInfo(**vars(one)) for one in live.thresholds]
            return schemas.Thresholds(revision=row.revision, thresholds=points)

    def history(self, search: str) -> schemas.History:
        with self._database.reading() as session:
            row = self._row(session, search)
            rounds = [
                schemas.HistoryRound(
                    number=event.number,
                    kind="query" if event.kind == "query" else "answer",
                    created=event.created,
                    undone=event.number > row.position,
                    labels=[
                        self._labelled(row, int(image), label, event.uploads)
                        for image, label in event.labels.items()
                    ],
                )
                for event in _events(session, row)
            ]
            return schemas.History(revision=row.revision, rounds=rounds)

    def explanation(self, search: str, picture: int) -> schemas.Explanation:
        with self._open(search) as (row, events, live):
            pool = live.search.model.pool
            place = pool.row(picture)
            if place is None:
                raise UnknownError(f"there is no picture {picture}")
            parts = live.search.explain(picture)
            total = sum(abs(part) for part in parts.values()) or 1.0
            counted = events[: row.position]
            labels = {image: label for one in counted for image, label in one.labels.items()}
            uploads = {name: upload for one in counted for name, upload in one.uploads.items()}
            influences = [
                schemas.Influence(
                    **self._labelled(row, image, labels[str(image)], uploads).model_dump(),
                    share=part / total,
                )
                for image, part in parts.items()
            ]
            return schemas.Explanation(
                revision=row.revision,
                probability=float(live.search.model.probabilities(np.array([place]))[0]),
                mean=float(live.search.model.mean[place]),
                influences=influences,
            )

    @contextmanager
    def opened(self, search: str) -> Iterator[tuple[Served, Search]]:
        """The collection of a search and itself, for as long as the block lasts."""
        with self._open(search) as (row, _, live):
            yield self.served(row.collection), live.search

    # How they are held

    def served(self, collection: str) -> Served:
        if collection not in self._served:
            raise UnknownError(f"there is no collection {collection}")
        return self._served[collection]

    @contextmanager
    def _open(self, search: str) -> Iterator[tuple[SearchRow, list[EventRow], Live]]:
        """A search in memory, as the database has it, and nobody else at it.

        The events are all there are; those that were undone come last.
        """
        with self._lock:
            slot = self._slots.setdefault(search, _Slot())
            self._slots.move_to_end(search)
        with slot.lock:
            with self._database.reading() as session:
                row = self._row(session, search)
                events = _events(session, row)
                served = self.served(row.collection)
                vectors = {
                    name: self._upload(session, served, name)
                    for event in events
                    for name in event.uploads.values()
                }
            self._bring_up_to_date(slot, row, events[: row.position], vectors, served)
            assert slot.live is not None
            yield row, events, slot.live
        self._forget_the_oldest(search)

    def _bring_up_to_date(
        self,
        slot: _Slot,
        row: SearchRow,
        events: list[EventRow],
        vectors: dict[str, Any],
        served: Served,
    ) -> None:
        live, version = slot.live, served.version
        if live is not None and (live.revision, live.version) == (row.revision, version):
            return
        settings = schemas.Settings(**row.settings)
        user = _user(settings.user, events)
        replayed = [_event(one, vectors) for one in events]
        strategy = strategies.create(settings.strategy).for_user(user)
        if (
            live is None
            or live.version != version
            or live.search.strategy != strategy
            or settings.length_scale not in (None, live.search.model.kernel.length_scale)
        ):
            pool = served.collection.pool
            scale = settings.length_scale
            search = Search(pool, strategy, user, scale, seed=row.seed)
            live = Live(search, row.revision, version)
        else:
            live = Live(live.search, row.revision, version)
        model = live.search.model
        before = model.mean.copy() if insight.insight(live.search) else None
        # Until the way is gone, what is in memory is neither the old nor the new.
        slot.live = None
        with self._turn:
            live.search.replay(replayed)
        live.change = None if before is None else insight.change(before, model.mean)
        slot.live = live

    def _forget_the_oldest(self, but: str) -> None:
        with self._lock:
            held = {name: slot.live.bytes() for name, slot in self._slots.items() if slot.live}
            total = sum(held.values())
            for name in list(self._slots):
                if total <= self._budget:
                    break
                slot = self._slots[name]
                if name != but and slot.lock.acquire(blocking=False):
                    slot.live = None
                    slot.lock.release()
                    total -= held.pop(name, 0)
                    del self._slots[name]
            SEARCHES_IN_MEMORY.set(len(held))

    def _state(self, row: SearchRow, events: list[EventRow], live: Live) -> schemas.SearchState:
        settings = schemas.Settings(**row.settings)
        collection = self.served(row.collection).collection
        if live.batch is None:
            labelled = len(live.search.labels)
            if labelled >= len(live.search) or not live.search.model.labels:
                live.batch = np.empty(0, np.int64)
            else:
                with self._turn:
                    live.batch = live.search.suggest(settings.batch)
        places = [collection.pool.row(int(one)) for one in live.batch]
        batch = [
            schemas.Picture(id=int(one), name=collection.paths[place])
            for one, place in zip(live.batch, places, strict=True)
            if place is not None
        ]
        progress = [
            schemas.Progress(
                round=number,
                relevant=one.insight["relevant"],
                certainty=one.insight["certainty"],
                change=one.insight["change"],
            )
            for number, one in enumerate(events[: row.position])
            if one.insight is not None
        ]
        return schemas.SearchState(
            **_info(row, events).model_dump(),
            settings=settings,
            batch=batch,
            can_undo=row.position > 1,
            can_redo=row.position < len(events),
            progress=progress,
            summary=_summary(progress[-1] if progress else None, len(batch)),
        )

    def _labelled(
        self, row: SearchRow, image: int, label: int, uploads: dict[str, str]
    ) -> schemas.Labelled:
        if image < 0:
            name, identifier, upload = "a picture from outside", None, uploads.get(str(image))
        else:
            collection = self.served(row.collection).collection
            place = collection.pool.row(image)
            name = "a picture that has gone" if place is None else collection.paths[place]
            identifier, upload = image, None
        return schemas.Labelled(id=identifier, name=name, upload=upload, label=ANSWERS[label])

    def _row(self, session: Session, search: str, change: bool = False) -> SearchRow:
        row = session.get(SearchRow, search, with_for_update=change or None)
        if row is None:
            raise UnknownError(f"there is no search {search}")
        return row

    def _upload(self, session: Session, served: Served, name: str) -> Any:
        upload = session.get(UploadRow, name)
        if upload is None or upload.collection != served.id:
            raise UnknownError(f"there is no uploaded picture {name}")
        vector = np.frombuffer(upload.vector, np.float32).astype(float)
        if upload.kind != served.collection.pool.fingerprint:
            raise ValueError("the collection is described by another model since the upload")
        return vector


def _check(settings: schemas.Settings) -> None:
    if settings.strategy not in strategies.names():
        known = ", ".join(strategies.names())
        raise ValueError(f"strategy must be one of {known}, got {settings.strategy!r}")


def _events(session: Session, row: SearchRow) -> list[EventRow]:
    query = select(EventRow).where(EventRow.search == row.id).order_by(EventRow.number)
    return list(session.scalars(query))


def _event(row: EventRow, vectors: dict[str, Any]) -> Event:
    return Event(
        "query" if row.kind == "query" else "answer",
        {int(image): label for image, label in row.labels.items()},
        {int(image): vectors[name] for image, name in row.uploads.items()},
    )


def _info(row: SearchRow, events: list[EventRow]) -> schemas.SearchInfo:
    labels: dict[str, int] = {}
    for event in events[: row.position]:
        labels |= event.labels
    relevant = [int(image) for image, label in labels.items() if label == 1]
    return schemas.SearchInfo(
        id=row.id,
        name=row.name,
        collection=row.collection,
        created=row.created,
        updated=row.updated,
        revision=row.revision,
        rounds=sum(event.kind == "answer" for event in events[: row.position]),
        relevant=len(relevant),
        irrelevant=sum(label == -1 for label in labels.values()),
        cover=next((image for image in relevant if image >= 0), None),
    )


def _user(settings: schemas.User, events: list[EventRow]) -> UserModel:
    """The user of the settings; or one that skips and errs as often as this one did so far."""
    if not settings.learn:
        return UserModel(settings.p_label, settings.p_mistake)
    said: dict[str, int] = {}
    answers = skips = corrections = 0
    for event in events:
        if event.kind == "answer":
            for image, label in event.labels.items():
                corrections += said.get(image, label) * label == -1
                skips += label == 0
                answers += 1
        said |= event.labels
    # As if eight more questions had been answered, all of them rightly.
    given = answers - skips + 8
    return UserModel(given / (answers + 8), min(0.5, corrections / given))


def _answer(labels: dict[int, bool | None], identifier: int) -> schemas.Answer | None:
    if identifier not in labels:
        return None
    label = labels[identifier]
    return "unsure" if label is None else "yes" if label else "no"


def _summary(progress: schemas.Progress | None, questions: int) -> str:
    """Where the search stands, in a sentence."""
    if progress is None:
        return "Answer a few questions, yes and no, so that there is something to go by."
    count = round(progress.relevant)
    match = "One picture matches" if count == 1 else f"About {count:,} pictures match"
    if not questions:
        return f"{match}; there is nothing left to ask."
    words = ((0.05, "will change little"), (0.3, "will still change some of them"))
    teach = next((word for most, word in words if progress.change < most), "will change much")
    return f"{match}; the next round {teach}."
