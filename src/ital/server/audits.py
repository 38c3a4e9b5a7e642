"""Audits of searches. Answers are on disk before they are acknowledged, and teach the search."""

from __future__ import annotations

import secrets

from sqlalchemy.orm import Session

from ital.answers import Answer
from ital.audit import Audit
from ital.checks import Identifier
from ital.server import schemas, views
from ital.server.database import AuditRow, Database, SearchRow, events_of
from ital.server.memory import Opened
from ital.server.problems import RefusedError, UnknownError
from ital.server.searches import Searches, learn


class Audits:
    """One for each search that has begun one; the next takes its place."""

    def __init__(self, database: Database, searches: Searches) -> None:
        self._database, self._searches = database, searches

    def begin(self, search: str, request: schemas.AuditBegin) -> schemas.AuditState:
        """Freeze what would be taken now.

        What the search began with and was told until now is copied: it may be taken back later.
        """

        def change(session: Session, row: SearchRow) -> None:
            counted = events_of(session, row)[: row.position]
            columns = ("kind", "labels", "uploads")
            audit = AuditRow(
                search=search,
                revision=row.revision,
                threshold=request.threshold,
                level=request.level,
                batch=request.batch,
                planned=request.planned,
                seed=secrets.randbits(31),
                settings=row.settings,
                events=[{name: getattr(one, name) for name in columns} for one in counted],
                digest=None,
            )
            session.merge(audit)

        with self._searches.memory.open(search) as opened:
            if not opened.live.search.model.is_informed:
                raise RefusedError("the pictures that this search began with have gone")
        self._searches.change(search, request, "audit", change)
        return self.state(search)

    def state(self, search: str) -> schemas.AuditState:
        """What is known now, and the pictures to look at next."""
        with self._searches.memory.open(search) as opened:
            return views.audit(opened, self._audit(opened))

    def answer(self, search: str, request: schemas.Answers) -> schemas.AuditState:
        """Take answers, which the search learns from as from any other."""
        labels = {str(one): Answer.of(answer).number for one, answer in request.answers.items()}
        with self._searches.memory.open(search) as opened:
            # On another revision it is refused below, or was carried out before.
            if opened.row.revision == request.revision:
                asked = self._audit(opened)
                _check(asked, opened, request)

        def change(session: Session, row: SearchRow) -> None:
            kept = session.get(AuditRow, search)
            if kept is None:
                raise UnknownError(f"there is no audit of search {search}")
            learn(session, row, labels, how, audit=kept.revision)

        how = self._searches.memory.how_asked(search, request.revision, request.answers)
        self._searches.change(search, request, "audit answer", change)
        return self.state(search)

    def end(self, search: str, request: schemas.Change) -> schemas.SearchState:
        """Forget an audit. What was said is learnt, and stays so."""

        def change(session: Session, row: SearchRow) -> None:
            kept = session.get(AuditRow, row.id)
            if kept is None:
                raise UnknownError(f"there is no audit of search {search}")
            session.delete(kept)

        return self._searches.change(search, request, "audit end", change)

    def _audit(self, opened: Opened) -> Audit:
        """The audit in memory. What it draws from is noted, so that it is known again."""
        audit, digest = self._searches.memory.audit(opened)
        assert opened.audit is not None
        if opened.audit.digest is None:
            with self._database.writing() as session:
                kept = session.get(AuditRow, opened.row.id, with_for_update=True)
                if kept is not None and kept.revision == opened.audit.revision:
                    kept.digest = digest
        return audit


def _check(audit: Audit, opened: Opened, request: schemas.Answers) -> None:
    assert opened.audit is not None
    known = {*audit.answers, *audit.ask(opened.audit.batch).tolist()}
    for picture in request.answers:
        if Identifier(picture) not in known:
            raise RefusedError(f"picture {picture} was not drawn by this audit")
