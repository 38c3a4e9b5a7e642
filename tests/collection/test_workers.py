from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import pytest

from ital.collection.scan import File
from ital.collection.workers import threads
from ital.engine import cores

BATCHES = [[File(f"{number}", number, 0)] for number in range(50)]


def test_in_order_with_a_few_under_way():
    begun, made = [], []

    def work(files: Sequence[File]) -> int:
        begun.append(files[0].size)
        time.sleep(0.002 * (files[0].size % 3))
        return files[0].size

    def make():
        made.append(threading.current_thread())
        return work

    with threads() as workers:
        found = workers.map(make, iter(BATCHES))
        assert next(found) == 0
        assert max(begun) <= 2 * cores()
        assert list(found) == list(range(1, 50))
    assert len(made) == 1


def test_what_fails_fails_here_and_nothing_goes_on():
    begun = []

    def work(files: Sequence[File]) -> None:
        begun.append(files[0].size)
        raise KeyError(files[0].path)

    with pytest.raises(KeyError, match="0"), threads() as workers:
        list(workers.map(lambda: work, BATCHES))
    assert len(begun) <= 2 * cores() + 1
