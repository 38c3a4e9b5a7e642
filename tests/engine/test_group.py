from __future__ import annotations

import numpy as np
import pytest
from playing import EVERYWHERE, assert_alike, played

from ital import Search, strategies
from ital.engine import ThreadEngine
from ital.evaluation.datasets import load
from ital.pool import Pool


def assert_the_same(task, strategy):
    whole = played(task, strategy)
    for shards in (2, 7):
        assert_alike(played(task, strategy, Pool(task.train, engine=ThreadEngine(shards))), whole)


@pytest.mark.parametrize("strategy", EVERYWHERE)
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


@pytest.mark.parametrize("shards", [0, -1, 1.5, "2"])
def test_refuses_what_is_no_number_of_shards(shards):
    with pytest.raises((TypeError, ValueError), match="shards must be"):
        ThreadEngine(shards)
