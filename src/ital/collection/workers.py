"""Who reads files: the threads of this process, or the workers of a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from ital.collection.scan import File
from ital.engine import cores

T = TypeVar("T")

Task = Callable[[Sequence[File]], T]
"""What is done with a batch of files."""


class Workers(ABC):
    """Whoever works on batches of files, many at once.

    Args:
        count: how many batches are worked on at a time.

    """

    def __init__(self, count: int) -> None:
        self._ahead = 2 * count

    def map(self, make: Callable[[], Task[T]], batches: Iterable[Sequence[File]]) -> Iterator[T]:
        """What comes of each batch, in their order, with a few of them under way.

        ``make`` makes what does the work, once in each process that takes part, and is sent there.
        """
        submit = self._begin(make)
        waiting: deque[Future[T]] = deque()
        for batch in batches:
            waiting.append(submit(batch))
            if len(waiting) > self._ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    @abstractmethod
    def _begin(self, make: Callable[[], Task[T]]) -> Callable[[Sequence[File]], Future[T]]:
        """What has a batch worked on, by what ``make`` makes."""


class _Threads(Workers):
    def __init__(self, pool: ThreadPoolExecutor, count: int) -> None:
        super().__init__(count)
        self._pool = pool

    def _begin(self, make: Callable[[], Task[T]]) -> Callable[[Sequence[File]], Future[T]]:
        task = make()
        return lambda batch: self._pool.submit(task, batch)


@contextmanager
def threads() -> Iterator[Workers]:
    """A thread of this process for each of its cores."""
    pool = ThreadPoolExecutor(cores(), thread_name_prefix="ital-decode")
    try:
        yield _Threads(pool, cores())
    finally:
        pool.shutdown(cancel_futures=True)  # of which there are some after an error or Ctrl-C
