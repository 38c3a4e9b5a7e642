"""The collections that are served, each with an indexer that may run in the background."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ital.collection import Collection, index
from ital.collection.indexer import Progress
from ital.collection.scan import Skipped
from ital.collection.store import FOLDER, EmptyError, Store, StoreError
from ital.engine import ClusterError, Engine
from ital.groups import Groups
from ital.server.problems import UnknownError

_REOPEN_SECONDS, _REOPEN_PART = 5.0, 0.05
"""How often pictures appear that an indexer has added, and the part of its time this may take."""

_STOP_SECONDS = 30.0
"""How long a server that ends waits for its indexer. What is cut off then is done again."""

_log = logging.getLogger("ital.server")


@dataclass(frozen=True)
class Run:
    """How far the indexer has come."""

    running: bool = False
    done: int = 0
    total: int = 0
    per_second: float = 0.0
    skipped: int = 0
    error: str | None = None


class _StoppedError(Exception):
    """The server ends while the indexer runs."""


class Served:
    """A collection, as it is now. Pictures come and go while it is served."""

    def __init__(
        self,
        folder: Path,
        to: Path | None = None,
        engine: Engine | None = None,
        stacks: bool = True,
    ) -> None:
        self.folder, self._engine, self._stacks = folder, engine, stacks
        self.name = folder.resolve().name or str(folder.resolve())
        self.run = Run()
        self._store = Store.create(to or folder / FOLDER, folder)
        self.id = self._store.about.id
        self.skipped: list[Skipped] = []
        """The files that are not in the collection, and why."""
        self._starting = threading.Lock()
        self.current: Collection | None = None
        """What can be searched now, if there are pictures."""
        self.failed = False
        """Whether a cluster has failed that has the embeddings."""
        self._renewing = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = False
        self.reopen()

    @property
    def collection(self) -> Collection:
        """What can be searched now."""
        current = self.current
        if current is None:
            raise UnknownError(f"the collection {self.name} has no pictures yet")
        return current

    def groups(self, collection: Collection) -> Groups | None:
        """The pictures that searches take for one."""
        return collection.groups if self._stacks and collection.stacks else None

    def reopen(self) -> None:
        """Take up what is on disk now, whoever wrote it."""
        try:
            self.skipped = self._store.skipped()
            opened = Collection.open(self._store.folder, engine=self._engine)
        except EmptyError:
            self.current = None
            return
        if opened.store_id != self.id:
            # Its identifiers mean other pictures.
            raise StoreError(f"the collection of {self.name} was made anew: start the server again")
        if self.current is None or opened.state != self.current.state:
            # What all searches share is computed here, while nobody waits.
            opened.search(groups=self.groups(opened))
            self.current = opened

    def renew(self) -> None:
        """Have the cluster, or whatever is at its address now, take the embeddings once more.

        Unless it has not failed, or still has them.
        """
        with self._renewing:
            if not self.failed:
                return
            try:
                self.collection.pool.vectors(np.zeros(1, np.int64))
            except ClusterError:
                opened = Collection.open(self._store.folder, engine=self._engine)
                opened.search()
                self.current = opened
            self.failed = False

    def start(self) -> None:
        """Bring the collection up to date in the background, unless that is under way."""
        with self._starting:
            if self.run.running or self._stopping:
                return
            self.run = Run(running=True)
        self._thread = threading.Thread(target=self._index, name="ital-index", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Have the indexer stop after the batch that it is at."""
        self._stopping = True

    def join(self) -> None:
        """Wait until the indexer has stopped."""
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)

    def _index(self) -> None:
        begun = time.monotonic()
        due = begun + _REOPEN_SECONDS

        def report(progress: Progress) -> None:
            nonlocal due
            if self._stopping:
                raise _StoppedError
            before = time.monotonic()
            speed = progress.done / max(before - begun, 1e-3)
            skipped = len(progress.skipped)
            self.run = Run(True, progress.done, progress.total, speed, skipped)
            if before > due:
                self.reopen()
                after = time.monotonic()
                due = after + max(_REOPEN_SECONDS, (after - before) / _REOPEN_PART)

        error = None
        try:
            index(self.folder, self._store.folder, report=report)
            self.reopen()
        except _StoppedError:
            pass
        except StoreError as problem:
            _log.error("indexing %s failed: %s", self.name, problem)
            error = str(problem)
        except Exception as problem:
            _log.exception("indexing %s failed", self.name)
            error = str(problem)
        finally:
            self.run = replace(self.run, running=False, error=error)
