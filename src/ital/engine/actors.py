"""Shards in the actors of a Ray cluster, which are started again when they die.

An actor holds the objects of one shard, of all groups that are built on each other. What made them
and what they were told since is on record here, so that a new actor can be brought to where the old
one was: nothing but time is lost with it.

All of this is in the process of the driver (see ``driver.py``). What is meant for the objects comes
pickled, and is handed on as it is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import ray
from ray import cloudpickle
from ray.exceptions import GetTimeoutError, OutOfMemoryError, RayActorError, RayError, RayTaskError
from threadpoolctl import threadpool_limits

from ital.engine.connection import first_line, processors
from ital.engine.cut import Cut
from ital.engine.group import ClusterError
from ital.engine.mapped import Mapped

_ROOM = 60.0
"""Seconds in which an actor has to find a place."""

_LIVES = 5
"""How often in a row an actor may die before it has come to where it was."""

_LESS_MEMORY = "more shards on more machines, or features in float16, need less memory on each"

_DEAD = (RayActorError, OutOfMemoryError)
"""What Ray says of an actor that has died, or that it has killed when memory ran out."""


class Actors:
    """Groups of objects in actors, by keys. Those that are built on each other share actors."""

    def __init__(self) -> None:
        self._groups: dict[int, _Group] = {}

    def processors(self) -> int:
        """Of the whole cluster."""
        return processors()

    def make(self, key: int, cut: Cut, share: float, make: bytes, arrays: Sequence[Any]) -> None:
        """Make objects of arrays, each in an actor that takes this share of a processor."""
        # Once for all, whatever dies. A file is not sent: each actor opens it where it is.
        stored = [one if isinstance(one, Mapped) else _put(one) for one in arrays]
        names = [f"shard {i + 1} of {len(cut)}" for i in range(len(cut))]
        with ThreadPoolExecutor(len(cut)) as together:
            shards = list(together.map(lambda name: _Shard(share, name), names))
        group = _Group(key, shards)
        group.carry_out("make", [(make, first, last, *stored) for first, last in cut])
        self._groups[key] = group

    def build(self, key: int, base: int, makes: Sequence[bytes]) -> None:
        """Make an object of one of another group in each actor, in the way of each."""
        group = _Group(key, self._groups[base].shards)
        self._groups[key] = group
        group.carry_out("build", [(base, make) for make in makes])

    def tell(self, key: int, order: str, args: bytes, kwargs: bytes) -> None:
        group = self._groups[key]
        group.carry_out("call", [(order, args, kwargs)] * len(group.shards))

    def ask(
        self, key: int, question: str, args: bytes, asked: Sequence[tuple[int, bytes]]
    ) -> list[Any]:
        return self._groups[key].ask([(i, (question, args, more)) for i, more in asked])

    def drop(self, keys: Sequence[int]) -> None:
        """Forget groups, and actors of which no group is left."""
        for key in keys:
            if key in self._groups:
                self._groups.pop(key).drop()


def _put(array: Any) -> Any:
    try:
        return ray.put(array)
    except RayError as error:
        raise ClusterError(
            f"the cluster has no room for the features ({first_line(error)}): it needs none for a "
            "memory map of a file that all of its machines have, and less for float16"
        ) from error


@dataclass
class _Group:
    """Objects of the same key, one in the actor of each shard."""

    key: int
    shards: list[_Shard]
    lost: str | None = None
    """Why nothing is to be made of them any more, if they may be at odds with each other."""

    def carry_out(self, method: str, for_each: list[tuple[Any, ...]]) -> None:
        """Have each shard do something that stays on record."""
        self._check()
        pairs = zip(self.shards, for_each, strict=True)
        found = _outcomes([shard.submit(self.key, method, one, True) for shard, one in pairs])
        errors = [one for one in found if isinstance(one, Exception)]
        for error in errors:
            if isinstance(error, ClusterError):
                self.lost = str(error)  # the others may have done it
                raise error
        if errors:
            raise errors[0]

    def ask(self, asked: list[tuple[int, tuple[Any, ...]]]) -> list[Any]:
        self._check()
        found = _outcomes([self.shards[i].submit(self.key, "call", one, False) for i, one in asked])
        for one in found:
            if isinstance(one, Exception):
                raise one
        return [_own(one) for one in found]

    def drop(self) -> None:
        for shard in self.shards:
            shard.drop(self.key)

    def _check(self) -> None:
        if self.lost is not None:
            raise ClusterError(self.lost)


def _outcomes(under_way: list[_UnderWay]) -> list[Any]:
    """What comes of all that is under way: answers, or errors."""
    try:
        answers: list[Any] = ray.get([one.reference for one in under_way])
    except RayError:
        # Those who lost their actors need as long for new ones as one of them alone.
        with ThreadPoolExecutor(len(under_way)) as together:
            return list(together.map(_outcome, under_way))
    return answers


def _outcome(under_way: _UnderWay) -> Any:
    try:
        return under_way.finish()
    except Exception as error:
        return error


def _own(answer: Any) -> Any:
    """An answer that may be changed: Ray's arrays are everybody's, and not to be written to."""
    return answer.copy() if isinstance(answer, np.ndarray) else answer


@dataclass(frozen=True)
class _UnderWay:
    """What an actor has been sent, and what waits for it, whatever becomes of the actor."""

    reference: Any
    finish: Callable[[], Any]


class _Shard:
    """An actor, and the record of all that made its objects what they are."""

    def __init__(self, share: float, name: str) -> None:
        self._share, self._name = share, name
        self._record: list[tuple[int, str, Sequence[Any]]] = []
        self._dropped: list[int] = []
        self._lock = threading.Lock()
        self._generation = 0
        self._lost: str | None = None
        self._actor: Any = None
        self._begin()

    def submit(
        self, key: int, method: str, args: Sequence[Any], recorded: bool, lives: int = _LIVES
    ) -> _UnderWay:
        """Have the actor do something.

        What is ``recorded`` is done again by every actor that has to begin anew.
        """
        entry = key, method, args
        with self._lock:
            if self._lost is not None:
                raise ClusterError(self._lost)
            self._forget()
            if recorded:
                self._record.append(entry)
            generation, reference = self._generation, self._send(*entry)

        def finish() -> Any:
            try:
                return ray.get(reference)
            except RayTaskError as error:
                with self._lock:
                    self._record = [one for one in self._record if one is not entry]
                raise self._failure(error) from error
            except _DEAD as error:
                if not lives:
                    raise self._given_up(error) from error
                self._revive(generation)
            return None if recorded else self.submit(*entry, False, lives - 1).finish()

        return _UnderWay(reference, finish)

    def drop(self, key: int) -> None:
        """Forget an object, when there is something else to do."""
        self._dropped.append(key)

    def _forget(self) -> None:
        while self._dropped:
            key = self._dropped.pop()
            self._record = [one for one in self._record if one[0] != key]
            self._actor.drop.remote(key)

    def _send(self, key: int, method: str, args: Sequence[Any]) -> Any:
        return getattr(self._actor, method).remote(key, *args)

    def _revive(self, generation: int) -> None:
        """Another actor in place of a dead one."""
        with self._lock:
            if generation != self._generation:
                return  # somebody else has seen to it
            ray.kill(self._actor)  # it may only be out of reach
            self._begin()
            self._generation += 1

    def _begin(self) -> None:
        """A new actor, brought to where the old one was."""
        for lives in reversed(range(_LIVES)):
            self._actor = ray.remote(Host).options(num_cpus=self._share).remote()
            try:
                ray.get(self._actor.ready.remote(), timeout=_ROOM)
                ray.get([self._send(*one) for one in self._record])
            except _DEAD as error:
                if not lives:
                    raise self._given_up(error) from error
            except GetTimeoutError as error:
                self._lost = (
                    f"the cluster found no room for {self._name} within {_ROOM:g} seconds: it "
                    f"needs {self._share:g} processors"
                )
                raise ClusterError(self._lost) from error
            except RayTaskError as error:
                self._lost = str(self._failure(error))
                raise ClusterError(self._lost) from error
            else:
                return

    def _failure(self, error: RayTaskError) -> Exception:
        """What an actor that lives on has raised."""
        cause: Exception = error.cause
        if isinstance(cause, MemoryError):
            return ClusterError(
                f"{self._name} has too little memory ({first_line(cause)}): {_LESS_MEMORY}"
            )
        return cause

    def _given_up(self, error: Exception) -> ClusterError:
        """What is said of this shard from now on, whatever becomes of it.

        What it was told last may have reached the others, and not whoever told it.
        """
        advice = f": {_LESS_MEMORY}" if "memory" in str(error) else ""
        self._lost = f"{self._name} died {_LIVES} times in a row ({first_line(error)}){advice}"
        return ClusterError(self._lost)


class Host:
    """What an actor runs: the objects of a shard, by key."""

    def __init__(self) -> None:
        threadpool_limits(1)  # the actors share the processors, each with one thread
        self._objects: dict[int, Any] = {}

    def ready(self) -> None:
        """Say so."""

    def make(self, key: int, make: bytes, first: int, last: int, *arrays: Any) -> None:
        opened = (one.open() if isinstance(one, Mapped) else one for one in arrays)
        self._objects[key] = cloudpickle.loads(make)(first, last, *opened)

    def build(self, key: int, base: int, make: bytes) -> None:
        function, args, kwargs = cloudpickle.loads(make)
        self._objects[key] = function(self._objects[base], *args, **kwargs)

    def call(self, key: int, name: str, args: bytes, more: bytes) -> Any:
        return getattr(self._objects[key], name)(
            *cloudpickle.loads(args), **cloudpickle.loads(more)
        )

    def drop(self, key: int) -> None:
        self._objects.pop(key, None)
