"""One thread at a time."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Turns:
    """A lock that one thread may hold several times; a copy, or a pickled one, is a new lock."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[Any, ...]:
        return Turns, ()


class _HasTurns(Protocol):
    _turns: Turns


S = TypeVar("S", bound=_HasTurns)


def in_turn(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """A method that waits while another thread is in one of the same object."""

    @functools.wraps(method)
    def waiting(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._turns:
            return method(self, *args, **kwargs)

    return waiting
