"""What the driver does, here in the process of the tests: with lists, which anyone knows."""

from __future__ import annotations

import os
import re
import signal

import numpy as np
import pytest
import ray

from ital.engine import ClusterError, actors
from ital.engine.connection import connect
from ital.engine.cut import Cut
from ital.engine.mapped import Mapped
from ital.engine.messages import pickled

BASE, BUILT, OTHER = range(3)


@pytest.fixture(scope="module", autouse=True)
def connected(cluster):
    connect(cluster.address)
    yield
    ray.shutdown()


class Actors(actors.Actors):
    """As they are asked here: with arguments that are not pickled yet."""

    def begin(self, key, shards, make, *arrays, share=0.1):
        self.make(key, Cut.of(5, shards), share, pickled(make), arrays)

    def derive(self, key, base, make, *args):
        count = len(self._groups[base].shards)
        self.build(key, base, [pickled((make, args, {}))] * count)

    def order(self, key, order, *args):
        self.tell(key, order, pickled(args), pickled({}))

    def question(self, key, question, *args):
        everyone = [(i, pickled({})) for i in range(len(self._groups[key].shards))]
        return self.ask(key, question, pickled(args), everyone)

    def kill(self, shard, key=99):
        """The actor of a shard, whose process is an object that is built for that."""
        if key not in self._groups:
            self.derive(key, BASE, lambda base: os.getpid())
        os.kill(self.question(key, "__index__")[shard], signal.SIGKILL)


@pytest.fixture(scope="module")
def lists():
    found = Actors()
    found.begin(BASE, 2, lambda first, last, array: array[first:last].tolist(), np.arange(5) ** 2)
    return found


def test_questions_and_orders(lists):
    assert lists.question(BASE, "copy") == [[0, 1], [4, 9, 16]]
    lists.order(BASE, "append", 7)
    assert lists.question(BASE, "copy") == [[0, 1, 7], [4, 9, 16, 7]]
    lists.order(BASE, "pop")
    assert lists.ask(BASE, "index", pickled((9,)), [(1, pickled({}))]) == [1]


def test_an_actor_that_dies_is_brought_to_where_it_was(lists):
    lists.derive(BUILT, BASE, lambda base, more: [*base, more], 5)
    lists.order(BUILT, "reverse")
    with pytest.raises(ValueError, match="not in list"):
        lists.order(BUILT, "remove", 77)
    for shard in (0, 1):
        lists.kill(shard)
        assert lists.question(BUILT, "copy") == [[5, 1, 0], [5, 16, 9, 4]]
    lists.kill(0)
    lists.order(BUILT, "append", 3)
    assert lists.question(BUILT, "copy") == [[5, 1, 0, 3], [5, 16, 9, 4, 3]]
    assert lists.question(BASE, "copy") == [[0, 1], [4, 9, 16]]


def test_what_is_dropped_is_forgotten(lists):
    lists.derive(OTHER, BASE, list)
    shards = lists._groups[BASE].shards
    assert any(OTHER in record for shard in shards for record in shard._record)
    lists.drop([OTHER, 1234])
    assert lists.question(BASE, "copy") == [[0, 1], [4, 9, 16]]
    assert not any(OTHER in record for shard in shards for record in shard._record)


def test_too_little_memory_is_the_end_of_a_group_and_of_no_other(lists):
    lists.derive(OTHER, BASE, list)
    message = r"shard 1 of 2 has too little memory \(.*\): more shards .* float16"
    for attempt in (
        lambda: lists.order(OTHER, "__imul__", 10**15),
        lambda: lists.question(OTHER, "copy"),
        lambda: lists.order(OTHER, "reverse"),
    ):
        with pytest.raises(ClusterError, match=message):
            attempt()
    assert lists.question(BASE, "copy") == [[0, 1], [4, 9, 16]]
    with pytest.raises(ClusterError, match=message):
        lists.question(BASE, "__mul__", 10**15)
    assert lists.question(BASE, "copy") == [[0, 1], [4, 9, 16]], "a question changes nothing"


def test_files_are_opened_and_answers_may_be_changed(tmp_path):
    np.save(tmp_path / "array.npy", np.arange(1e5))
    mapped = Mapped.of(np.load(tmp_path / "array.npy", mmap_mode="r"))
    group = Actors()
    group.begin(BASE, 1, lambda first, last, array: array, mapped)
    (answer,) = group.question(BASE, "__mul__", 2)
    answer += 1
    assert answer[:3].tolist() == [1, 3, 5]


def test_an_actor_that_cannot_live_is_given_up(monkeypatch):
    monkeypatch.setattr(actors, "_LIVES", 2)
    group = Actors()
    group.begin(BASE, 1, range)
    message = r"shard 1 of 1 died 2 times in a row \(The actor died .*\)"
    with pytest.raises(ClusterError, match=message):
        group.derive(BUILT, BASE, lambda base: os._exit(1))
    for key in (BASE, BUILT):
        with pytest.raises(ClusterError, match=message):
            group.question(key, "index", 2)


def test_no_room(monkeypatch):
    monkeypatch.setattr(actors, "_ROOM", 0.5)
    message = (
        "the cluster found no room for shard 1 of 2 within 0.5 seconds: it needs 64 processors"
    )
    with pytest.raises(ClusterError, match=re.escape(message)):
        Actors().begin(BASE, 2, range, share=64.0)


def test_processors():
    assert Actors().processors() == 20
