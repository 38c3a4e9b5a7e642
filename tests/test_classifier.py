from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

import ital
import oracle
from ital import RelevanceClassifier

NEEDS_MORE = {
    "check_array_api_input": "SCIPY_ARRAY_API",
    "check_classifier_data_not_an_array": "pandas",
}
"""Checks of scikit-learn that skip themselves without what they name."""


def test_scikit_learns_own_checks():
    results = check_estimator(RelevanceClassifier(), on_skip=None)
    assert len(results) > 50
    for result in results:
        if result["status"] != "passed":
            assert NEEDS_MORE[result["check_name"]] in str(result["exception"])


def test_it_is_the_process_of_the_paper():
    rng = np.random.default_rng(0)
    train, test = rng.standard_normal((15, 2)), rng.standard_normal((6, 2))
    y = np.where(train[:, 0] > 0, "yes", "no")
    fitted = RelevanceClassifier(length_scale=0.8, variance=1.5, noise=0.01).fit(train, y)
    labels = {i: 1.0 if one == "yes" else -1.0 for i, one in enumerate(y)}
    process = oracle.Model(np.vstack([train, test]), labels, 0.8, 1.5, 0.01)
    expected = process.predict(list(range(15, 21)))[0]
    np.testing.assert_allclose(fitted.decision_function(test), expected, atol=1e-9)
    relevant = [oracle.relevance_probability(process, [i], (1,)) for i in range(15, 21)]
    np.testing.assert_allclose(fitted.predict_proba(test)[:, 1], relevant, atol=1e-9)
    assert fitted.predict(test).tolist() == np.where(expected > 0, "yes", "no").tolist()
    assert fitted.classes_.tolist() == ["no", "yes"]


def test_relevant_examples_alone():
    fitted = RelevanceClassifier(length_scale=1.0).fit([[0.0], [0.5]], ["cat", "cat"])
    assert fitted.predict([[0.2], [9.0]]).tolist() == ["cat", "cat"]
    assert fitted.predict_proba([[0.2]]).tolist() == [[1.0]]
    near, far = fitted.decision_function([[0.2], [9.0]])
    assert near > 0.9 > 0.1 > far


def test_yes_and_no_as_features():
    fitted = RelevanceClassifier().fit([[True, False], [False, True]], [0, 1])
    assert fitted.predict([[False, True]]).tolist() == [1]


def test_three_classes_are_refused():
    with pytest.raises(ValueError, match="y must hold one or two classes, got 3"):
        RelevanceClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 2])


def test_what_the_package_does_not_have():
    with pytest.raises(AttributeError, match="has no attribute 'Classifier'"):
        ital.Classifier  # noqa: B018


@pytest.mark.parametrize("base_rate", ["learn", 0.1])
def test_a_base_rate(base_rate):
    """Far from all that it has learnt from, an image is more likely irrelevant."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((60, 4))
    y = np.zeros(60, dtype=int)
    vectors[:6] += 6.0
    y[:6] = 1
    far = np.full((1, 4), -40.0)
    plain = RelevanceClassifier().fit(vectors, y)
    rare = RelevanceClassifier(base_rate=base_rate).fit(vectors, y)
    assert plain.predict_proba(far)[0, 1] == pytest.approx(0.5, abs=0.01)
    assert rare.predict_proba(far)[0, 1] < 0.3
    assert (rare.predict(vectors) == y).all()
    with pytest.raises(ValueError, match="base_rate must be"):
        RelevanceClassifier(base_rate=2).fit(vectors, y)
