"""Blocks of a pool on the threads of this machine.

NumPy gives up the interpreter's lock inside its loops, so that threads share the features without
a copy.
"""

from __future__ import annotations

import functools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import ClassVar

from threadpoolctl import ThreadpoolController

_LEAST_BLOCKS = 4
"""Blocks that a thread needs to be worth waking."""

_LEAST_ROWS, _MOST_ROWS = 1 << 13, 1 << 15
"""In a block of rows that take little each."""


@functools.cache
def _blas() -> ThreadpoolController:
    """The BLAS libraries in this process; to find them takes milliseconds, hence once."""
    return ThreadpoolController().select(user_api="blas")


class _Held:
    """How many are within ``one_blas_thread``, and what BLAS had before the first of them."""

    lock = threading.Lock()
    count = 0
    before: ClassVar[list[int]] = []


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread, which is a setting of the whole process.

    Whoever calls `for_blocks` again and again does well to hold it all the while: after each small
    product, the threads of BLAS spin for a while on the cores that those of `for_blocks` need.
    Of several at once the first one sets it and the last one puts it back. By themselves the first
    would put it back too early, and the last would put back what the first had set.
    """
    with _Held.lock:
        if _Held.count == 0:
            _Held.before = _blas_threads()
            _set_blas_threads([1] * len(_Held.before))
        _Held.count += 1
    try:
        yield
    finally:
        with _Held.lock:
            _Held.count -= 1
            if _Held.count == 0:
                _set_blas_threads(_Held.before)


def _blas_threads() -> list[int]:
    return [library.num_threads for library in _blas().lib_controllers]


def _set_blas_threads(counts: list[int]) -> None:
    for library, count in zip(_blas().lib_controllers, counts, strict=True):
        # Of late, threadpoolctl lets the first thread alone set it until that gives up control.
        release = getattr(library, "clear_controlling_thread", lambda force: None)
        release(force=True)
        library.set_num_threads(count)
        release(force=True)


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _workers() -> int:
    # BLAS held to one thread (by the environment or by threadpoolctl) means: one thread here too.
    with _Held.lock:
        threads = _Held.before if _Held.count else _blas_threads()
    return max(1, min([cores(), *threads]))


_inside = threading.local()
"""Whether this thread is one of those that work on blocks."""


def block_rows(size: int) -> int:
    """How many of so many rows to take at a time where each takes little.

    As many as a core's cache holds: between two calls of NumPy a thread may have to wait for the
    interpreter's lock. But no more than leave something to do for other threads.
    """
    return min(_MOST_ROWS, max(_LEAST_ROWS, size // (2 * _LEAST_BLOCKS)))


def at_work(size: int, block: int) -> int:
    """How many threads work on blocks of so many rows of ``size``: few are not worth many."""
    return max(1, min(_workers(), size // (_LEAST_BLOCKS * block)))


@functools.cache
def _helpers() -> ThreadPoolExecutor:
    """Threads that stay, beside the one that calls: starting one takes longer than most work."""
    return ThreadPoolExecutor(max(1, cores() - 1), "ital")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)  # threads do not survive a fork


def for_blocks(work: Callable[[int, int], None], size: int, block: int) -> None:
    """Call ``work(start, stop)`` for every block of at most ``block`` rows of ``size``.

    Blocks are the same on any number of threads, each of which takes the next one that is left.
    Within such work it goes on in the same thread: all cores are at it already.
    """
    starts = iter(range(0, size, block))  # gives each once, whichever thread asks

    def share() -> None:
        try:
            for start in starts:
                work(start, min(size, start + block))
        except BaseException:
            deque(starts, maxlen=0)  # nothing is left for the others
            raise

    helpers = at_work(size, block) - 1
    if helpers == 0 or getattr(_inside, "work", False):
        share()
        return
    with one_blas_thread():
        shares = [_helpers().submit(_alone, share) for _ in range(helpers)]
        try:
            _alone(share)
        finally:
            # A helper that is still busy elsewhere has nothing left to do here.
            running = [one for one in shares if not one.cancel()]
            wait(running)
    for one in running:
        one.result()


def _alone(share: Callable[[], None]) -> None:
    """Without further threads for blocks within its blocks."""
    _inside.work = True
    try:
        share()
    finally:
        _inside.work = False
