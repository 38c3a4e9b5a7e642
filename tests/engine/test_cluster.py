from __future__ import annotations

import os
import random
import re
import signal
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import ray
from playing import EVERYWHERE, assert_alike, played

from ital import RayEngine, Search
from ital.engine import cluster
from ital.evaluation.datasets import load
from ital.features import Features
from ital.pool import Pool


@pytest.fixture(scope="module", autouse=True)
def folder():
    """That of a real Ray with room for all actors of these tests, whatever this machine has."""
    # In the folder of a test its sockets would have names that are too long.
    with (
        tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("RAY_worker_niceness", "0")  # other tests would leave its workers no time
        ray.init(
            num_cpus=12,
            include_dashboard=False,
            log_to_driver=False,
            object_store_memory=150 << 20,
            _temp_dir=folder,
        )
        yield folder
        ray.shutdown()


@pytest.fixture(scope="module")
def digits():
    return load("digits").tasks[0]


def of_process(pid, name: str) -> str:
    try:
        return (Path("/proc") / str(pid) / name).read_text().replace("\0", " ")
    except OSError:
        return ""  # it has ended


@pytest.fixture(scope="module")
def hosts(folder):
    """What gives the processes of all actors of this Ray: they are children of its raylet."""

    def found() -> list[int]:
        named = {
            int(one.name): of_process(one.name, "status")
            for one in Path("/proc").iterdir()
            if one.name.isdecimal() and "ray::_Host" in of_process(one.name, "cmdline")
        }
        parents = {pid: re.search(r"PPid:\s+(\d+)", status) for pid, status in named.items()}
        return [
            p
            for p, parent in parents.items()
            if parent and folder in of_process(parent[1], "cmdline")
        ]

    return found


@pytest.fixture(scope="module", params=[2, 4])
def pool(request, digits, folder):
    return Pool(digits.train, engine=RayEngine("auto", request.param))


@pytest.mark.parametrize("strategy", EVERYWHERE)
def test_the_same_on_a_cluster(strategy, pool, digits):
    assert_alike(played(digits, strategy, pool), played(digits, strategy))


@pytest.fixture(scope="module")
def many(data_folder, folder):
    usps = load("usps").tasks[4]
    return usps, Pool(usps.train, engine=RayEngine("auto", 2))


@pytest.mark.parametrize("strategy", EVERYWHERE)
def test_the_same_of_more_images(strategy, many):
    usps, pool = many
    assert_alike(played(usps, strategy, pool), played(usps, strategy))


def test_actors_that_die_between_rounds_change_nothing(digits, hosts):
    wanted, kills = played(digits, "context"), []
    chance = random.Random(0)

    def kill():
        alive = hosts()
        assert len(alive) >= 2
        kills.append(chance.choice(alive))
        os.kill(kills[-1], signal.SIGKILL)

    pool = Pool(digits.train, engine=RayEngine("auto", 2))
    assert_alike(played(digits, "context", pool, kill), wanted)
    assert len(set(kills)) == 10


def test_actors_that_die_during_rounds_change_nothing(digits, hosts):
    """Killed at moments that nobody chose, while they are asked and told."""
    wanted, over, kills = played(digits, "context"), threading.Event(), []
    chance = random.Random(1)

    def kill_now_and_then():
        while len(kills) < 10 and not over.wait(chance.uniform(0.05, 0.6)):
            alive = [one for one in hosts() if one not in kills]
            if alive:
                kills.append(chance.choice(alive))
                os.kill(kills[-1], signal.SIGKILL)

    pool = Pool(digits.train, engine=RayEngine("auto", 2))
    killer = threading.Thread(target=kill_now_and_then)
    killer.start()
    try:
        while len(kills) < 10:
            assert_alike(played(digits, "context", pool), wanted)
    finally:
        over.set()
        killer.join()


def test_searches_share_the_features_and_go_with_what_they_know(digits):
    engine = RayEngine("auto", 2)
    one = Search(digits.train, engine=engine)
    another = Search(one.model.pool)
    one.query(relevant=[0])
    another.query(relevant=[1])
    alone = Search(digits.train)
    alone.query(relevant=[1])
    assert another.results(9).ids.tolist() == alone.results(9).ids.tolist()
    shards = one.model._shards._shards
    assert shards is another.model._shards._shards
    records = [len(shard._record) for shard in shards]
    del one
    another.suggest(2)
    assert all(len(shard._record) < n for shard, n in zip(shards, records, strict=True))
    assert another.results(9).ids.tolist() == alone.results(9).ids.tolist()


@pytest.mark.parametrize("order", ["C", "F"])
def test_files_are_opened_by_the_actors_and_not_sent(order, digits, tmp_path, monkeypatch):
    features = np.require(digits.train[:80], np.float32, order)
    np.save(tmp_path / "features.npy", features)
    mapped = np.load(tmp_path / "features.npy", mmap_mode="r")
    sent, put = [], ray.put
    monkeypatch.setattr(cluster.ray, "put", lambda one: sent.append(np.size(one)) or put(one))
    search = Search(mapped, engine=RayEngine("auto", 2))
    assert sent == [features.shape[1]], "the centre alone"
    alone = Search(features)
    for one in (search, alone):
        one.query(relevant=[0])
    assert search.suggest(4).tolist() == alone.suggest(4).tolist()
    # A part of a map, or what is computed from one, is no file.
    assert cluster._Mapped.of(mapped[:3]) is None
    assert cluster._Mapped.of(mapped + 1) is None
    assert cluster._Mapped.of(features) is None


def test_what_fails_in_an_actor_fails_here_as_it_would_have(digits):
    features = digits.train[:40].astype(float)
    pool = Pool(features, engine=RayEngine("auto", 2))
    with pytest.raises(ValueError, match="could not be broadcast"):
        pool.squared_distances(np.zeros((1, 3)))
    with pytest.raises(TypeError, match="argument"):
        pool.slices.build(Features.vectors)
    assert pool.squared_distances(features[:1]).shape == (1, 40)
    features[3, 2] = np.nan
    with pytest.raises(ValueError, match="features"):
        Search(features, engine=RayEngine("auto", 2))


def test_more_shards_than_processors_share_them(digits, monkeypatch):
    monkeypatch.setattr(cluster.ray, "cluster_resources", lambda: {"CPU": 2.0})
    with pytest.warns(UserWarning, match="3 shards are more than the 2 processors"):
        engine = RayEngine("auto", 3)
    search = Search(digits.train[:60], engine=engine)
    search.query(relevant=[0])
    assert len(search.suggest(3)) == 3


def test_an_actor_that_cannot_live_is_given_up(digits, hosts, monkeypatch):
    """With a clear error, and with all that was said."""
    search = Search(digits.train[:60], engine=RayEngine("auto", 2))
    search.query(relevant=[0])
    before = search.labels
    monkeypatch.setattr(cluster._Shard, "_start", lambda self: dead)
    dead = cluster.ray.remote(cluster._Host).remote()
    ray.get(dead.ready.remote())
    ray.kill(dead)
    for pid in hosts():
        os.kill(pid, signal.SIGKILL)
    time.sleep(0.5)
    with pytest.raises(cluster.ClusterError, match=r"shard \d of 2 died 5 times in a row"):
        search.suggest(3)
    assert search.labels == before


def test_no_room(digits, monkeypatch):
    monkeypatch.setattr(cluster, "_ROOM", 0.5)
    engine = RayEngine("auto", 2)
    monkeypatch.setattr(engine, "_share", 64.0)
    message = (
        "the cluster found no room for shard 1 of 2 within 0.5 seconds: it needs 64 processors"
    )
    with pytest.raises(cluster.ClusterError, match=re.escape(message)):
        Search(digits.train[:60], engine=engine)


@pytest.mark.parametrize("shards", [0, 1.5])
def test_refuses_what_is_no_number_of_shards(shards):
    with pytest.raises((TypeError, ValueError), match="shards must be"):
        RayEngine("auto", shards)


def test_a_connection_is_left_to_whoever_made_it():
    with cluster.connection("auto"):
        assert cluster.processors() == 12
    assert ray.is_initialized()


def test_a_cluster_that_cannot_be_reached(monkeypatch):
    monkeypatch.setattr(cluster.ray, "is_initialized", lambda: False)
    with pytest.raises(ValueError, match=r"ray must be 'local', or the address .*'127.0.0.1:9'"):
        RayEngine("127.0.0.1:9")
