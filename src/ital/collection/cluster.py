"""Files read by the workers of a Ray cluster.

Every worker opens the files where they are, in a folder that all machines share, with the same care
as this process would, and has the network loaded once. Ray has a batch read again, up to three
times, if its worker or its machine dies. What comes of it is written here, by one process. Order,
retries and a network that stays are all that this needs of Ray: its tasks do it without the pandas
and fsspec that Ray Data would bring along.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar

import ray

from ital.collection import pictures
from ital.collection.scan import File
from ital.collection.workers import Task, Workers
from ital.engine import ClusterError
from ital.engine.connection import connection, processors

T = TypeVar("T")


@contextmanager
def connected(address: str, root: Path) -> Iterator[Workers]:
    """The workers of the cluster at an address, for the files in a folder."""
    try:
        with connection(address):
            yield _Cluster(root)
    except BrokenExecutor as error:
        raise ClusterError(
            f"{error}; what is finished is kept, and the same command goes on with it"
        ) from error


class _Cluster(Workers):
    def __init__(self, root: Path) -> None:
        super().__init__(processors())
        self._root = root.resolve()

    def _begin(self, make: Callable[[], Task[T]]) -> Callable[[Sequence[File]], Future[T]]:
        job = ray.put(_Job(self._root, pictures.DECODERS, make))
        work: Any = ray.remote(_work)

        def submit(batch: Sequence[File]) -> Future[T]:
            # In a list, for workers are to keep what they made of it, and not to get it each time.
            future: Future[T] = work.remote([job], batch).future()
            return future

        return submit


@dataclass(frozen=True)
class _Job(Generic[T]):
    root: Path
    decoders: str
    make: Callable[[], Task[T]]

    def begin(self) -> Task[T]:
        """What does the work on this machine, if it sees the same files and reads them alike."""
        try:
            with os.scandir(self.root) as entries:
                there = next(entries, None) is not None
        except OSError:
            there = False
        if not there:  # where a disk is not mounted, there is often an empty folder
            raise ClusterError(
                f"{self.root} must be the same folder on all machines of the cluster, but holds "
                f"nothing on {platform.node()}"
            )
        if self.decoders != pictures.DECODERS:
            raise ClusterError(
                f"all machines of the cluster must have the decoders {self.decoders!r}, but "
                f"{platform.node()} has {pictures.DECODERS!r}"
            )
        return self.make()


@lru_cache(maxsize=1)
def _begun(job: ray.ObjectRef[_Job[T]]) -> Task[T]:
    """A worker's own, for all batches that it works on."""
    return ray.get(job).begin()


def _work(job: list[ray.ObjectRef[_Job[T]]], batch: Sequence[File]) -> T:
    with pictures.quietly():
        task: Task[T] = _begun(job[0])
        return task(batch)
