"""Blocks of a pool on the threads of this machine.

NumPy gives up the interpreter's lock inside its loops, so that threads share the features without
a copy. Each thread gets one contiguous share, as one machine of several would.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from threadpoolctl import ThreadpoolController

_LEAST_BLOCKS = 4
"""Blocks that a thread needs to be worth starting."""


@functools.cache
def _blas() -> ThreadpoolController:
    """The BLAS libraries in this process; to find them takes milliseconds, hence once."""
    return ThreadpoolController().select(user_api="blas")


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _workers() -> int:
    # BLAS held to one thread (by the environment or by threadpoolctl) means: one thread here too.
    threads: list[int] = [library.num_threads for library in _blas().lib_controllers]
    return max(1, min([cores(), *threads]))


def for_blocks(work: Callable[[int, int], None], size: int, block: int) -> None:
    """Call ``work(start, stop)`` for every block of at most ``block`` rows of ``size``."""
    workers = min(_workers(), size // (_LEAST_BLOCKS * block))
    if workers <= 1:
        _share(work, 0, size, block)
        return
    bounds = [size * i // workers for i in range(workers + 1)]
    with _blas().limit(limits=1), ThreadPoolExecutor(workers) as threads:
        shares = [
            threads.submit(_share, work, start, stop, block)
            for start, stop in itertools.pairwise(bounds)
        ]
        for share in shares:
            share.result()


def _share(work: Callable[[int, int], None], start: int, stop: int, block: int) -> None:
    for lo in range(start, stop, block):
        work(lo, min(stop, lo + block))
