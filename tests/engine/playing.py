"""Searches that are to come out the same wherever the shards of their pool are."""

from __future__ import annotations

import numpy as np
import pytest

from ital import Search, insight

EVERYWHERE = ("context", "ital", "entropy", "border_div", "var", "topscoring")


SCORED = "context with a score"
"""Begins with a score of the images, and no query."""


def played(task, strategy, pool=None, between=lambda: None):
    """What comes of one search: see `played_in_turns`."""
    (found,) = played_in_turns(task, [strategy], pool, between)
    return found


def played_in_turns(task, strategies, pool=None, between=lambda: None):
    """Batches and rankings of ten rounds, with a relabelled image and an undo on the way.

    The ``pool`` is of the task's images. ``between`` is called before every round, in which each
    search has its turn, and now one, now the other is the first.
    """
    relevant = task.train_relevance == 1
    features = task.train if pool is None else pool
    searches = [_begun(features, strategy, relevant) for strategy in strategies]
    told = [[] for _ in searches]
    for number in range(10):
        between()
        for one in range(len(searches))[:: -1 if number % 2 else 1]:
            told[one].append(_round(searches[one], number, relevant))
    return [(one, insight.relevant(search)) for one, search in zip(told, searches, strict=True)]


def _begun(features, strategy, relevant):
    if strategy == SCORED:
        scores = relevant + np.random.default_rng(0).standard_normal(len(relevant))
        return Search(features, seed=3, prior=scores)
    search = Search(features, strategy, seed=3)
    search.query(relevant=[int(np.argmax(relevant))])
    return search


def _round(search, number, relevant):
    batch = search.suggest(4).tolist()
    search.answer({i: bool(relevant[i]) for i in batch})
    if number == 3:
        search.answer({batch[0]: not relevant[batch[0]]})
    if number == 5:
        search.undo()
    return batch, search.results(50)


def assert_alike(found, wanted):
    (told, counted), (whole, count) = found, wanted
    for (batch, results), (expected, others) in zip(told, whole, strict=True):
        assert batch == expected
        assert results.ids.tolist() == others.ids.tolist()
        np.testing.assert_allclose(results.means, others.means, atol=1e-9)
        np.testing.assert_allclose(results.probabilities, others.probabilities, atol=1e-9)
    assert counted.value == pytest.approx(count.value)
