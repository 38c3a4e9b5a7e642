from __future__ import annotations

from math import log

import numpy as np
import pytest

from ital import Search, insight
from ital.evaluation.calibration import Calibration
from ital.evaluation.datasets import load
from ital.evaluation.experiment import Player, Settings, Unit

TASK = load("digits").tasks[3]


def begun(base_rate="learn", skipped=()) -> Search:
    """A search for a digit, with four answers and some that the user could not give."""
    search = Search(TASK.train, "random", base_rate=base_rate, seed=0)
    search.query(relevant=[int(np.flatnonzero(TASK.train_relevance == 1)[0])])
    answers = {int(i): int(TASK.train_relevance[i]) for i in search.suggest(4)}
    search.answer(answers | dict.fromkeys(skipped, 0))
    return search


@pytest.mark.parametrize("base_rate", ["learn", 0.1, None])
def test_literally(base_rate):
    """Image by image, from what the results say."""
    search = begun(base_rate)
    results, labels = search.results(), search.labels
    told = dict(zip(results.ids.tolist(), results.probabilities.tolist(), strict=True))
    rest = [i for i in range(len(search)) if i not in labels]
    true = {i: bool(TASK.train_relevance[i] == 1) for i in rest}
    found = Calibration.of(search, TASK.train_relevance)
    assert found.brier == pytest.approx(sum((told[i] - true[i]) ** 2 for i in rest) / len(rest))
    given = [told[i] if true[i] else 1 - told[i] for i in rest]
    losses = [-log(min(max(one, 1e-15), 1 - 1e-15)) for one in given]
    assert found.log_loss == pytest.approx(sum(losses) / len(rest))
    known = sum(label is True for label in labels.values())
    assert found.expected == pytest.approx(sum(told[i] for i in rest) + known)
    assert found.relevant == (TASK.train_relevance == 1).sum()
    for place in range(10):
        inside = [i for i in rest if place <= 10 * told[i] < place + 1 + (place == 9)]
        assert found.counts[place] == len(inside)
        assert found.sums[place] == pytest.approx(sum(told[i] for i in inside), abs=1e-4)
        assert found.hits[place] == sum(true[i] for i in inside)
    assert sum(found.counts) == len(search) - 5
    estimate = insight.relevant(search)
    expected = (None, None) if base_rate is None else (estimate.low, estimate.high)
    assert (found.low, found.high) == expected


def test_before_the_first_answer_there_is_no_interval():
    search = Search(TASK.train, seed=0)
    search.query(relevant=[int(np.flatnonzero(TASK.train_relevance == 1)[0])])
    found = Calibration.of(search, TASK.train_relevance)
    assert (found.low, found.high) == (None, None)
    assert sum(found.counts) == len(search) - 1


def test_skipped_images_have_no_label():
    labelled = begun().labels
    others = [i for i in range(20) if i not in labelled][:3]
    search = begun(skipped=others)
    assert all(search.labels[i] is None for i in others)
    assert sum(Calibration.of(search, TASK.train_relevance).counts) == len(search) - 5


def test_unnameable_images_do_not_count():
    search, relevance = begun(), TASK.train_relevance.copy()
    unlabelled = [i for i in range(len(search)) if i not in search.labels]
    relevant = [i for i in unlabelled if relevance[i] == 1]
    before = Calibration.of(search, relevance)
    relevance[[*relevant[:5], unlabelled[0]]] = 0
    gone = len({*relevant[:5], unlabelled[0]})
    after = Calibration.of(search, relevance)
    assert sum(after.counts) == sum(before.counts) - gone
    assert after.relevant == before.relevant - len({*relevant[:5], unlabelled[0]} & {*relevant})
    # The interval is that of the whole pool.
    assert (after.low, after.high) == (before.low, before.high)


def test_all_are_known():
    features = np.random.default_rng(0).standard_normal((6, 2))
    search = Search(features, "random", seed=0)
    relevance = np.array([1, -1, 1, -1, 1, -1])
    search.query(relevant=[0])
    search.answer({i: int(relevance[i]) for i in range(1, 6)})
    found = Calibration.of(search, relevance)
    assert (found.brier, found.log_loss, found.expected, found.relevant) == (0.0, 0.0, 3.0, 3)
    assert found.counts == found.hits == [0] * 10


@pytest.mark.parametrize("base_rate", ["learn", None])
def test_every_state_of_a_run(base_rate):
    settings = Settings("digits", ("border",), queries=1, rounds=3, base_rate=base_rate)
    result, _ = Player.of(settings).play(Unit("border", 3, 0))
    assert len(result.calibration) == 4
    labels = [1, 5, 9, 13]
    assert [sum(one.counts) for one in result.calibration] == [
        len(TASK.train) - count for count in labels
    ]
    assert [one.low is None for one in result.calibration] == [
        True,
        *[base_rate is None] * 3,
    ]
    # By hand, to the last state.
    search = Search(TASK.train, "border", base_rate=base_rate)
    search.query(relevant=[result.query])
    for asked, told in zip(result.questions, result.answers, strict=True):
        search.answer(dict(zip(asked, told, strict=True)))
    expected = Calibration.of(search, TASK.train_relevance)
    assert result.calibration[-1].brier == pytest.approx(expected.brier)
    assert result.calibration[-1].low == pytest.approx(expected.low)
