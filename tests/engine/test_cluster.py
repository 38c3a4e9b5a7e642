from __future__ import annotations

import functools
import os
import random
import resource
import signal
import threading
from pathlib import Path

import numpy as np
import pytest
from playing import EVERYWHERE, SCORED, assert_alike, played, played_in_turns

from ital import RayEngine, Search
from ital.engine import ClusterError
from ital.engine.driver import Driver
from ital.engine.mapped import Mapped
from ital.features import Features
from ital.pool import Pool
from rays import STORE, head


@pytest.fixture(scope="module")
def alone(request):
    """What a search on a single shard of this process comes to, by data and strategy."""
    return functools.cache(lambda data, name: played(request.getfixturevalue(data), name))


@pytest.fixture(scope="module")
def on_actors(request, cluster):
    """The pool of some data on so many actors, which tests share."""

    def pool(data, actors):
        features = request.getfixturevalue(data).train
        return Pool(features, engine=RayEngine(cluster.address, actors))

    return functools.cache(pool)


@pytest.fixture(scope="module")
def pool(on_actors):
    return on_actors("digits", 2)


@pytest.fixture
def killed():
    return []


@pytest.fixture
def kill(pool, cluster, killed):
    """What kills one of the pool's actors, whichever it is, and notes that."""
    chance = random.Random(0)

    def one() -> None:
        alive = [pid for pid in cluster.named("Host") if pid not in killed]
        if alive and len(killed) < 10:
            killed.append(chance.choice(alive))
            os.kill(killed[-1], signal.SIGKILL)

    return one


def test_actors_that_die_between_rounds_change_nothing(digits, pool, alone, kill, killed):
    """Neither a search that began with a query, nor one whose actors hold parts of a score."""
    strategies = ("context", SCORED)
    for strategy, found in zip(
        strategies, played_in_turns(digits, strategies, pool, kill), strict=True
    ):
        assert_alike(found, alone("digits", strategy))
    assert len(killed) == 10


def test_actors_that_die_during_rounds_change_nothing(digits, pool, alone, kill, killed):
    """At moments that nobody chose, while they are asked and told, or begin anew."""
    chance, timers = random.Random(1), []

    def soon() -> None:
        for _ in range(2):
            timers.append(threading.Timer(chance.expovariate(5), kill))
            timers[-1].start()

    while len(killed) < 10:
        assert_alike(played(digits, "context", pool, soon), alone("digits", "context"))
    for timer in timers:
        timer.join()


@pytest.mark.parametrize("strategy", EVERYWHERE)
@pytest.mark.parametrize("actors", [2, 4])
@pytest.mark.parametrize("data", ["digits", "usps"])
def test_the_same_on_a_cluster(data, actors, strategy, on_actors, alone, request):
    task = request.getfixturevalue(data)
    assert_alike(played(task, strategy, on_actors(data, actors)), alone(data, strategy))


def test_searches_share_the_features_and_go_with_what_they_know(digits, pool):
    one, another, alone = Search(pool), Search(pool), Search(digits.train)
    one.query(relevant=[0])
    for search in (another, alone):
        search.query(relevant=[1])
    assert another.results(9).ids.tolist() == alone.results(9).ids.tolist()
    del one
    assert another.suggest(2).tolist() == alone.suggest(2).tolist()
    assert another.results(9).ids.tolist() == alone.results(9).ids.tolist()


def test_many_labels_come_and_go_in_one_message(digits, pool, monkeypatch):
    told, ask, many = [], Driver.ask, np.flatnonzero(digits.train_relevance)[:100].tolist()
    search, alone = Search(pool, seed=3), Search(digits.train, seed=3)
    for one in (search, alone):
        one.query(relevant=[many[0]])
        one.answer({i: bool(digits.train_relevance[i] == 1) for i in many[1:50]})
    monkeypatch.setattr(
        Driver,
        "ask",
        lambda self, what, *args: (
            (told.append(args[1]) if what == "tell" else None) or ask(self, what, *args)
        ),
    )
    changes = (
        ("append", lambda one: one.answer(dict.fromkeys(many[50:], False))),
        ("transform", lambda one: one.undo()),
        ("transform", lambda one: one.answer(dict.fromkeys(many[1:40:2], None))),
    )
    for order, change in changes:
        told.clear()
        for one in (search, alone):
            change(one)
        assert told.count(order) == 1
        np.testing.assert_allclose(search.model.moments(), alone.model.moments(), atol=1e-9)


def test_files_are_opened_by_the_actors_and_not_sent(cluster, digits, tmp_path, monkeypatch):
    features = digits.train[:80].astype(np.float32)
    np.save(tmp_path / "features.npy", features)
    mapped = np.load(tmp_path / "features.npy", mmap_mode="r")
    sent, ask = {}, Driver.ask
    monkeypatch.setattr(
        Driver, "ask", lambda self, what, *args: sent.update({what: args}) or ask(self, what, *args)
    )
    search, alone = Search(mapped, engine=RayEngine(cluster.address, 1)), Search(features)
    file, centre = sent["make"][-1]
    assert isinstance(file, Mapped)
    assert centre.shape == features.shape[1:]
    for one in (search, alone):
        one.query(relevant=[0])
    assert search.suggest(4).tolist() == alone.suggest(4).tolist()


