"""Processes that begin warm: forked from one that has imported what takes seconds to import."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from ital.collection import Collection, mapped
from ital.collection.store import Store

_context = multiprocessing.get_context("forkserver")
# The package itself imports next to nothing before it is asked for something.
_context.set_forkserver_preload(["ital.collection.indexer", "ital.collection.collection"])


@contextmanager
def begun(work: Callable, *args: object) -> Iterator[tuple[BaseProcess, Connection]]:
    """A process that does some work, and where to receive what it sends to its first argument.

    That comes to an end with the process, which is waited for.
    """
    here, there = _context.Pipe(duplex=False)
    process = _context.Process(target=work, args=(there, *args))
    process.start()
    there.close()
    try:
        with here:
            yield process, here
    except BaseException:
        process.kill()
        raise
    finally:
        process.join()


def add_up(said: Connection, folder: Path) -> None:
    """Open a collection, and say the sum of its features."""
    said.send(float(Collection.open(folder).features().sum()))


def map_again_and_again(said: Connection, folder: Path) -> None:
    """Write the files of a collection that are mapped, until someone kills this."""
    store = Store.find(folder)
    said.send("ready")
    while True:
        with store.locked():
            store.forget_mapped(store.about.current)
            mapped.write(store, store.about.current)
