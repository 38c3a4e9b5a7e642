"""Searches in memory: rebuilt from the database when they are needed, and forgotten again."""

from __future__ import annotations

import functools
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ital import census, insight
from ital.audit import Audit
from ital.checks import Identifier, IntArray
from ital.collection import Collection
from ital.collection.shelf import ModelError
from ital.engine import ClusterError
from ital.gaussian import FloatArray
from ital.groups import Groups
from ital.history import Asked
from ital.insight import Threshold
from ital.intervals import Estimate
from ital.search import Search
from ital.server import schemas
from ital.server.database import (
    AuditRow,
    Database,
    EventRow,
    SearchRow,
    events_of,
    search_of,
)
from ital.server.metrics import SEARCHES_IN_MEMORY
from ital.server.problems import RefusedError, UnknownError
from ital.server.replay import begun, lead, vectors_of
from ital.server.served import ServedCollection

_PATIENCE = 0.3
"""Seconds that an answer waits for a search that is at work, to note how it was asked about."""


@dataclass
class Live:
    """A search in memory, at a revision. What is derived from it is computed once."""

    search: Search
    collection: Collection
    """What it is over. Pictures that came since are not in it."""
    scale: float | None
    """The length scale that was asked for."""
    revision: int
    text_problem: str | None = None
    """Why the words that it began with do not count, if they do not."""
    batch: IntArray | None = None
    audit: tuple[int, Audit] | None = None
    """With the revision at which it began. It outlives changes of the search."""

    def best_of_stacks(self, places: IntArray) -> IntArray:
        """Of each stack the best alone, in the order in which places of the ranking are given."""
        groups, rows = self.search.groups, self.search.ranking().rows
        if groups is None:
            return places
        if len(places) == len(rows):
            best = self.best
        else:
            ranked = np.sort(places)
            best = ranked[groups.best(rows[ranked])]
        return places[np.isin(places, best)]

    @functools.cached_property
    def best(self) -> IntArray:
        """The places of the ranking at which the best of each stack are, ascending."""
        groups, rows = self.search.groups, self.search.ranking().rows
        return np.arange(len(rows)) if groups is None else groups.best(rows)

    def stack(self, row: int) -> IntArray:
        """The rows of a stack, from one of them."""
        groups = self.search.groups
        return np.array([row]) if groups is None else groups.members(row)

    @functools.cached_property
    def relevant(self) -> Estimate | None:
        return insight.relevant(self.search)

    @functools.cached_property
    def outlook(self) -> float | None:
        """What the batch, which must have been chosen, is likely to change."""
        assert self.batch is not None
        return insight.outlook(self.search, self.batch)

    @functools.cached_property
    def thresholds(self) -> list[Threshold]:
        return insight.thresholds(self.search)

    def bytes(self) -> int:
        """What it holds beyond the features, about: rows of eight bytes for each label."""
        asked = 0 if self.batch is None else len(self.batch)
        rows = len(self.search.model.labels) + asked + 7 + (self.audit is not None)
        rows += 2 * bool(self.search.text)  # scores as they are, and standardised
        return 8 * len(self.search) * rows + 4 * census.DRAWS * census.IMAGES


@dataclass(frozen=True)
class Opened:
    """A search as the database has it, and in memory."""

    row: SearchRow
    events: list[EventRow]
    """All there are; those that were undone come last."""
    audit: AuditRow | None
    vectors: Mapping[str, FloatArray]
    """Of the pictures from outside that can be compared with."""
    live: Live

    @property
    def counted(self) -> list[EventRow]:
        """The events that were not undone."""
        return self.events[: self.row.position]

    @property
    def audit_answers(self) -> dict[str, int]:
        """What was said in answer to the audit, as far as it was not taken back."""
        if self.audit is None:
            return {}
        rounds = [one.labels for one in self.counted if one.audit == self.audit.revision]
        return {image: label for labels in rounds for image, label in labels.items()}


@dataclass
class _Slot:
    lock: threading.Lock = field(default_factory=threading.Lock)
    live: Live | None = None


