"""From a folder of pictures to a collection, and to a collection up to date when it has changed.

Every core, of this machine or of a cluster, takes a few pictures at a time, reads, hashes, decodes
and shrinks them, and has the network describe them. Every few seconds what is done is committed, by
one process. Run again, it goes on; nothing that stayed is opened.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from ital.collection import centring, identity, mapped, pca, phash, pictures, stacks
from ital.collection.identity import Entry
from ital.collection.models import AnyModel, Ensemble, describe
from ital.collection.reader import Read, hashing, reading
from ital.collection.scan import File, Skipped, scan
from ital.collection.store import FOLDER, Row, Store, StoreError, checked_type, row
from ital.collection.workers import Workers, threads
from ital.extras import needed_for

BATCH = 8
"""Pictures that the network sees at a time."""

_COMMIT_ROWS, _COMMIT_SECONDS = 256, 5.0
"""What is done is committed when there is so much of it, or so long after the last time."""


@dataclass
class Progress:
    """How far a run has come."""

    total: int = 0
    """Files that have to be opened."""
    done: int = 0
    embedded: int = 0
    unchanged: int = 0
    moved: int = 0
    """Pictures of which the content was known: moved, renamed or copied."""
    gone: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    pictures: int = 0
    """Pictures in the collection, when the run has ended."""


def index(
    folder: Path | str,
    to: Path | str | None = None,
    model: AnyModel | None = None,
    dimension: int | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
    wait: bool = False,
    store: str | None = None,
    ray: str | None = None,
) -> Progress:
    """Bring the collection of a folder up to date, or make it.

    Args:
        folder: the pictures; folders within it are searched, too.
        to: where to keep the collection; in ``.ital`` within the folder if ``None``.
        model: what describes the pictures; the model of the last run, or EfficientNet-Lite0, if
            ``None``.
        dimension: reduce embeddings to so many dimensions by PCA, section 4.2; 0 for all of them,
            ``None`` for as many as before.
        report: called with the progress after every batch.
        wait: whether to wait for another process that indexes the same folder, or to give up.
        store: keep embeddings in float16, half as much, or float32; ``None`` for the type in which
            they are, float32 at first. What was rounded to float16 stays so.
        ray: the address of a Ray cluster whose machines read the pictures, from the same folder, or
            ``"local"`` for one on this machine that ends with the run; the threads of this process
            if ``None``. The collection is the same.

    """
    folder = Path(folder)
    if not folder.is_dir():
        raise StoreError(f"folder must be a folder of pictures, got {str(folder)!r}")
    kind = checked_type(store)
    with _workers(folder, ray) as workers:  # if there are none, nothing is to be written
        kept = Store.create(Path(to) if to is not None else folder / FOLDER, folder)
        with kept.locked(wait), pictures.quietly():
            if model is None:
                current = kept.about.current
                model = (kept.model(current) if current else None) or describe()
            run = _Run(kept, model, kind, report, workers)
            kept.use(model.fingerprint, model)
            run.update()
            if isinstance(model, Ensemble):
                centring.ensure(kept, run.table, model)
            if dimension is not None:
                if dimension:
                    centred = centring.load(kept, model.fingerprint)
                    pca.ensure(kept.folder, run.table, dimension, centred)
                kept.write_about(pca={**kept.about.pca, model.fingerprint: dimension})
            with suppress(OSError):  # without, the collection takes longer to open
                mapped.write(kept, model.fingerprint)
            stacks.update(kept, model.fingerprint)
    return run.progress


def _workers(folder: Path, ray: str | None) -> AbstractContextManager[Workers]:
    if ray is None:
        return threads()
    with needed_for("indexing over a cluster"):
        from ital.collection.cluster import connected
    return connected(ray, folder)


class _Run:
    """One run of the indexer, with the lock held."""

    def __init__(
        self,
        store: Store,
        model: AnyModel,
        kind: str | None,
        report: Callable[[Progress], None],
        workers: Workers,
    ) -> None:
        self.store, self.model, self.kind, self.report = store, model, kind, report
        self.workers = workers
        self.progress = Progress()
        self.table = store.table(model.fingerprint)
        if self.table is not None:
            self.table.complete(phash.of_thumbnail)
            if kind is not None:
                self.table.keep_in(kind)
        self._pending: list[Row] = []
        self._committed = time.monotonic()
        self._written: set[int] = set()

    def update(self) -> None:
        entries = self.table.entries() if self.table else []
        files, unreachable = scan(self.store.root, without=self.store.folder)
        if entries and not files:
            raise StoreError(
                f"{self.store.root} holds no files, but its collection has {len(entries)} "
                f"pictures: is a disk missing? To start anew, delete {self.store.folder}"
            )
        rest = identity.unsettled(files, entries)
        before = self.store.skipped(pictures.DECODERS)
        lasting = {(one.path, one.size, one.modified): one for one in before if one.lasting}
        broken = {file: lasting.get((file.path, file.size, file.modified)) for file in rest.files}
        work = [file for file in rest.files if broken[file] is None]
        self.progress.skipped = [*unreachable, *filter(None, broken.values())]
        self.progress.unchanged = len(files) - len(rest.files)
        self.progress.total = len(work)
        self.report(self.progress)
        if work:
            self._work(work, entries, rest.entries)
        self._let_go([entry for entry in rest.entries if entry.id not in self._written])
        self.progress.skipped.sort(key=lambda one: one.path)
        if self.progress.skipped != before:
            self.store.write_skipped(self.progress.skipped, pictures.DECODERS)
        if self.table is not None:
            self.table.tidy()
            self.progress.pictures = len(self.table)
        self.report(self.progress)

    def _work(self, work: list[File], entries: list[Entry], changed: list[Entry]) -> None:
        """Read all files, describe them and commit the rows, in order."""
        hashes = self._hashes(work, changed)
        ids = {entry.id for entry in entries}
        claims = identity.claims(work, hashes, changed, self._elsewhere, ids)
        # Content is copied from rows that keep theirs: of files that are as they were, and of
        # files that are the same pictures elsewhere.
        moved = {(claims[path], digest) for path, digest in hashes.items() if path in claims}
        lost = {entry.id for entry in changed if (entry.id, entry.hash) not in moved}
        contents = {entry.hash: entry.id for entry in entries if entry.id not in lost}
        fresh = itertools.count(self.store.next_id())
        read = functools.partial(reading, self._root, self.model, contents)
        for found in self.workers.map(read, _batches(work)):
            self.progress.done += len(found)
            for one in self._with_copies(found, contents):
                if isinstance(one, Skipped):
                    self.progress.skipped.append(one)
                else:
                    path = one.file.path
                    self._pending.append(row(claims[path] if path in claims else next(fresh), one))
            self._commit(ids, at_once=self.progress.done == len(work))
            self.report(self.progress)

    @property
    def _root(self) -> Path:
        """The folder of the pictures, by a path that is the same wherever someone is."""
        return self.store.root.resolve()

    @functools.cached_property
    def _elsewhere(self) -> list[Entry]:
        """What is known under other models."""
        others = [one for one in self.store.tables() if one.fingerprint != self.model.fingerprint]
        return [entry for table in others for entry in table.entries()]

    def _hashes(self, work: list[File], changed: list[Entry]) -> dict[str, str]:
        """Hashes by path, of what can be read; none, if there is no picture to know again."""
        if not changed and not self._elsewhere:
            return {}
        found = self.workers.map(functools.partial(hashing, self._root), _batches(work))
        hashes = zip(work, itertools.chain.from_iterable(found), strict=True)
        return {file.path: digest for file, digest in hashes if digest is not None}

    def _with_copies(
        self, found: list[Read | Skipped], contents: dict[str, int]
    ) -> Iterator[Read | Skipped]:
        """What was found, with the content of other rows where it is known by its hash."""
        known = [one.hash for one in found if isinstance(one, Read) and one.content is None]
        copies = self.table.rows([contents[one] for one in known]) if self.table and known else {}
        by_hash = {copy.hash: copy.content for copy in copies.values()}
        for one in found:
            if isinstance(one, Skipped):
                yield one
            elif one.content is not None:
                self.progress.embedded += 1
                yield one
            elif one.hash in by_hash:
                self.progress.moved += 1
                yield replace(one, content=by_hash[one.hash])
            else:
                yield Skipped(one.file.path, "changed while it was read", lasting=False)

    def _commit(self, taken: set[int], at_once: bool) -> None:
        waited = time.monotonic() - self._committed
        enough = len(self._pending) >= _COMMIT_ROWS or waited >= _COMMIT_SECONDS or at_once
        if not self._pending or not enough:
            return
        if self.table is None:
            dimension = len(self._pending[0].content.embedding)
            self.table = self.store.create_table(self.model.fingerprint, dimension, self.kind)
        for known in (False, True):
            rows = [row for row in self._pending if (row.id in taken) == known]
            if rows:
                self.table.write(rows, new=not known)
        self._written.update(row.id for row in self._pending)
        self._pending = []
        self._committed = time.monotonic()
        self.table.tidy()

    def _let_go(self, entries: list[Entry]) -> None:
        """Remove pictures whose files have gone; not those behind a door that is shut."""
        shut = {one.path for one in self.progress.skipped if not one.lasting}
        gone = [
            entry.id
            for entry in entries
            if not any(str(above) in shut for above in (entry.path, *Path(entry.path).parents))
        ]
        if gone and self.table is not None:
            self.table.delete(gone)
        self.progress.gone = len(gone)


def _batches(files: Sequence[File]) -> Iterator[Sequence[File]]:
    return (files[start : start + BATCH] for start in range(0, len(files), BATCH))
