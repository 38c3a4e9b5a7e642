"""Experiments in parallel processes, every finished query on disk at once."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from ital.engine import cores
from ital.evaluation.experiment import Player, Result, Selector, Settings, Unit, check, units
from ital.evaluation.journal import Journal

_player: Player | None = None


def run(
    settings: Settings,
    out: Path,
    processes: int | None = None,
    progress: Callable[[str, int, int], None] = lambda strategy, done, total: None,
) -> None:
    """Play what is not yet in the folder ``out``; results are the same for any number of processes.

    ``progress`` is told how many queries of a strategy are done.
    """
    for label in settings.strategies:
        check(label)  # mistakes are to be found before anything is written
    player = Player.of(settings)
    everything = units(player.dataset, settings)
    each = len(everything) // len(settings.strategies)
    with Journal(out).begun(settings, each, player.fingerprint()) as journal:
        there = {
            Unit(label, result.task, result.place)
            for label in settings.strategies
            for result in journal.results(label)
        }
        done = Counter(unit.strategy for unit in there)
        for label in settings.strategies:
            progress(label, done[label], each)
        waiting = [unit for unit in everything if unit not in there]
        for unit, played in _played(waiting, settings, out, processes or cores()):
            journal.add(unit, *played)
            done[unit.strategy] += 1
            progress(unit.strategy, done[unit.strategy], each)
        for label in settings.strategies:
            journal.finish(label)


def _played(
    waiting: list[Unit], settings: Settings, out: Path, processes: int
) -> Iterator[tuple[Unit, tuple[Result, list[float]]]]:
    """What came of queries, in the order in which they are finished."""
    if not waiting:
        return
    workers = min(processes, len(waiting))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _start, (settings,)) as pool:
        running: dict[Future[tuple[Result, list[float]]], Unit] = {}
        try:
            while waiting or running:
                # A few ahead of the workers, so that none waits for this process.
                while waiting and len(running) < 2 * workers:
                    unit = waiting.pop(0)
                    running[pool.submit(_play, unit)] = unit
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(future), future.result()
        except BrokenExecutor as error:
            raise RuntimeError(
                f"a worker process ended too soon; what is finished is kept in {out}, and the same "
                "command goes on with it"
            ) from error
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def evaluate(
    selector: Selector,
    data: str = "digits",
    name: str = "mine",
    out: Path | None = None,
    **settings: Any,
) -> list[Result]:
    """Play all queries of a data set with anything that has ``select``, in this process.

    ``settings`` are those of ``Settings``. With ``out``, a folder of runs, the results are written
    there under the method's ``name``, beside those of `ital bench run` with the same settings, and
    `ital bench report` has them in its tables.
    """
    chosen = Settings(data, (name,), **settings)
    player = Player.of(chosen)
    everything = units(player.dataset, chosen)
    with threadpool_limits(1):
        if out is None:
            return [player.play(unit, selector)[0] for unit in everything]
        folder = out / chosen.folder
        with Journal(folder).begun(chosen, len(everything), player.fingerprint()) as journal:
            there = {(one.task, one.place) for one in journal.results(name)}
            for unit in everything:
                if (unit.task, unit.place) not in there:
                    journal.add(unit, *player.play(unit, selector))
            journal.finish(name)
            return journal.results(name)


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
