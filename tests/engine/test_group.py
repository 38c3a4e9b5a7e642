from __future__ import annotations

import numpy as np
import pytest
from playing import EVERYWHERE, SCORED, assert_alike, played

from ital import Search, strategies
from ital.candidates import Unlabelled
from ital.engine import ThreadEngine, group
from ital.evaluation.datasets import load
from ital.gaussian import relevance_entropy
from ital.kernel import Kernel
from ital.model import RelevanceModel
from ital.order import largest
from ital.pool import Pool

SHARDED = sorted({*strategies.names()} - {"emoc", "sud"})
"""Strategies of which nothing over all images leaves a shard: those that need no pairs of all."""


def assert_the_same(task, strategy):
    whole = played(task, strategy)
    for shards in (2, 7):
        assert_alike(played(task, strategy, Pool(task.train, engine=ThreadEngine(shards))), whole)


@pytest.mark.parametrize("strategy", [*EVERYWHERE, SCORED])
def test_the_same_on_any_number_of_shards(strategy):
    assert_the_same(load("digits").tasks[0], strategy)


@pytest.mark.parametrize("strategy", EVERYWHERE)
def test_the_same_of_more_images(strategy, data_folder):
    assert_the_same(load("usps").tasks[4], strategy)


@pytest.mark.parametrize("strategy", strategies.names())
def test_every_strategy_on_shards_that_it_may_not_know_of(strategy):
    features = np.random.default_rng(0).standard_normal((60, 3))
    batches = []
    for shards in (1, 5):
        search = Search(features, strategy, seed=1, engine=ThreadEngine(shards))
        search.query(relevant=[0], irrelevant=[5])
        batches.append(search.suggest(3).tolist())
    assert batches[0] == batches[1]


@pytest.mark.parametrize("strategy", SHARDED)
def test_no_round_takes_all_images_out_of_their_shards(strategy, monkeypatch):
    images, answers = 12_000, []
    ask = group._Local._ask

    def spied(self, *question):
        found = ask(self, *question)
        parts = [part for one in found for part in (one if isinstance(one, tuple) else (one,))]
        answers.extend(np.shape(part)[-1] for part in parts if np.ndim(part))
        return found

    rng = np.random.default_rng(0)
    features = np.repeat(rng.standard_normal((60, 8)), images // 60, axis=0)
    features += 0.3 * rng.standard_normal(features.shape)
    search = Search(features, strategy, seed=1, engine=ThreadEngine(2))
    search.query(relevant=[0], irrelevant=[5000])
    search.answer({1: True, 9000: False})
    monkeypatch.setattr(group._Local, "_ask", spied)
    batch = search.suggest(4)
    search.answer({int(i): bool(i < images // 60) for i in batch})
    assert answers
    assert max(answers) < images // 2, "no shard told something of each of its images"


@pytest.mark.parametrize("shards", [1, 2, 7])
def test_the_best_of_all_shards(shards):
    rng = np.random.default_rng(0)
    features = np.repeat(rng.standard_normal((30, 3)), 3, axis=0)  # with ties
    model = RelevanceModel(Pool(features, engine=ThreadEngine(shards)), Kernel(1.5))
    model.update({0: 1, 40: -1, 77: 1})
    wanted = model.entropies()
    for count in (1, 4, 30, 87, 200):
        left = np.setdiff1d(np.arange(90), [0, 40, 77])
        expected = left[largest(wanted[left], count)].tolist()
        for candidates in (left, Unlabelled.of(90, np.array([77, 0, 40]))):
            assert model.best(count, relevance_entropy, candidates).tolist() == expected
        some = left[::5]
        expected = some[largest(wanted[some], count)].tolist()
        assert model.best(count, relevance_entropy, some).tolist() == expected


@pytest.mark.parametrize("shards", [0, -1, 1.5, "2"])
def test_refuses_what_is_no_number_of_shards(shards):
    with pytest.raises((TypeError, ValueError), match="shards must be"):
        ThreadEngine(shards)
