"""Queries over a Ray cluster.

Ray plays a query again, up to three times, if its worker or its machine dies. Features are put into
the cluster's object store once, so that workers need no files: a machine gets them when it plays
its first query, and all of its workers share them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from itertools import groupby

import ray
from threadpoolctl import threadpool_limits

from ital.engine.connection import OWN, connection
from ital.evaluation.datasets.base import Dataset, LazyTasks, Task
from ital.evaluation.experiment import Player, Result, Settings, Submit, Unit

_Job = tuple[Dataset, Settings]


@contextmanager
def connected(address: str, player: Player, processes: int | None) -> Iterator[Submit]:
    """A connection to the cluster at an address, which plays what a player would."""
    if address != OWN and processes is not None:
        raise ValueError(
            f"processes must be left out with a cluster, which knows its own, got {processes}; or "
            f"ray must be {OWN!r}, got {address!r}"
        )
    with connection(address, processes):
        # A picture of each image is for reports, and would bring the features along once more.
        dataset = replace(player.dataset, tasks=_Stored(player.dataset.tasks), image=None)
        job = ray.put((dataset, player.settings))
        play = ray.remote(_play)
        # In a list, for workers are to keep what they made of it, and not to get it each time.
        yield lambda unit: play.remote([job], unit).future()


class _Stored(LazyTasks):
    """Tasks in the object store, together those that share features, which are there once then."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._places: list[tuple[ray.ObjectRef[list[Task]], int]] = []
        for _, sharing in groupby(tasks, lambda task: id(task.train)):
            together = list(sharing)
            stored = ray.put(together)
            self._places += [(stored, place) for place in range(len(together))]

    def __len__(self) -> int:
        return len(self._places)

    def task(self, number: int) -> Task:
        stored, place = self._places[number]
        return _fetched(stored)[place]


@lru_cache(maxsize=1)
def _fetched(stored: ray.ObjectRef[list[Task]]) -> list[Task]:
    return ray.get(stored)


@lru_cache(maxsize=1)
def _player(job: ray.ObjectRef[_Job]) -> Player:
    """A worker's own, for all queries that it plays; it keeps to one thread."""
    threadpool_limits(1)
    return Player(*ray.get(job))


def _play(job: list[ray.ObjectRef[_Job]], unit: Unit) -> tuple[Result, list[float]]:
    return _player(job[0]).play(unit)
