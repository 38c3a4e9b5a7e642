from __future__ import annotations

import numpy as np

from ital import Search, SimulatedUser, UserModel
from ital.evaluation import average_precision, feedback_rounds


def test_rounds_ask_answer_and_measure():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((60, 3))
    truth = np.where(features[:, 0] > 0.3, 1, -1)
    truth[7] = 0
    query = int(np.flatnonzero(truth == 1)[0])
    search = Search(features, "random", seed=0)
    measured = []

    def quality(search: Search) -> float:
        measured.append(len(search.labels))
        return average_precision(truth == 1, search.model.mean)

    states = list(feedback_rounds(search, query, truth, quality, rounds=14, batch=4))
    assert len(states) == 15
    assert states[0].questions.size == 0
    assert measured == [1 + 4 * number for number in range(15)]
    for state in states[1:]:
        np.testing.assert_array_equal(state.answers, truth[state.questions])
    assert search.labels[7] is None
    assert states[-1].quality > states[0].quality


def test_rounds_end_when_nothing_is_left():
    search = Search(np.random.default_rng(0).standard_normal((10, 3)))
    states = list(feedback_rounds(search, 0, np.ones(10), lambda search: 0.0, rounds=10, batch=4))
    assert [len(state.questions) for state in states] == [0, 4, 4, 1]


def test_a_search_that_has_a_score_needs_no_query():
    features = np.random.default_rng(0).standard_normal((40, 3))
    truth = np.where(features[:, 0] > 0.3, 1, -1)
    search = Search(features, seed=0, prior=features[:, 0])
    states = list(feedback_rounds(search, None, truth, lambda search: len(search.labels), 2, 4))
    assert [state.quality for state in states] == [0, 4, 8]


def test_users_may_err():
    features = np.random.default_rng(0).standard_normal((40, 3))
    truth = np.ones(40, dtype=int)
    user = SimulatedUser(UserModel(1.0, 1.0), seed=0)
    states = feedback_rounds(Search(features), 0, truth, lambda search: 0.0, 2, 4, user)
    assert [state.answers.tolist() for state in states][1:] == [[-1] * 4] * 2


def test_ital_learns_as_entropy_does_on_butterflies(butterflies):
    """Section 4.4 with a few of its queries: both curves are the same."""
    classes, truth = butterflies["y_train"], butterflies["y_test"]
    curves: dict[str, list[list[float]]] = {"ital": [], "entropy": []}
    for one in np.unique(classes):
        np.random.seed(0)  # noqa: NPY002 - the paper's queries come from this generator
        drawn = np.random.choice(np.flatnonzero(classes == one), (4, 1), replace=False)  # noqa: NPY002
        for query in drawn[:, 0].tolist():
            for strategy, all_curves in curves.items():
                states = feedback_rounds(
                    Search(butterflies["X_train"], strategy, base_rate=None, length_scale=2.5),
                    query,
                    np.where(classes == one, 1, -1),
                    lambda search, one=one: average_precision(
                        truth == one, search.predict(butterflies["X_test"])
                    ),
                )
                all_curves.append([state.quality for state in states])
    means = {strategy: np.mean(all_curves, axis=0) for strategy, all_curves in curves.items()}
    np.testing.assert_allclose(means["ital"], means["entropy"], atol=0.005)
    # The figures of an independent implementation with exact selection, for 50 queries a class.
    expected = [0.488, 0.495, 0.624, 0.726, 0.817, 0.903, 0.966, 0.993, 0.999, 1, 1]
    np.testing.assert_allclose(means["ital"], expected, atol=0.03)
