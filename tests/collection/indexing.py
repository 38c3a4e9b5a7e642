"""Runs of the indexer: what they leave, and some in processes that may be killed."""

from __future__ import annotations

import signal
import sys
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from warm import begun

from ital.collection import Model, describe, indexer
from ital.collection.store import Store


def rows(folder: Path, model=None):
    """Everything in the table, by identifier."""
    store = Store.find(folder)
    table = store.table(model.fingerprint if model else store.about.current)
    return dict(sorted(table.rows([entry.id for entry in table.entries()]).items()))


def ids(folder: Path, model=None) -> dict[str, int]:
    return {row.path: row.id for row in rows(folder, model).values()}


def same_tables(one: Path, other: Path) -> None:
    """Every column of every row is the same."""
    first, second = rows(one), rows(other)
    assert list(first) == list(second)
    for identifier, row in first.items():
        twin = second[identifier]
        for name in ("path", "hash", "size", "modified"):
            assert getattr(row, name) == getattr(twin, name), (identifier, name)
        assert (row.content.width, row.content.height) == (twin.content.width, twin.content.height)
        assert row.content.thumbnail == twin.content.thumbnail
        np.testing.assert_array_equal(row.content.embedding, twin.content.embedding)


SCRIPT = """
import sys
from ital.collection import describe, index
folder, to, model = sys.argv[1:]
index(folder, to, describe(model))
"""


def command(folder: Path, to: Path, model: Model) -> list[str]:
    """What indexes in a process of its own."""
    return [sys.executable, "-c", SCRIPT, str(folder), str(to), model.name]


def _index(said: Connection, folder: Path, to: Path, model: str, options: dict[str, str]) -> None:
    """In small steps, saying how far it has come, which is less than nothing at first."""
    indexer._COMMIT_ROWS = 4
    indexer.BATCH = 2
    said.send(-1)
    indexer.index(
        folder, to, describe(model), report=lambda progress: said.send(progress.done), **options
    )


def run_until(
    done: int, delay: float, folder: Path, to: Path, model: Model, **options: str
) -> bool:
    """Index in a process of its own, and kill that a moment after it has come so far.

    If that is less than nothing, a moment after it begins.
    """
    with (
        begun(_index, folder, to, model.name, options) as (process, said),
        suppress(EOFError),  # it has come to its end
    ):
        while said.recv() < done:
            pass
        time.sleep(delay)
        process.kill()
    # It may have come to its end meanwhile; an end of any other kind is a failure.
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode == 0
