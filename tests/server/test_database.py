from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext

from ital.server import database as module
from ital.server.database import Base, Database, EventRow, RequestRow, SearchRow, now

MIGRATIONS = Path(module.__file__).with_name("migrations")


def row(name="one"):
    return SearchRow(id=name, collection="c", name=name, settings={"batch": 4}, seed=1)


def test_rows_come_back(address):
    database = Database(address)
    with database.writing() as session:
        session.add(row())
        session.flush()
        session.add(EventRow(search="one", number=1, kind="query", labels={"5": 1, "-1": 1}))
    database.close()
    database = Database(address)  # brings it up to date again, which changes nothing
    with database.reading() as session:
        found = session.get(SearchRow, "one")
        assert found.settings == {"batch": 4}
        assert found.created.tzinfo is not None
        assert abs(now() - found.created) < timedelta(minutes=5)
        assert session.get(EventRow, ("one", 1)).labels == {"5": 1, "-1": 1}
    database.close()


def test_migrations_make_what_the_code_expects(address):
    database = Database(address)
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, Base.metadata) == []
    database.close()


def test_what_fails_changes_nothing(address):
    database = Database(address)
    try:
        with database.writing() as session:
            session.add(row())
            session.flush()
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    with database.reading() as session:
        assert session.get(SearchRow, "one") is None
    database.close()


def test_events_leave_with_their_search(address):
    database = Database(address)
    with database.writing() as session:
        session.add(row())
        session.flush()
        session.add(EventRow(search="one", number=1, kind="query", labels={}))
    with database.writing() as session:
        session.delete(session.get(SearchRow, "one"))
    with database.reading() as session:
        assert session.scalars(sqlalchemy.select(EventRow)).all() == []
    database.close()


def test_sqlite_is_durable(tmp_path):
    from ital.server.database import sqlite_url

    path = tmp_path / "a b?c.sqlite"
    database = Database(sqlite_url(path))
    with database.reading() as session:
        values = [
            session.execute(sqlalchemy.text(f"PRAGMA {name}")).scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        ]
    assert values == ["wal", 2, 1]
    database.close()
    assert path.exists()
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM searches").fetchone() == (0,)


def test_the_first_schema_is_brought_up_to_date(address):
    """With all that is in it."""
    engine = sqlalchemy.create_engine(address)
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        insert = "INSERT INTO searches VALUES ('one', 'c', 'n', '{}', 1, 1, 1, :at, :at)"
        connection.execute(sqlalchemy.text(insert), {"at": str(now())})
        connection.execute(sqlalchemy.text("INSERT INTO requests VALUES ('one', 'k')"))
    engine.dispose()
    database = Database(address)
    with database.reading() as session:
        assert session.get(SearchRow, "one").name == "n"
        assert session.get(RequestRow, ("one", "k")).digest is None
    database.close()


def test_two_servers_begin_at_once(address):
    with ThreadPoolExecutor(4) as pool:
        for database in pool.map(Database, [address] * 4):
            with database.reading() as session:
                assert session.get(SearchRow, "none") is None, "its tables are there"
            database.close()


@pytest.mark.parametrize(
    "url", ["sqlite:////no/such/folder/s.sqlite", "postgresql+psycopg://127.0.0.1:1/x", "mongo://x"]
)
def test_a_database_that_there_is_not(url):
    with pytest.raises(ValueError, match="the database cannot be used"):
        Database(url)
