"""Shards on a Ray cluster: actors hold them, and are started again when they die.

An actor holds the objects of one shard, of all groups that are built on each other. What made them
and what they were told since is on record here, so that a new actor can be brought to where the old
one was: nothing but time is lost with it.
"""

from __future__ import annotations

import itertools
import logging
import mmap
import os
import socket
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt
import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayError, RayTaskError
from threadpoolctl import threadpool_limits

from ital import checks
from ital.engine.cut import Cut
from ital.engine.group import ClusterError, Engine, Group
from ital.engine.threads import cores

P = ParamSpec("P")
T = TypeVar("T")
U = TypeVar("U")

OWN = "local"
"""The address that stands for a Ray of our own on this machine."""

_PATIENCE = 10.0
"""Seconds in which somebody has to answer at an address."""

_ATTEMPTS = "RAY_gcs_server_port_wait_time_s"
"""What tells Ray how often to try to connect, and how long to wait for a Ray that it starts."""

_ROOM = 60.0
"""Seconds in which an actor has to find a place."""

_LIVES = 5
"""How often in a row an actor may die before it has come to where it was."""


def connect(address: str, processors: int | None = None) -> None:
    """Connect to the cluster at an address, or start a Ray of our own with so many processors.

    Whoever is connected already stays so.
    """
    if ray.is_initialized():
        return
    try:
        _reach(address)
        with _started_at_once() if address == OWN else _one_attempt():
            ray.init(
                address,
                num_cpus=processors or cores() if address == OWN else None,
                include_dashboard=False,
                log_to_driver=False,  # what workers have to say comes back as results and errors
                logging_level=logging.ERROR,
            )
    except (OSError, RayError, RuntimeError, ValueError) as error:
        raise ValueError(
            f"ray must be {OWN!r}, or the address of a Ray cluster that runs, got {address!r}: "
            f"{first_line(error)}. 'ray start --head' starts one and says its HOST:PORT; one that "
            "wants a token needs RAY_AUTH_MODE=token here"
        ) from error


@contextmanager
def connection(address: str, processors: int | None = None) -> Iterator[None]:
    """A connection that ends with whoever made it; what fails on the way is raised as it was.

    Of somebody who was connected already it is theirs, and stays.
    """
    ours = not ray.is_initialized()
    connect(address, processors)
    try:
        yield
    except RayError as error:
        cause = getattr(error, "cause", error)  # what a task raised, if it was not Ray that failed
        if not isinstance(cause, RayError):
            raise cause from error
        raise BrokenExecutor(f"the cluster failed ({first_line(cause)})") from error
    finally:
        if ours:
            ray.shutdown()


def processors() -> int:
    """Processors of the cluster."""
    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return max(1, int(resources.get("CPU", 1)))


