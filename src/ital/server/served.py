"""The collections that are served, each with an indexer that may run in the background."""

from __future__ import annotations

import hashlib
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
from ital.server.problems import RefusedError, UnknownError

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


class ServedCollection:
    """A collection, as it is now; one that stays so, such as that of arrays.

    A server that is given the same collection again, by its ``store_id`` or, if it has none, by
    each digit of its embeddings, has the searches over it.
    """

    def __init__(self, collection: Collection, name: str, stacks: bool = True) -> None:
        known = collection.store_id or collection.pool.fingerprint
        self._set_up(hashlib.sha256(known.encode()).hexdigest()[:16], name, stacks)
        self._take_up(collection)

    def _set_up(self, identifier: str, name: str, stacks: bool) -> None:
        self.id, self.name, self._stacks = identifier, name, stacks
        self.run = Run()
        self.skipped: list[Skipped] = []
        """The files that are not in the collection, and why."""
        self.current: Collection | None = None
        """What can be searched now, if there are pictures."""
        self.failed = False
        """Whether a cluster has failed that has the embeddings."""
        self._renewing = threading.Lock()

    def _take_up(self, opened: Collection) -> None:
        # What all searches share is computed here, while nobody waits.
        opened.search(groups=self.groups(opened))
        self.current, self.skipped = opened, opened.skipped

    def _opened(self) -> Collection:
        """The collection, opened once more."""
        return Collection(self.collection.source, self.collection.engine)

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
                self._take_up(self._opened())
            self.failed = False

    def start(self) -> None:
        """Bring the collection up to date in the background, unless that is under way."""
        raise RefusedError(f"the pictures of {self.name} are in no folder that could be indexed")

    def stop(self) -> None:
        """Have the indexer stop after the batch that it is at."""

    def join(self) -> None:
        """Wait until the indexer has stopped."""


class Served(ServedCollection):
    """The collection of a folder. Pictures come and go while it is served."""

    def __init__(
        self,
        folder: Path,
        to: Path | None = None,
        engine: Engine | None = None,
        stacks: bool = True,
    ) -> None:
        self.folder, self._engine = folder, engine
        self._store = Store.create(to or folder / FOLDER, folder)
        name = folder.resolve().name or str(folder.resolve())
        self._set_up(self._store.about.id, name, stacks)
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = False
        self.reopen()

    def _opened(self) -> Collection:
        return Collection.open(self._store.folder, engine=self._engine)

    def reopen(self) -> None:
        """Take up what is on disk now, whoever wrote it."""
        try:
            self.skipped = self._store.skipped()
            opened = self._opened()
        except EmptyError:
            self.current = None
            return
        if opened.store_id != self.id:
            # Its identifiers mean other pictures.
            raise StoreError(f"the collection of {self.name} was made anew: start the server again")
        if self.current is None or opened.source.state != self.current.source.state:
            self._take_up(opened)

    def start(self) -> None:
        with self._starting:
            if self.run.running or self._stopping:
                return
            self.run = Run(running=True)
        self._thread = threading.Thread(target=self._index, name="ital-index", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping = True

    def join(self) -> None:
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
