"""Experiments in parallel processes, every finished query on disk at once."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from multiprocessing.connection import wait as wait_for
from pathlib import Path

from threadpoolctl import threadpool_limits

from ital.evaluation.experiment import Player, Result, Settings, Unit, units
from ital.evaluation.journal import Journal

_player: Player | None = None


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(
    settings: Settings,
    out: Path,
    processes: int | None = None,
    progress: Callable[[str, int, int], None] = lambda strategy, done, total: None,
) -> None:
    """Play what is not yet in the folder ``out``; results are the same for any number of processes.

    ``progress`` is told how many queries of a strategy are done.
    """
    journal = Journal(out)
    everything = units(Player.of(settings).dataset, settings)
    journal.begin(settings)
    total = {label: sum(u.strategy == label for u in everything) for label in settings.strategies}
    there = {
        Unit(label, result.task, result.place)
        for label in settings.strategies
        for result in journal.results(label)
    }
    done = {label: sum(unit.strategy == label for unit in there) for label in settings.strategies}
    for label in settings.strategies:
        progress(label, done[label], total[label])
    waiting = [unit for unit in everything if unit not in there]
    workers = min(processes or cores(), max(1, len(waiting)))
    with ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), _start, (settings,)
    ) as pool:
        running: dict[Future[tuple[Result, list[float]]], Unit] = {}
        try:
            while waiting or running:
                # A few ahead of the workers, so that none waits for this process.
                while waiting and len(running) < 2 * workers:
                    unit = waiting.pop(0)
                    running[pool.submit(_play, unit)] = unit
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    unit = running.pop(future)
                    journal.add(unit, *future.result())
                    done[unit.strategy] += 1
                    progress(unit.strategy, done[unit.strategy], total[unit.strategy])
        except BrokenExecutor as error:
            raise RuntimeError(
                f"a worker process was killed; what is finished is kept in {out}, and the same "
                "command goes on with it"
            ) from error
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    for label in settings.strategies:
        journal.finish(label)


def _start(settings: Settings) -> None:
    """Make a worker ready: one thread of its own, and an end with the process that started it."""
    global _player
    # Ctrl-C is for the process that started this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    threadpool_limits(1)
    _player = Player.of(settings)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os._exit(1)


def _play(unit: Unit) -> tuple[Result, list[float]]:
    assert _player is not None
    return _player.play(unit)