def first_line(error: Exception) -> str:
    """What an error says, in short."""
    return next(iter(str(error).splitlines()), type(error).__name__)


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
def _started_at_once() -> Iterator[None]:
    """Leave out what libraries say of forks: those by which Ray starts programs end at once."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*fork")
        yield


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


class RayEngine(Engine):
    """Shards as actors of a Ray cluster.

    Args:
        address: of the cluster; ``"local"`` starts a Ray of its own on this machine, and ``"auto"``
            is one that runs here already.
        shards: how many; as many as the cluster has processors if ``None``.

    """

    def __init__(self, address: str = OWN, shards: int | None = None) -> None:
        if shards is not None:
            checks.whole_number(shards, "shards", least=1)
        connect(address, shards and max(shards, cores()))
        there = processors()
        self.shards = shards or there
        # More than there are processors share these, for actors that have to wait for one would
        # wait for ever.
        self._share = min(1.0, there / self.shards)
        if self.shards > there:
            warnings.warn(
                f"{self.shards} shards are more than the {there} processors of the cluster, "
                "which they will share",
                stacklevel=2,
            )

    def group(self, images: int, make: Callable[..., T], *args: Any) -> Group[T]:
        cut = Cut.of(images, self.shards)
        # Once for all, whatever dies. A file is not sent: each actor opens it where it is.
        stored = [_Mapped.of(one) or ray.put(one) for one in args]
        shards = [_Shard(self._share, f"shard {i + 1} of {len(cut)}") for i in range(len(cut))]
        group: _Remote[T] = _Remote(cut, shards, None)
        group.carry_out("make", [(make, first, last, *stored) for first, last in cut])
        return group


@dataclass(frozen=True)
class _Mapped:
    """An array in a file, by where it is."""

    path: str
    dtype: str
    offset: int
    shape: tuple[int, ...]
    order: Literal["C", "F"]

    @staticmethod
    def of(array: Any) -> _Mapped | None:
        """Of a whole memory map, as it is or as an array of the plain kind; ``None`` of others."""
        whole = array if isinstance(array, np.memmap) else getattr(array, "base", None)
        base: object = getattr(whole, "base", None)
        if not isinstance(whole, np.memmap) or not isinstance(base, mmap.mmap):
            return None
        if whole.__array_interface__ != array.__array_interface__:
            return None
        order: Literal["C", "F"] = "C" if whole.flags.c_contiguous else "F"
        place = str(whole.filename), whole.dtype.str, int(whole.offset)
        return _Mapped(*place, whole.shape, order)

    def open(self) -> npt.NDArray[Any]:
        return np.memmap(self.path, self.dtype, "r", self.offset, self.shape, self.order)


class _Host:
    """What an actor runs: the objects of a shard, by key."""

    def __init__(self) -> None:
        threadpool_limits(1)  # the actors share the processors, each with one thread
        self._objects: dict[int, Any] = {}

    def ready(self) -> None:
        """Say so."""

    def make(self, key: int, make: Callable[..., Any], *args: Any) -> None:
        opened = (one.open() if isinstance(one, _Mapped) else one for one in args)
        self._objects[key] = make(*opened)

    def build(
        self, key: int, base: int, make: Callable[..., Any], args: Any, kwargs: dict[str, Any]
    ) -> None:
        self._objects[key] = make(self._objects[base], *args, **kwargs)

    def call(self, key: int, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
        return getattr(self._objects[key], name)(*args, **kwargs)

    def drop(self, key: int) -> None:
        del self._objects[key]


class _Shard:
    """An actor, and the record of all that made its objects what they are."""

    def __init__(self, share: float, name: str) -> None:
        self._share, self._name = share, name
        self._record: list[tuple[int, str, Sequence[Any]]] = []
        self._dropped: list[int] = []
        self._lock = threading.Lock()
        self._generation = 0
        self._actor: Any = self._start()

    def submit(
        self, key: int, method: str, args: Sequence[Any], recorded: bool, lives: int = _LIVES
    ) -> Callable[[], Any]:
        """Have the actor do something, which what is given back waits for.

        What is ``recorded`` is done again by every actor that has to begin anew.
        """
        entry = key, method, args
        with self._lock:
            self._forget()
            if recorded:
                self._record.append(entry)
            generation, reference = self._generation, self._send(*entry)

        def outcome() -> Any:
            try:
                return ray.get(reference)
            except RayTaskError as error:
                with self._lock:
                    self._record = [one for one in self._record if one is not entry]
                raise error.cause from error
            except RayActorError as error:
                if not lives:
                    raise self._given_up(error) from error
                self._revive(generation)
            return None if recorded else self.submit(*entry, False, lives - 1)()

        return outcome

    def drop(self, key: int) -> None:
        """Forget an object, when there is something else to do.

        The collector of garbage may call this at any moment, with whatever lock in its hands.
        """
        self._dropped.append(key)

    def _forget(self) -> None:
        while self._dropped:
            key = self._dropped.pop()
            self._record = [one for one in self._record if one[0] != key]
            self._actor.drop.remote(key)

    def _send(self, key: int, method: str, args: Sequence[Any]) -> Any:
        return getattr(self._actor, method).remote(key, *args)

    def _start(self) -> Any:
        actor: Any = ray.remote(_Host).options(num_cpus=self._share).remote()
        try:
            ray.get(actor.ready.remote(), timeout=_ROOM)
        except GetTimeoutError as error:
            raise ClusterError(
                f"the cluster found no room for {self._name} within {_ROOM} seconds: it needs "
                f"{self._share:g} processors"
            ) from error
        return actor

    def _revive(self, generation: int) -> None:
        """Another actor in place of a dead one, brought to where that was."""
        with self._lock:
            if generation != self._generation:
                return  # somebody else has seen to it
            for lives in reversed(range(_LIVES)):
                ray.kill(self._actor)  # it may only be out of reach
                try:
                    self._actor = self._start()
                    ray.get([self._send(*one) for one in self._record])
                except RayActorError as error:
                    if not lives:
                        raise self._given_up(error) from error
                else:
                    self._generation += 1
                    return

    def _given_up(self, error: RayActorError) -> ClusterError:
        return ClusterError(f"{self._name} died {_LIVES} times in a row: {first_line(error)}")


_keys = itertools.count()


class _Remote(Group[T]):
    """Objects in actors, which are those of the group that they are built on, if there is one."""

    def __init__(self, cut: Cut, shards: list[_Shard], base: Group[Any] | None) -> None:
        super().__init__(cut)
        self._key = next(_keys)
        self._shards = shards
        self._base = base  # it must not be dropped before
        weakref.finalize(self, _drop, shards, self._key).atexit = False

    def tell(
        self, order: Callable[Concatenate[T, P], None], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        self.carry_out("call", [(order.__name__, args, kwargs)] * len(self))

    def build(
        self, make: Callable[Concatenate[T, P], U], *args: P.args, **kwargs: P.kwargs
    ) -> Group[U]:
        group: _Remote[U] = _Remote(self.cut, self._shards, self)
        group.carry_out("build", [(self._key, make, args, kwargs)] * len(self))
        return group

    def carry_out(self, method: str, for_each: list[tuple[Any, ...]]) -> None:
        """Have each shard do something that stays on record."""
        pairs = zip(self._shards, for_each, strict=True)
        for outcome in [shard.submit(self._key, method, one, True) for shard, one in pairs]:
            outcome()

    def _ask(
        self, question: str, args: Sequence[Any], asked: list[tuple[int, dict[str, Any]]]
    ) -> list[Any]:
        outcomes = [
            self._shards[i].submit(self._key, "call", (question, args, more), False)
            for i, more in asked
        ]
        return [_own(outcome()) for outcome in outcomes]


def _own(answer: Any) -> Any:
    """An answer that may be changed: Ray's arrays are everybody's, and not to be written to."""
    return answer.copy() if isinstance(answer, np.ndarray) else answer


def _drop(shards: list[_Shard], key: int) -> None:
    for shard in shards:
        shard.drop(key)
