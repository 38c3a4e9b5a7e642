from __future__ import annotations

import os
import threading
import time

import pytest
from threadpoolctl import threadpool_limits

from ital.engine import for_blocks, threads


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize(("size", "block"), [(0, 4), (1, 4), (10, 3), (100, 7), (64, 64)])
def test_every_row_is_visited_once_in_blocks(monkeypatch, workers, size, block):
    monkeypatch.setattr(threads, "_workers", lambda: workers)
    seen, lock = [], threading.Lock()

    def work(start: int, stop: int) -> None:
        assert stop - start <= block
        with lock:
            seen.extend(range(start, stop))

    for_blocks(work, size, block)
    assert sorted(seen) == list(range(size))


@pytest.mark.parametrize("workers", [1, 3])
def test_errors_reach_the_caller(monkeypatch, workers):
    monkeypatch.setattr(threads, "_workers", lambda: workers)

    def work(start: int, stop: int) -> None:
        raise KeyError(start)

    with pytest.raises(KeyError):
        for_blocks(work, 100, 10)


def test_after_an_error_nothing_more_is_begun(monkeypatch):
    monkeypatch.setattr(threads, "_workers", lambda: 2)
    begun, failed = [], threading.Event()

    def work(start: int, stop: int) -> None:
        begun.append(start)
        if len(begun) == 1:
            failed.set()
            raise KeyError(start)
        failed.wait(60)
        time.sleep(0.01)  # the other thread has time to fail

    with pytest.raises(KeyError):
        for_blocks(work, 1000, 1)
    assert len(begun) < 20


def test_blocks_are_the_same_on_any_number_of_threads(monkeypatch):
    seen = {}
    for workers in (1, 2, 5):
        monkeypatch.setattr(threads, "_workers", lambda workers=workers: workers)
        blocks: list[tuple[int, int]] = []
        for_blocks(lambda lo, hi, blocks=blocks: blocks.append((lo, hi)), 1003, 10)
        seen[workers] = sorted(blocks)
    assert seen[1] == seen[2] == seen[5]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_process_that_was_forked_has_threads_of_its_own(monkeypatch):
    """Those of its parent are not in it."""
    monkeypatch.setattr(threads, "_workers", lambda: 2)
    for_blocks(lambda lo, hi: time.sleep(0.001), 100, 10)  # the parent's thread is there
    child = os.fork()
    if child == 0:
        seen: list[int] = []
        for_blocks(lambda lo, hi: seen.append(lo), 100, 10)
        os._exit(0 if sorted(seen) == list(range(0, 100, 10)) else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("size", [1, 8192, 20_000, 100_000, 10_000_000])
def test_rows_of_a_block(size):
    rows = threads.block_rows(size)
    assert 8192 <= rows <= 32768
    if size >= 10**6:
        assert size // (threads._LEAST_BLOCKS * rows) >= 2


def test_threads_at_work(monkeypatch):
    """As many as have four blocks each, one at the least, and no more than there are."""
    monkeypatch.setattr(threads, "_workers", lambda: 3)
    assert [threads.at_work(size, 10) for size in (0, 1, 79, 80, 119, 120, 10_000)] == [
        *(1, 1, 1, 2, 2, 3, 3)
    ]


def test_two_at_once_leave_blas_as_it_was(monkeypatch):
    """The first to end must not put it back, nor the second what the first had set."""
    monkeypatch.setattr(threads, "cores", lambda: 2)
    inside, leave = [threading.Event(), threading.Event()], [threading.Event(), threading.Event()]

    def use(number: int) -> None:
        def work(start: int, stop: int) -> None:
            inside[number].set()
            leave[number].wait()

        for_blocks(work, 8, 1)

    if not threads._blas_threads():
        pytest.skip("this BLAS lets nobody say how many threads it takes")
    with threadpool_limits(2):
        users = [threading.Thread(target=use, args=(number,)) for number in range(2)]
        try:
            for number in range(2):
                users[number].start()
                assert inside[number].wait(60)
            assert threads._workers() == 2
            for number in range(2):
                assert set(threads._blas_threads()) == {1}
                leave[number].set()
                users[number].join()
            assert set(threads._blas_threads()) == {2}
        finally:
            for event in leave:
                event.set()


def test_blocks_within_blocks_start_no_threads(monkeypatch):
    monkeypatch.setattr(threads, "_workers", lambda: 4)
    seen = set()

    def inner(start: int, stop: int) -> None:
        seen.add(threading.get_ident())

    def outer(start: int, stop: int) -> None:
        here = threading.get_ident()
        for_blocks(lambda lo, hi: inner(lo, hi) if here == threading.get_ident() else 1 / 0, 99, 1)

    for_blocks(outer, 64, 1)
    assert 1 <= len(seen) <= 4


def test_blas_held_to_one_thread_holds_us_to_one():
    with threadpool_limits(1):
        assert threads._workers() == 1