class Memory:
    """The searches that were used last, within a budget of bytes."""

    def __init__(
        self, database: Database, served: Mapping[str, ServedCollection], budget: int
    ) -> None:
        self.budget = budget
        self._database, self._served = database, served
        self._slots: OrderedDict[str, _Slot] = OrderedDict()
        self._lock = threading.Lock()
        # A search uses all cores. Two at once take as long as one after the other, and all wait.
        self._turn = threading.Lock()

    def __len__(self) -> int:
        return len(self._slots)

    def served(self, collection: str) -> ServedCollection:
        if collection not in self._served:
            raise UnknownError(f"there is no collection {collection}")
        return self._served[collection]

    def require(self, collection: str) -> Collection:
        """What can be searched of a collection now; there must be pictures."""
        return self.served(collection).collection

    @contextmanager
    def open(self, search: str) -> Iterator[Opened]:
        """A search, with nobody else at what is in memory of it."""
        for served in self._served.values():
            served.renew()
        with self._lock:
            slot = self._slots.setdefault(search, _Slot())
            self._slots.move_to_end(search)
        with slot.lock:
            try:
                with self._database.reading() as session:
                    row = search_of(session, search)
                    events, audit = events_of(session, row), session.get(AuditRow, row.id)
                    collection = self.require(row.collection)
                    vectors = vectors_of(session, events, row.collection, collection)
            except UnknownError:
                self.forget(search)
                raise
            try:
                live = self._bring_up_to_date(slot, row, collection)
                opened = Opened(row, events, audit, vectors, live)
                self._replay(slot, opened)
                yield opened
            except ClusterError:
                slot.live = None
                self.served(row.collection).failed = True
                raise
        self._make_room(search)

    def suggest(self, live: Live, count: int) -> None:
        """Have a batch to ask about; an empty one if nothing can be asked."""
        if live.batch is not None:
            return
        if not live.search.model.is_informed or not len(live.search.candidates):
            live.batch = np.empty(0, np.int64)
            return
        with self._turn:
            live.batch = insight.likeliest_first(live.search, live.search.suggest(count))

    def how_asked(
        self, search: str, revision: int, images: Iterable[int]
    ) -> dict[Identifier, Asked]:
        """How it comes to answers at a revision, if what is in memory is at that; else nothing.

        Nothing is rebuilt for it, nor does a cluster that fails keep an answer from being kept, or
        whoever has the search learn what was said before.
        """
        with self._lock:
            slot = self._slots.get(search)
        if slot is None:
            return {}
        if not slot.lock.acquire(timeout=_PATIENCE):
            return {}
        try:
            live = slot.live
            if live is not None and live.revision == revision:
                pool, known = live.collection.pool, map(Identifier, images)
                with suppress(ClusterError):
                    return live.search.how_asked([image for image in known if image in pool])
        finally:
            slot.lock.release()
        return {}

    def audit(self, opened: Opened) -> tuple[Audit, str]:
        """The audit of a search, at all that was answered, and the digest of what it draws from.

        It is made from what it began with, and always in the same way: from nothing. A search that
        has come there by other ways might differ in the last digit, and draw other pictures.
        """
        kept, live = opened.audit, opened.live
        if kept is None:
            raise UnknownError(f"there is no audit of search {opened.row.id}")
        if live.audit is None or live.audit[0] != kept.revision:
            events = [EventRow(**event) for event in kept.events]
            search, _ = _begun(kept.settings, opened.row, live.collection)
            with self._turn:
                lead(search, kept.settings, events, opened.vectors)
                if not search.model.is_informed:
                    raise RefusedError("the pictures that this audit began with have gone")
                audit = search.audit(kept.threshold, kept.seed, teach=False)
            live.audit = kept.revision, audit
        audit = live.audit[1]
        digest = _digest(audit, live.collection)
        if kept.digest not in (None, digest):
            raise RefusedError("pictures have come or gone since this audit began: begin another")
        answers = {Identifier(int(one)): label for one, label in opened.audit_answers.items()}
        audit.retract(audit.answers.keys() - answers.keys())
        # Just as many have been drawn as have an answer or are to be looked at.
        audit.ask(len(answers) - len(audit.answers) + kept.batch)
        audit.answer(answers)
        return audit, digest

    def forget(self, search: str) -> None:
        with self._lock:
            self._slots.pop(search, None)
            self._count()

    def _bring_up_to_date(self, slot: _Slot, row: SearchRow, collection: Collection) -> Live:
        """The search in memory, or a new one if that is over other pictures or by other rules."""
        live, scale = slot.live, schemas.Settings(**row.settings).length_scale
        if live is None or live.collection is not collection or live.scale != scale:
            groups = self.served(row.collection).groups(collection)
            search, problem = _begun(row.settings, row, collection, groups)
            return Live(search, collection, scale, revision=-1, text_problem=problem)
        if live.revision == row.revision:
            return live
        return replace(live, revision=-1, batch=None)

    def _replay(self, slot: _Slot, opened: Opened) -> None:
        """Come to where the events lead."""
        live, row, search = opened.live, opened.row, opened.live.search
        if live.revision == row.revision:
            return
        # Until the events are replayed, what is in memory is neither the old nor the new.
        slot.live = None
        with self._turn:
            lead(search, row.settings, opened.counted, opened.vectors)
        live.revision = row.revision
        slot.live = live

    def _make_room(self, but: str) -> None:
        """Forget what was used least recently, and what is over pictures as they no longer are."""
        with self._lock:
            held = {name: slot.live for name, slot in self._slots.items() if slot.live is not None}
            total = sum(live.bytes() for live in held.values())
            for name, live in held.items():
                old = not any(live.collection is one.current for one in self._served.values())
                over = total > self.budget and name != but
                slot = self._slots[name]
                if (old or over) and slot.lock.acquire(blocking=False):
                    total -= live.bytes()
                    slot.live = None
                    slot.lock.release()
                    del self._slots[name]
            self._count()

    def _count(self) -> None:
        SEARCHES_IN_MEMORY.set(sum(slot.live is not None for slot in self._slots.values()))


def _begun(
    settings: Mapping[str, Any],
    row: SearchRow,
    collection: Collection,
    groups: Groups | None = None,
) -> tuple[Search, str | None]:
    """A search with the words that it began with, or without them and why."""
    try:
        return begun(settings, row.seed, row.text, collection, groups), None
    except ModelError as error:  # the pictures are described by another one, or its files have gone
        return begun(settings, row.seed, None, collection, groups), str(error)


def _digest(audit: Audit, collection: Collection) -> str:
    """What tells these strata from others."""
    digest = hashlib.sha256(str([audit.report().taken, *map(len, audit.strata)]).encode())
    for stratum in audit.strata:
        digest.update(np.ascontiguousarray(collection.pool.identifiers(stratum.rows)).data)
    return digest.hexdigest()
