"""Blocks of a pool on the threads of this machine.

NumPy gives up the interpreter's lock inside its loops, so that threads share the features without
a copy. Each thread gets one contiguous share, as one machine of several would.
"""

from __future__ import annotations

import functools
import itertools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import ClassVar

from threadpoolctl import ThreadpoolController

_LEAST_BLOCKS = 4
"""Blocks that a thread needs to be worth starting."""


@functools.cache
def _blas() -> ThreadpoolController:
    """The BLAS libraries in this process; to find them takes milliseconds, hence once."""
    return ThreadpoolController().select(user_api="blas")


class _Held:
    """How many are within ``_one_blas_thread``, and what BLAS had before the first of them."""

    lock = threading.Lock()
    count = 0
    before: ClassVar[list[int]] = []


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread, which is a setting of the whole process.

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


def for_blocks(work: Callable[[int, int], None], size: int, block: int) -> None:
    """Call ``work(start, stop)`` for every block of at most ``block`` rows of ``size``.

    Within such work it goes on in the same thread: all cores are at it already.
    """
    workers = min(_workers(), size // (_LEAST_BLOCKS * block))
    if getattr(_inside, "work", False):
        workers = 1
    if workers <= 1:
        _share(work, 0, size, block)
        return
    bounds = [size * i // workers for i in range(workers + 1)]
    with _one_blas_thread(), ThreadPoolExecutor(workers) as threads:
        shares = [
            threads.submit(_share_in_thread, work, start, stop, block)
            for start, stop in itertools.pairwise(bounds)
        ]
        for share in shares:
            share.result()


def _share_in_thread(work: Callable[[int, int], None], start: int, stop: int, block: int) -> None:
    _inside.work = True  # the thread ends with its share
    _share(work, start, stop, block)


def _share(work: Callable[[int, int], None], start: int, stop: int, block: int) -> None:
    for lo in range(start, stop, block):
        work(lo, min(stop, lo + block))
