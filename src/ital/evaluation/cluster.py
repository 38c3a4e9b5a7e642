"""Queries over a Ray cluster: all that knows of Ray.

Ray plays a query again, up to three times, if its worker or its machine dies. Features are put into
the cluster's object store once, so that workers need no files: a machine gets them when it plays
its first query, and all of its workers share them.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import lru_cache
from itertools import groupby

import ray
from ray.exceptions import RayError
from threadpoolctl import threadpool_limits

from ital.engine import cores
from ital.evaluation.datasets.base import Dataset, LazyTasks, Task
from ital.evaluation.experiment import Player, Result, Settings, Submit, Unit

_OWN = "local"
"""The address that stands for a Ray of our own on this machine."""

_PATIENCE = 10.0
"""Seconds in which somebody has to answer at an address."""

_ATTEMPTS = "RAY_gcs_server_port_wait_time_s"
"""What tells Ray how often to try to connect, and how long to wait for a Ray that it starts."""

_Job = tuple[Dataset, Settings]


@contextmanager
def connected(address: str, player: Player, processes: int | None) -> Iterator[Submit]:
    """A connection to the cluster at an address, which plays what a player would."""
    _connect(address, processes)
    try:
        # A picture of each image is for reports, and would bring the features along once more.
        dataset = replace(player.dataset, tasks=_Stored(player.dataset.tasks), image=None)
        job = ray.put((dataset, player.settings))
        play = ray.remote(_play)
        # In a list, for workers are to keep what they made of it, and not to get it each time.
        yield lambda unit: play.remote([job], unit).future()
    except RayError as error:
        cause = getattr(error, "cause", error)  # what a query raised, if it was not Ray that failed
        if not isinstance(cause, RayError):
            raise cause from error
        raise BrokenExecutor(f"the cluster failed ({_first_line(cause)})") from error
    finally:
        ray.shutdown()


def _connect(address: str, processes: int | None) -> None:
    if address != _OWN and processes is not None:
        raise ValueError(
            f"processes must be left out with a cluster, which knows its own, got {processes}; or "
            f"ray must be {_OWN!r}, got {address!r}"
        )
    try:
        _reach(address)
        with nullcontext() if address == _OWN else _one_attempt():
            ray.init(
                address,
                num_cpus=processes or cores() if address == _OWN else None,
                include_dashboard=False,
                log_to_driver=False,  # what workers have to say comes back as results and errors
                logging_level=logging.ERROR,
            )
    except (OSError, RayError, RuntimeError, ValueError) as error:
        raise ValueError(
            f"ray must be {_OWN!r}, or the address of a Ray cluster that runs, got {address!r}: "
            f"{_first_line(error)}. 'ray start --head' starts one and says its HOST:PORT; one that "
            "wants a token needs RAY_AUTH_MODE=token here"
        ) from error


def _reach(address: str) -> None:
    """Refuse HOST:PORT if nobody answers there; other addresses are for Ray to look up."""
    if address == "auto":
        address = os.environ.get("RAY_ADDRESS", "")
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or "/" in host:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise ConnectionError(f"nobody answers at {address} ({error})") from error


@contextmanager
def _one_attempt() -> Iterator[None]:
    """Have Ray give up on a cluster after 40 seconds, and not 20 times as many."""
    given = os.environ.get(_ATTEMPTS)
    os.environ[_ATTEMPTS] = given or "1"
    try:
        yield
    finally:
        if given is None:
            del os.environ[_ATTEMPTS]


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


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
