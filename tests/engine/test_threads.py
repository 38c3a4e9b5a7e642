from __future__ import annotations

import threading

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
