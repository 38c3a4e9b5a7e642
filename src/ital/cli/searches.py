"""Searches that were begun in the browser: `ital searches`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ital.cli.finding import Folder
from ital.cli.output import errors_as_messages

if TYPE_CHECKING:
    from ital.collection import Collection
    from ital.groups import Groups
    from ital.search import Search
    from ital.server.database import Database
    from ital.server.schemas import SearchInfo

app = typer.Typer()

DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        help="Where ital serve keeps searches; its own file, or what ITAL_DATABASE says, if none.",
    ),
]


@app.command()
def searches(
    folder: Folder,
    database: DatabaseUrl = None,
    as_json: Annotated[bool, typer.Option("--json", help="For other programs.")] = False,
) -> None:
    """List the searches that were begun in the browser, the latest first.

    'ital export --search NAME' takes away what they found, or the search itself:

    ital export ~/Pictures --search roses --what search --out roses.json
    """
    from ital.collection import Collection

    with errors_as_messages():
        opened = Collection.open(folder)
        with opened_database(database) as kept:
            listed = _of_collection(kept, opened)
    if as_json:
        typer.echo(f"[{', '.join(one.model_dump_json() for one in listed)}]")
        return
    if not listed:
        Console().print("No search was begun over this collection.")
        return
    table = Table("name", "last change", "rounds", "yes", "no", "id")
    for column in table.columns[2:5]:
        column.justify = "right"
    for one in listed:
        when = one.updated.astimezone().strftime("%Y-%m-%d %H:%M")
        counts = (str(count) for count in (one.rounds, one.relevant, one.irrelevant))
        table.add_row(escape(one.name), when, *counts, one.id)
    Console().print(table)


@contextmanager
def opened_database(url: str | None) -> Iterator[Database]:
    """Where the server keeps its searches."""
    from ital.server import ServerSettings
    from ital.server.database import Database, default_file, sqlite_url

    address = url or ServerSettings().database
    if address is None and not default_file().exists():
        raise ValueError("no search was begun in the browser yet: run ital serve")
    database = Database(address or sqlite_url(default_file()))
    try:
        yield database
    finally:
        database.close()


def browser_search(
    database: Database, collection: Collection, name: str, groups: Groups | None
) -> Search:
    """A search that was begun in the browser, by its name or identifier."""
    from ital.server.database import search_of
    from ital.server.replay import searched

    listed = _of_collection(database, collection)
    found = [one.id for one in listed if name in (one.name, one.id)]
    if not found:
        known = ", ".join(repr(one.name) for one in listed) or "none"
        raise ValueError(
            f"--search must name a search over this collection ({known}), got {name!r}"
        )
    if len(found) > 1:
        raise ValueError(f"several searches are called {name!r}: give one of {', '.join(found)}")
    with database.reading() as session:
        return searched(session, search_of(session, found[0]), collection, groups)


def _of_collection(database: Database, collection: Collection) -> list[SearchInfo]:
    from ital.server.searches import Searches

    return Searches(database, {}, 0).all(collection.store_id)