def test_what_fails_in_an_actor_fails_here_as_it_would_have(digits, pool, cluster):
    with pytest.raises(ValueError, match="could not be broadcast"):
        pool.squared_distances(np.zeros((1, 3)))
    with pytest.raises(TypeError, match="argument"):
        pool.slices.build(Features.vectors)
    assert pool.squared_distances(digits.train[:1]).shape == (1, len(pool))
    features = digits.train[:40].astype(float)
    features[3, 2] = np.nan
    with pytest.raises(ValueError, match="features"):
        Search(features, engine=RayEngine(cluster.address, 1))


@pytest.mark.parametrize("shards", [0, 1.5])
def test_refuses_what_is_no_number_of_shards(shards):
    with pytest.raises((TypeError, ValueError), match="shards must be"):
        RayEngine("auto", shards)


def test_a_cluster_that_cannot_be_reached():
    with pytest.raises(ValueError, match=r"ray must be 'local', or the address .*'127.0.0.1:9'"):
        RayEngine("127.0.0.1:9")


def test_a_head_node_that_dies_for_good(digits, tmp_path, monkeypatch):
    """In the middle of a search, whose two shards share a processor."""
    monkeypatch.setenv("RAY_gcs_rpc_server_reconnect_timeout_s", "1")
    with head(1) as doomed:
        with pytest.warns(UserWarning, match="2 shards are more than the 1 processors"):
            engine = RayEngine(doomed.address, 2)
        search = begun(Pool(digits.train, engine=engine))
        killer = threading.Timer(0.3, doomed.kill, ("gcs_server", "raylet"))
        killer.start()
        labels = answered_until(search, r"^the cluster at .* is gone: .* is safe with them$")
        killer.join()
    assert_safe(search, labels, digits.train, tmp_path / "search.json")
    with pytest.raises(ClusterError, match="is gone"):
        search.results(1)
    with pytest.raises(ClusterError, match=r"cannot be reached any more: .* nobody answers"):
        Search(digits.train, engine=engine)


def test_an_actor_whose_memory_is_used_up(cluster, tmp_path):
    """In the middle of a search, by arrays that do not fit."""
    features = np.random.default_rng(0).standard_normal((100_000, 2))
    pool = Pool(features, engine=RayEngine(cluster.address, 2))
    search = begun(pool)

    def limit(shard: object) -> None:
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + (8 << 20),) * 2)

    limited = pool.slices.build(limit)
    message = r"^shard \d of 2 has too little memory \(.*\): more shards .* float16"
    labels = answered_until(search, message)
    assert_safe(search, labels, features, tmp_path / "search.json")
    with pytest.raises(ClusterError, match=message):  # some shards know more than others
        search.results(1)
    del limited
    assert pool.vectors(np.array([5])).tolist() == features[5:6].tolist()


def test_a_machine_whose_memory_is_used_up(digits, tmp_path):
    """Ray kills one actor after the other there, and has no room for large arrays."""
    alone = begun(Pool(digits.train))
    alone.save(tmp_path / "search.json")
    tight = {
        "RAY_memory_usage_threshold": "0.0001",
        "RAY_local_fs_capacity_threshold": "0.0001",
    }
    with head(2, **tight) as low:
        engine = RayEngine(low.address, 1)
        with pytest.raises(ClusterError, match=r"no room for the features \(.*\): .* float16"):
            Search(np.arange(STORE // 2, dtype=np.float32).reshape(-1, 2), engine=engine)
        message = r"shard 1 of 1 died 5 times in a row \(.* memory.*\): more shards .* float16"
        with pytest.raises(ClusterError, match=message):
            Search.load(tmp_path / "search.json", digits.train, engine=engine)
        engine._driver().close()
    assert_safe(alone, alone.labels, digits.train, tmp_path / "search.json")


def begun(pool):
    search = Search(pool, "random", seed=3)
    search.query(relevant=[0], irrelevant=[1])
    search.answer({2: True})
    return search


def answered_until(search, message):
    """The labels of a search when it failed."""
    with pytest.raises(ClusterError, match=message):  # noqa: PT012
        while True:
            labels = search.labels
            search.answer({int(i): bool(i % 2) for i in search.suggest(8)})
    return labels


def assert_safe(search, labels, features, path):
    """Whatever has happened to its cluster, a search can be saved, and go on without one."""
    assert search.labels == labels
    search.save(path)
    loaded, other = Search.load(path, features), Search(features, search.strategy, seed=3)
    other.replay(search.events)
    assert loaded.labels == labels
    assert loaded.results(50).ids.tolist() == other.results(50).ids.tolist()
    assert loaded.suggest(4).tolist() == other.suggest(4).tolist()
