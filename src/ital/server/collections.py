"""The collections that are served, each with an indexer that may run in the background."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from ital.collection import Collection, index
from ital.collection.indexer import Progress
from ital.collection.store import FOLDER, Store, StoreError

_REOPEN_SECONDS = 5.0
"""How often pictures appear that an indexer has added meanwhile."""

_log = logging.getLogger("ital.server")


class NoPicturesError(LookupError):
    """A collection has no pictures yet."""


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

    def __init__(self, folder: Path, to: Path | None = None) -> None:
        self.folder = folder
        self.store = to or folder / FOLDER
        self.name = folder.resolve().name or str(folder.resolve())
        self.id = hashlib.sha256(str(self.store.resolve()).encode()).hexdigest()[:12]
        self.version = 0
        self.run = Run()
        self._starting = threading.Lock()
        self._collection: Collection | None = None
        self._thread: threading.Thread | None = None
        self._stopping = False
        self.reopen()

    @property
    def collection(self) -> Collection:
        """What can be searched now."""
        if self._collection is None:
            raise NoPicturesError(f"the collection {self.name} has no pictures yet")
        return self._collection

    def __len__(self) -> int:
        return 0 if self._collection is None else len(self._collection)

    def reopen(self) -> None:
        """Take up what is on disk now."""
        try:
            opened = Collection.open(self.store)
            opened.pool  # noqa: B018  (it is read here, and not while someone waits)
        except StoreError:
            return  # there is nothing yet
        self._collection = opened
        self.version += 1

    def skipped(self) -> list[tuple[str, str]]:
        """Files that are not in the collection, and why."""
        try:
            return [(one.path, one.reason) for one in Store.find(self.store).skipped()]
        except StoreError:
            return []

    def start(self) -> bool:
        """Bring the collection up to date in the background; ``False`` if that is under way."""
        with self._starting:
            if self.run.running or self._stopping:
                return False
            self.run = Run(running=True)
        self._thread = threading.Thread(target=self._index, name="ital-index", daemon=True)
        self._thread.start()
        return True

    def stop(self) -> None:
        """Have the indexer stop after the batch that it is at."""
        self._stopping = True
        if self._thread is not None:
            self._thread.join()

    def _index(self) -> None:
        begun = opened = time.monotonic()

        def report(progress: Progress) -> None:
            nonlocal opened
            if self._stopping:
                raise _StoppedError
            speed = progress.done / max(time.monotonic() - begun, 1e-3)
            skipped = len(progress.skipped)
            self.run = Run(True, progress.done, progress.total, speed, skipped)
            if progress.done and time.monotonic() - opened > _REOPEN_SECONDS:
                self.reopen()
                opened = time.monotonic()

        try:
            done = index(self.folder, self.store, report=report)
            changed = done.embedded or done.moved or done.gone or self._collection is None
        except _StoppedError:
            self.run = replace(self.run, running=False)
            return
        except Exception as error:
            _log.exception("indexing %s failed", self.name)
            self.run = replace(self.run, running=False, error=str(error))
            return
        if changed:
            self.reopen()
        self.run = replace(self.run, running=False)
