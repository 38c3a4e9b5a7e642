"""Searches that are to come out the same wherever the shards of their pool are."""

from __future__ import annotations

import numpy as np
import pytest

from ital import Search, insight

EVERYWHERE = ("context", "ital", "entropy", "border_div", "var", "topscoring")


SCORED = "context with a score"
"""Begins with a score of the images, and no query."""


def played(task, strategy, pool=None, between=lambda: None):
    """Batches and rankings of ten rounds, with a relabelled image and an undo on the way.

    The ``pool`` is of the task's images. ``between`` is called before every round.
    """
    relevant, features = task.train_relevance == 1, task.train if pool is None else pool
    if strategy == SCORED:
        scores = relevant + np.random.default_rng(0).standard_normal(len(relevant))
        search = Search(features, seed=3, prior=scores)
    else:
        search = Search(features, strategy, seed=3)
        search.query(relevant=[int(np.argmax(relevant))])
    told = []
    for number in range(10):
        between()
        batch = search.suggest(4).tolist()
        search.answer({i: bool(relevant[i]) for i in batch})
        if number == 3:
            search.answer({batch[0]: not relevant[batch[0]]})
        if number == 5:
            search.undo()
        told.append((batch, search.results(50)))
    return told, insight.relevant(search)


def assert_alike(found, wanted):
    (told, counted), (whole, count) = found, wanted
    for (batch, results), (expected, others) in zip(told, whole, strict=True):
        assert batch == expected
        assert results.ids.tolist() == others.ids.tolist()
        np.testing.assert_allclose(results.means, others.means, atol=1e-9)
        np.testing.assert_allclose(results.probabilities, others.probabilities, atol=1e-9)
    assert counted.value == pytest.approx(count.value)
