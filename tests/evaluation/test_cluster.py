"""Runs over a Ray that is started here: the same files, whatever is killed."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import ray
from threadpoolctl import threadpool_info
from typer.testing import CliRunner

import rays
from ital.cli import app
from ital.evaluation import cluster
from ital.evaluation.experiment import Player, Settings, Unit, units
from ital.evaluation.journal import Journal
from ital.evaluation.runner import run
from runs import count, files

SETTINGS = Settings("digits", ("random", "svm"), queries=2, rounds=2, user="blend")
COMMAND = [
    sys.executable, "-m", "ital", "bench", "run", "--strategies", "random,svm", "--queries", "2",
    "--rounds", "2", "--user", "blend", "--ray", "local", "--processes", "2", "--out",
]  # fmt: skip
ENVIRONMENT = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "ITAL_DATA": ""}
"""Without data, and with more threads than one."""


@pytest.fixture(scope="module")
def ray_of_two() -> Iterator[rays.Head]:
    """A Ray of two workers, in processes of its own."""
    with rays.head(2, **ENVIRONMENT) as one:
        yield one


@pytest.fixture(scope="module")
def address(ray_of_two) -> str:
    return ray_of_two.address


@pytest.fixture(scope="module")
def undisturbed(ray_of_two, tmp_path_factory) -> Path:
    """A run without a cluster, which starts in the meantime."""
    folder = tmp_path_factory.mktemp("runs") / "digits-blend"
    run(SETTINGS, folder, 1)
    return folder


@rays.linux
def test_the_same_files_as_without_a_cluster(undisturbed, address, ray_of_two, tmp_path):
    """Although two workers are killed on the way."""
    told, killed = [], []

    def kill(strategy: str, done: int, total: int) -> None:
        told.append((strategy, done, total))
        while done > 0 and len(killed) < 2:
            for pid in ray_of_two.named("_play")[:1]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
            time.sleep(0.01)  # another worker is about to start, and needs the processor

    run(SETTINGS, tmp_path / "run", None, kill, address)
    assert len(killed) == 2
    assert files(tmp_path / "run") == files(undisturbed)
    assert told[:2] == [("random", 0, 20), ("svm", 0, 20)]
    assert len(told) == 42
    for label in SETTINGS.strategies:
        assert len(Journal(tmp_path / "run").seconds(label)) == 20 * 2
    assert not ray.is_initialized()


@pytest.fixture
def ours() -> Iterator[dict[str, str]]:
    with rays.environment(**ENVIRONMENT) as given:
        yield given


@rays.linux
def test_one_of_our_own_is_interrupted_and_another_goes_on(undisturbed, address, ours, tmp_path):
    folder = tmp_path / "digits-blend"
    for _ in range(5):
        process = subprocess.Popen(
            [*COMMAND, str(tmp_path)],
            env=ours,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        while process.poll() is None and count(folder) < 3:
            # It takes seconds to begin, and needs the processor; then a query takes no time at all.
            time.sleep(0.002 if folder.exists() else 0.05)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all that were started
        if process.wait():
            break
        shutil.rmtree(folder)  # it had come to its end before
    assert process.returncode == 130
    rays.wait(rays.session(process.pid))  # its agents notice a little later that it has ended
    there = count(folder)
    assert 3 <= there < 40
    told = []
    run(SETTINGS, folder, None, lambda *progress: told.append(progress), address)
    assert sum(done for _, done, _ in told[:2]) == there
    assert len(told) == 2 + 40 - there
    assert files(folder) == files(undisturbed)


def test_workers_need_no_files(address, monkeypatch, tmp_path):
    """Tasks with features of their own, which are read when they are asked for."""
    data, rng = tmp_path / "imagenet", np.random.default_rng(0)
    data.mkdir()
    for number in range(20):
        np.save(data / f"{number}.npy", rng.random((8, 3)))
    monkeypatch.setenv("ITAL_DATA", str(tmp_path))
    settings = Settings("imagenet", ("border",), queries=1, rounds=1)
    player = Player.of(settings)
    here = [player.play(unit)[0] for unit in units(player.dataset, settings)]

    def remove(strategy: str, done: int, total: int) -> None:
        shutil.rmtree(data, ignore_errors=True)

    run(settings, tmp_path / "run", None, remove, address)
    assert not data.exists()
    assert Journal(tmp_path / "run").results("border") == here


def test_one_thread_and_an_error_in_a_worker(address, tmp_path):
    classes = np.arange(12) % 2
    train, test = np.random.default_rng(0).random((2, 12, 2))
    test[0] = 1e200
    path = tmp_path / "mine.npz"
    np.savez(path, X_train=train, y_train=classes, X_test=test, y_test=classes)
    settings = Settings(str(path), ("border",), queries=1, rounds=1)

    def counts() -> set[int]:
        return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}

    def threads(job: list[ray.ObjectRef]) -> tuple[set[int], set[int]]:
        before = counts()
        with pytest.raises(ValueError, match="vectors must be finite"):
            cluster._play(job, Unit("border", 0, 0))
        return before, counts()

    def play(player: Player) -> None:
        with cluster.connected(address, player, None) as submit:
            job = ray.put((player.dataset, settings))
            assert ray.get(ray.remote(threads).remote([job])) == ({2}, {1})
            submit(Unit("border", 0, 0)).result()

    with pytest.raises(ValueError, match=r"^vectors must be finite"):
        play(Player.of(settings))
    assert not ray.is_initialized()


def test_a_query_that_kills_its_workers(address):
    player = Player.of(Settings("digits", ("random",)))

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with (
        pytest.raises(BrokenExecutor, match=r"^the cluster failed \(The worker died unexpectedly"),
        cluster.connected(address, player, None),
    ):
        ray.get(ray.remote(max_retries=0)(die).remote())
    assert not ray.is_initialized()


def refused(tmp_path: Path, *arguments: str) -> str:
    """What is said of arguments with which nothing can be played."""
    out = tmp_path / "runs"
    result = CliRunner().invoke(app, ["bench", "run", *arguments, "--out", str(out)])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert not out.exists()
    return result.stderr


@pytest.mark.parametrize("auto", [False, True])
def test_nobody_answers(tmp_path, monkeypatch, auto):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # and does not listen
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setenv("RAY_ADDRESS", address if auto else "local")
        said = refused(tmp_path, "--ray", "auto" if auto else address)
    assert f"got '{'auto' if auto else address}': nobody answers at {address} (" in said
    assert "'ray start --head' starts one" in said


def test_it_is_no_cluster_that_answers(address, tmp_path):
    player = Player.of(Settings("digits", ("random",)))
    with cluster.connected(address, player, None):
        other = f"{address.rpartition(':')[0]}:{ray.nodes()[0]['NodeManagerPort']}"
    environment = dict(os.environ)
    said = refused(tmp_path, "--ray", other)
    assert f"got '{other}': Failed to connect to Ray cluster at {other}." in said
    assert dict(os.environ) == environment


def test_no_port(tmp_path):
    assert "nobody answers at 127.0.0.1:70000" in refused(tmp_path, "--ray", "127.0.0.1:70000")


@pytest.mark.parametrize("address", ["nowhere", "", "ray://here:1:2"])
def test_what_is_no_address(tmp_path, address):
    said = refused(tmp_path, "--ray", address)
    assert f"the address of a Ray cluster that runs, got '{address}': " in said


def test_processes_of_a_cluster(tmp_path):
    said = refused(tmp_path, "--ray", "127.0.0.1:6379", "--processes", "3")
    assert "processes must be left out with a cluster, which knows its own, got 3" in said
