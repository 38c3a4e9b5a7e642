"""Searches on disk: labels and settings only, in SQLite or PostgreSQL.

A search is a row with a revision, and its events. Undo moves the number of events that count; what
comes after it can be redone until something new is said. Every change is one transaction, which is
on disk before it is acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import platformdirs
from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import (
    JSON,
    DateTime,
    Double,
    Engine,
    ForeignKey,
    LargeBinary,
    create_engine,
    event,
    make_url,
    select,
    text,
)
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker
from sqlalchemy.types import TypeDecorator

from ital.extras import needed_for
from ital.server.problems import UnknownError

_READING = "ital_reading"
"""The option of connections that only read."""

_MIGRATING = 0x6974616C
"""The number of the lock that those hold who change the schema."""


class _Moment(TypeDecorator[datetime]):
    """A moment in UTC. SQLite forgets time zones, so they are put back."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_result_value(self, value: datetime | None, dialect: Any) -> datetime | None:
        del dialect
        return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value


def now() -> datetime:
    return datetime.now(UTC)


class Base(DeclarativeBase):
    pass


class SearchRow(Base):
    """A search as it is now."""

    __tablename__ = "searches"

    id: Mapped[str] = mapped_column(primary_key=True)
    collection: Mapped[str] = mapped_column(index=True)
    name: Mapped[str]
    settings: Mapped[dict[str, Any]] = mapped_column(JSON)
    seed: Mapped[int]
    text: Mapped[str | None] = mapped_column(default=None)
    """The words that it began with."""
    revision: Mapped[int] = mapped_column(default=1)
    position: Mapped[int] = mapped_column(default=1)
    """Events that count; those after it were undone."""
    created: Mapped[datetime] = mapped_column(_Moment, default=now)
    updated: Mapped[datetime] = mapped_column(_Moment, default=now)


class EventRow(Base):
    """A query or a round of answers."""

    __tablename__ = "events"

    search: Mapped[str] = mapped_column(
        ForeignKey("searches.id", ondelete="CASCADE"), primary_key=True
    )
    number: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str]
    labels: Mapped[dict[str, int]] = mapped_column(JSON)
    """1, -1 or 0 by identifier; by a negative number for pictures from outside."""
    uploads: Mapped[dict[str, str]] = mapped_column(JSON, default=dict)
    """Which pictures from outside those numbers stand for."""
    asked: Mapped[dict[str, tuple[str | None, float | None]] | None] = mapped_column(
        JSON, default=None
    )
    """How it came to labels, where that is known: what asked, and how probable the picture was."""
    insight: Mapped[dict[str, float] | None] = mapped_column(JSON, default=None)
    """Where the search stood after it."""
    audit: Mapped[int | None] = mapped_column(default=None)
    """The revision of the audit that the answers were given to."""
    created: Mapped[datetime] = mapped_column(_Moment, default=now)


class RequestRow(Base):
    """A change that was made, so that it is not made again when a client repeats it."""

    __tablename__ = "requests"

    search: Mapped[str] = mapped_column(
        ForeignKey("searches.id", ondelete="CASCADE"), primary_key=True
    )
    key: Mapped[str] = mapped_column(primary_key=True)
    digest: Mapped[str | None]
    """Of the change: a key is for one only."""


class AuditRow(Base):
    """An audit: what it began with, from which all that it draws follows.

    What was answered is in the events of the search, and taken back with them.
    """

    __tablename__ = "audits"

    search: Mapped[str] = mapped_column(
        ForeignKey("searches.id", ondelete="CASCADE"), primary_key=True
    )
    revision: Mapped[int]
    """Of the search, when the audit began."""
    threshold: Mapped[float] = mapped_column(Double)
    level: Mapped[float] = mapped_column(Double)
    batch: Mapped[int]
    """Pictures to look at, at a time."""
    planned: Mapped[int]
    """Pictures to look at in all."""
    seed: Mapped[int]
    settings: Mapped[dict[str, Any]] = mapped_column(JSON)
    """Of the search, at that time."""
    events: Mapped[list[dict[str, Any]]] = mapped_column(JSON)
    """Those that counted then: kind, labels and uploads."""
    digest: Mapped[str | None]
    """Of the pictures that it draws from, once they have been found."""
    created: Mapped[datetime] = mapped_column(_Moment, default=now)


class UploadRow(Base):
    """A picture from outside: its embedding, and a thumbnail to show."""

    __tablename__ = "uploads"

    id: Mapped[str] = mapped_column(primary_key=True)
    collection: Mapped[str]
    kind: Mapped[str]
    """The fingerprint of the embeddings that it can be compared with."""
    vector: Mapped[bytes] = mapped_column(LargeBinary)
    thumbnail: Mapped[bytes] = mapped_column(LargeBinary)
    created: Mapped[datetime] = mapped_column(_Moment, default=now)


class Database:
    """A database that is brought to the present schema when it is opened."""

    def __init__(self, url: str) -> None:
        try:
            with needed_for("the database"):
                self.engine = _engine(url)
            migrate(self.engine)
        except (SQLAlchemyError, CommandError, ImportError) as error:
            reason = str(error).partition("\n")[0]
            raise ValueError(f"the database cannot be used: {reason}") from error
        self._writing = sessionmaker(self.engine, expire_on_commit=False)
        options: dict[str, Any] = {_READING: True}
        if self.engine.dialect.name == "postgresql":
            # A search and its events are read one after the other, and belong together.
            options["isolation_level"] = "REPEATABLE READ"
        reading = self.engine.execution_options(**options)
        self._reading = sessionmaker(reading, expire_on_commit=False)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        with self._reading() as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A transaction: on disk when the block ends, undone when it fails."""
        with self._writing.begin() as session:
            yield session

    def close(self) -> None:
        self.engine.dispose()


def search_of(session: Session, search: str, change: bool = False) -> SearchRow:
    """The row of a search; to ``change`` it, nobody else may meanwhile."""
    row = session.get(SearchRow, search, with_for_update=change or None)
    if row is None:
        raise UnknownError(f"there is no search {search}")
    return row


def events_of(session: Session, row: SearchRow) -> list[EventRow]:
    """All events of a search, in order; those that were undone come last."""
    query = select(EventRow).where(EventRow.search == row.id).order_by(EventRow.number)
    return list(session.scalars(query))


def upload_of(session: Session, name: str, collection: str, keep: bool = False) -> UploadRow:
    """A picture from outside that was described for a collection; nobody may remove it if kept."""
    upload = session.get(UploadRow, name, with_for_update={"read": True} if keep else None)
    if upload is None or upload.collection != collection:
        raise UnknownError(f"there is no uploaded picture {name}")
    return upload


def _engine(url: str) -> Engine:
    engine = create_engine(url, pool_pre_ping=True)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: Any, record: object) -> None:
    del record
    connection.isolation_level = None  # transactions begin where we say so
    cursor = connection.cursor()
    for pragma in ("busy_timeout=30000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Any) -> None:
    # A transaction that begins by reading cannot begin to write once another has written.
    reading = connection.get_execution_options().get(_READING)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def migrate(engine: Engine) -> None:
    """Bring a database to the present schema."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            # Another server may be about to do the same.
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATING})
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def default_file() -> Path:
    """What searches are kept in unless somebody says otherwise."""
    folder = platformdirs.user_data_path("ital", appauthor=False, ensure_exists=True)
    return folder / "searches.sqlite"


def sqlite_url(path: Path) -> str:
    return make_url("sqlite://").set(database=str(path)).render_as_string(hide_password=False)
