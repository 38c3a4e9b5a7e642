"""Experiments in parallel, every finished query on disk at once.

Queries are played by this process, by several of this machine or by a cluster; any of them is a
``Submit`` within a context that ends with the run.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    as_completed,
)
from contextlib import AbstractContextManager, contextmanager
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from ital.engine import cores
from ital.evaluation.experiment import (
    Player,
    Result,
    Selector,
    Settings,
    Submit,
    Unit,
    check,
    units,
)
from ital.evaluation.journal import Journal
from ital.extras import needed_for

_player: Player | None = None


def run(
    settings: Settings,
    out: Path,
    processes: int | None = None,
    progress: Callable[[str, int, int], None] = lambda strategy, done, total: None,
    ray: str | None = None,
) -> None:
    """Play what is not yet in the folder ``out``; results are the same whoever plays.

    ``progress`` is told how many queries of a strategy are done. ``ray`` is the address of a Ray
    cluster, or ``"local"`` for one on this machine that ends with the run; if ``None``, there are
    as many ``processes`` as cores, or as are given.
    """
    for label in settings.strategies:
        check(label)  # mistakes are to be found before anything is written
    player = Player.of(settings)
    everything = units(player.dataset, settings)
    each = len(everything) // len(settings.strategies)
    try:
        with (
            _workers(player, processes, ray) as submit,
            Journal(out).begun(settings, each, player.fingerprint()) as journal,
        ):
            there = {
                Unit(label, result.task, result.place)
                for label in settings.strategies
                for result in journal.results(label)
            }
            done = Counter(unit.strategy for unit in there)
            for label in settings.strategies:
                progress(label, done[label], each)
            running = {submit(unit): unit for unit in everything if unit not in there}
            for future in as_completed(running):
                unit = running.pop(future)
                journal.add(unit, *future.result())
                done[unit.strategy] += 1
                progress(unit.strategy, done[unit.strategy], each)
            for label in settings.strategies:
                journal.finish(label)
    except BrokenExecutor as error:
        raise RuntimeError(
            f"{error}; what is finished is kept in {out}, and the same command goes on with it"
        ) from error


def _workers(
    player: Player, processes: int | None, ray: str | None
) -> AbstractContextManager[Submit]:
    if ray is None:
        count = processes or cores()
        return _here(player) if count == 1 else _processes(player.settings, count)
    with needed_for("a run over a cluster"):
        from ital.evaluation.cluster import connected
    return connected(ray, player, processes)


@contextmanager
def _here(player: Player) -> Iterator[Submit]:
    """This process, where one is all that there is to be: no other has to be started."""
    pool = ThreadPoolExecutor(1)
    with threadpool_limits(1):
        try:
            yield lambda unit: pool.submit(player.play, unit)
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _processes(settings: Settings, count: int) -> Iterator[Submit]:
    """Processes of this machine, each of which is started when there is a query for it."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(count, context, _start, (settings,))
    try:
        yield lambda unit: pool.submit(_play, unit)
    except BrokenExecutor as error:
        raise BrokenExecutor("a worker process ended too soon") from error
    finally:
        # Left by the pool's own context, it would play all that waits after Ctrl-C.
        pool.shutdown(cancel_futures=True)


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
