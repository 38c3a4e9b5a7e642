"""Collections over a Ray that is started here: the same tables, whatever is killed."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import ray
from indexing import ids, run_until, same_tables
from making import draw

from ital.collection import Collection, Progress, describe, index
from ital.collection.cluster import _Job, connected
from ital.collection.pictures import DECODERS
from ital.collection.reader import hashing
from ital.collection.scan import File
from ital.engine import ClusterError
from ital.engine.connection import connection
from rays import Head, head, linux


@pytest.fixture(scope="module")
def ray_of_two() -> Iterator[Head]:
    """A Ray of two workers, in processes of its own."""
    with head(2) as one:
        yield one


@pytest.fixture(scope="module")
def cluster(ray_of_two) -> Iterator[str]:
    """The address of a Ray that this process stays connected to, so that its workers stay, too."""
    with connection(ray_of_two.address):
        yield ray_of_two.address


@pytest.fixture
def many(tmp_path) -> Path:
    """Pictures for a few batches, and something that is none."""
    folder = tmp_path / "pictures"
    for number in range(60):
        draw(folder / f"{number % 3}" / f"{number:03}.png", number)
    (folder / "1" / "broken.png").write_bytes(b"broken")
    return folder


def told(folder: Path, to: Path, **options) -> tuple[Progress, list[int]]:
    """What comes of a run, and how far it said that it was, each time."""
    steps: list[int] = []
    done = index(folder, to, report=lambda progress: steps.append(progress.done), **options)
    return done, steps


def change(folder: Path) -> None:
    """Pictures that are new, moved, copied, changed and gone."""
    draw(folder / "new.png", 1000)
    (folder / "0").rename(folder / "moved")
    shutil.copy(folder / "1" / "001.png", folder / "copy.png")
    for number in range(2, 20, 3):
        draw(folder / "2" / f"{number:03}.png", 2000 + number)
    for number in range(22, 40, 3):
        (folder / "1" / f"{number:03}.png").unlink()


def test_the_same_table_as_without_a_cluster(many, quick, cluster, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    for catch_up in (False, True):
        if catch_up:
            change(many)
        wanted = told(many, here, model=quick)
        assert told(many, there, model=quick, ray=cluster) == wanted
        same_tables(here, there)
        assert [one.path for one in wanted[0].skipped] == ["1/broken.png"]
    assert (wanted[0].embedded, wanted[0].moved, wanted[0].gone) == (7, 21, 6)
    assert ray.is_initialized(), "for whoever was connected before stays so"


def test_the_same_table_of_photographs(corel, cluster, tmp_path):
    folder = tmp_path / "photographs"
    folder.mkdir()
    for path in sorted(corel.glob("*.jpg"))[::10]:
        shutil.copy2(path, folder)
    assert index(folder, tmp_path / "here").pictures == 100
    index(folder, tmp_path / "there", ray=cluster)
    same_tables(tmp_path / "here", tmp_path / "there")


def test_killed_five_times(many, quick, cluster, tmp_path):
    """The end is that of a run that nobody disturbed, whenever it was killed."""
    chance = random.Random(0)
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    index(many, undisturbed, quick)
    for done in (-1, 0, 1, 6, 12):
        while run_until(done, chance.uniform(0, 0.05), many, killed, quick, ray=cluster):
            shutil.rmtree(killed)  # it had come to its end
    done = index(many, killed, quick, ray=cluster)
    assert [one.path for one in done.skipped] == ["1/broken.png"]
    assert len(ids(killed)) == 60
    same_tables(undisturbed, killed)


@linux
def test_workers_are_killed(many, cluster, ray_of_two, tmp_path):
    """While they are at work, with a network that takes its time."""
    killed: list[int] = []

    def kill(progress: Progress) -> None:
        for _ in range(50 if progress.done > 0 and len(killed) < 2 else 0):
            for pid in ray_of_two.named("_work")[:1]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                return

    index(many, tmp_path / "here")
    index(many, tmp_path / "there", report=kill, ray=cluster)
    assert len(killed) == 2
    same_tables(tmp_path / "here", tmp_path / "there")


def test_a_worker_that_dies_again_and_again(folder, cluster):
    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with (
        pytest.raises(ClusterError, match=r"^the cluster failed \(.*; what is finished is kept"),
        connected(cluster, folder),
    ):
        ray.get(ray.remote(max_retries=0)(die).remote())


def test_what_is_wrong_with_a_model_is_said_as_without(folder, quick, cluster, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(Path(quick.name).read_bytes())
    model = describe(str(path))
    index(folder, model=model)
    draw(folder / "new.png", 1)
    path.write_bytes(b"corrupt")
    with pytest.raises(ValueError, match=r"model\.onnx must be an ONNX model"):
        index(folder, model=model, ray=cluster)
    assert len(Collection.open(folder)) == 12


def test_a_machine_without_the_folder(cluster, tmp_path):
    """Or with an empty one, in whose place a disk is to be."""
    (tmp_path / "empty").mkdir()
    for name in ("empty", "none"):
        root = tmp_path / name
        said = f"{name} must be the same folder on all machines of the cluster, but holds nothing"
        with pytest.raises(ClusterError, match=said), connected(cluster, root) as workers:
            list(workers.map(partial(hashing, root), [[File("a.png", 1, 1)]]))


def test_a_machine_that_decodes_differently(folder):
    assert _Job(folder, DECODERS, lambda: len).begin() is len
    said = r"^all machines of the cluster must have the decoders '0, none', but .* has '1, Pillow"
    with pytest.raises(ClusterError, match=said):
        _Job(folder, "0, none", lambda: len).begin()


def test_nobody_answers(folder):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # and does not listen
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        command = [sys.executable, "-m", "ital", "index", folder, "--ray", address]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert f"got '{address}': nobody answers at {address} (" in result.stderr
    assert "'ray start --head' starts one" in result.stderr
    assert not (folder / ".ital").exists()
