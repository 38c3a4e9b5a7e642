"""Our strategies under scikit-activeml's own general tests, and in a loop of its API alone."""

from __future__ import annotations

import sys
import unittest
import warnings
from pathlib import Path

import numpy as np
import pytest
import skactiveml
from skactiveml.classifier import SklearnClassifier
from skactiveml.exceptions import MappingError
from skactiveml.utils import MISSING_LABEL, unlabeled_indices
from sklearn.datasets import load_digits

from ital import RelevanceClassifier, Search, UserModel, strategies
from ital.interop.skactiveml import RelevanceQueryStrategy
from ital.strategies import Border

# Release 0.5.2 is the last one whose wheel holds the general tests. `make` fetches it, and they run
# against the release that is installed.
WHEELS = sorted((Path(sys.prefix) / "skactiveml-tests").glob("*.whl"))
if WHEELS:
    skactiveml.__path__.append(str(WHEELS[0] / "skactiveml"))
    from skactiveml.tests.template_query_strategy import TemplateSingleAnnotatorPoolQueryStrategy
else:
    TemplateSingleAnnotatorPoolQueryStrategy = object

RNG = np.random.default_rng(0)
X = RNG.standard_normal((20, 2))
Y = np.append([0.0, 1.0, 1.0, 0.0], np.full(16, MISSING_LABEL))


class General(TemplateSingleAnnotatorPoolQueryStrategy):
    """The library's general tests, with what they ask each strategy to add for its parameters."""

    name: str

    def setUp(self):
        super().setUp(
            RelevanceQueryStrategy,
            {"strategy": self.name, "length_scale": 1.0},
            {"X": X, "y": Y},
        )

    def test_init_param_strategy(self):
        cases = [("best", ValueError), (3, TypeError), ("random", None), (("sud", {}), None)]
        self._test_param("init", "strategy", [*cases, (Border(), None)])

    def test_init_param_user(self):
        self._test_param("init", "user", [("me", TypeError), (UserModel(0.5, 0.1), None)])

    def test_init_param_length_scale(self):
        cases = [(0, ValueError), ("long", (TypeError, ValueError)), (None, None), (2.0, None)]
        self._test_param("init", "length_scale", cases)

    def test_init_param_variance(self):
        self._test_param("init", "variance", [(-1.0, ValueError), (2.0, None)])

    def test_init_param_noise(self):
        self._test_param("init", "noise", [(0.0, ValueError), (0.1, None)])

    def test_init_param_base_rate(self):
        cases = [(0.0, ValueError), ("rare", (TypeError, ValueError)), ("learn", None), (0.1, None)]
        self._test_param("init", "base_rate", cases)

    def test_init_param_classes(self):
        cases = [
            ([0, 1, 2], ValueError),
            ([5, 6], ValueError),
            ([1, 1], ValueError),
            ([0, 1], None),
            ([1, 0], None),
        ]
        self._test_param("init", "classes", cases)

    def test_query(self):
        strategy = RelevanceQueryStrategy(self.name, length_scale=1.0, random_state=1)
        batch, utilities = strategy.query(X, Y, batch_size=4, return_utilities=True)
        assert utilities.shape == (4, 20)
        assert np.isnan(utilities[:, :4]).all()
        for place, index in enumerate(batch):
            assert utilities[place, index] >= np.nanmax(utilities[place]) - 1e-7
            assert np.isnan(utilities[place + 1 :, index]).all()
        np.testing.assert_array_equal(strategy.query(X, Y, batch_size=4), batch)


@pytest.mark.skipif(not WHEELS, reason="`make` has not fetched scikit-activeml's general tests")
@pytest.mark.parametrize("name", strategies.names())
def test_the_librarys_general_tests(name):
    case = type(f"Test_{name}", (General, unittest.TestCase), {"name": name})
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(case)
    result = unittest.TestResult()
    with warnings.catch_warnings():
        # Those of the tests themselves, and of batches that are larger than the pool.
        warnings.simplefilter("default")
        suite.run(result)
    assert result.testsRun >= 25
    assert not result.skipped
    assert not result.failures + result.errors, "\n".join(
        text for _, text in result.failures + result.errors
    )


def test_a_loop_of_their_api_alone():
    """Find the zeros among the digits, with scikit-activeml's calls and nothing else."""
    digits = load_digits()
    features, truth = digits.data[:600], (digits.target[:600] == 0).astype(float)
    y = np.full(len(truth), MISSING_LABEL)
    y[np.flatnonzero(truth)[0]] = 1.0
    strategy = RelevanceQueryStrategy("ital", classes=[0, 1], random_state=0)
    classifier = SklearnClassifier(RelevanceClassifier(), classes=[0, 1], random_state=0)
    for _ in range(10):
        indices = strategy.query(features, y, batch_size=4)
        assert len(np.intersect1d(indices, unlabeled_indices(y))) == 4
        y[indices] = truth[indices]
    classifier.fit(features, y)
    assert np.isnan(y).sum() == 600 - 41
    assert classifier.score(features, truth) > 0.97
    assert classifier.predict_proba(features).shape == (600, 2)


@pytest.mark.parametrize(
    "name", [name for name in strategies.names() if name not in ("random", "powerbald")]
)
def test_the_same_batch_as_a_search(name):
    """X, y and settings mean what they mean to `ital.Search`."""
    strategy = RelevanceQueryStrategy(name, length_scale=1.0)
    search = Search(X, name, length_scale=1.0)
    search.query(relevant=[1])
    search.answer({0: False, 2: True, 3: False})
    assert strategy.query(X, Y, batch_size=4).tolist() == search.suggest(4).tolist()


def test_which_class_is_relevant():
    texts = np.array(["cat", "dog", *[""] * 18])
    top = {
        classes: RelevanceQueryStrategy(
            "topscoring", length_scale=1.0, classes=classes, missing_label=""
        ).query(X, texts)[0]
        for classes in (None, ("cat", "dog"), ("dog", "cat"))
    }
    assert top[None] == top["cat", "dog"] != top["dog", "cat"]
    assert np.linalg.norm(X[top["cat", "dog"]] - X[1]) < np.linalg.norm(X[top["cat", "dog"]] - X[0])


def test_chance_follows_the_random_state():
    batches = {
        seed: RelevanceQueryStrategy("random", random_state=seed).query(X, Y, batch_size=4).tolist()
        for seed in range(5)
    }
    assert len({tuple(batch) for batch in batches.values()}) > 1


def test_the_user_matters():
    _, (perfect,) = RelevanceQueryStrategy("ital").query(X, Y, return_utilities=True)
    user = UserModel(0.5, 0.1)
    _, (erring,) = RelevanceQueryStrategy("ital", user=user).query(X, Y, return_utilities=True)
    assert np.nanmax(np.abs(perfect - erring)) > 0.1


def test_an_index_said_twice_counts_once():
    batch, utilities = RelevanceQueryStrategy("border").query(
        X, Y, candidates=[-1, 19], batch_size=2, return_utilities=True
    )
    assert batch.tolist() == [19]
    assert utilities.shape == (1, 20)


def test_yes_and_no_as_features():
    assert len(RelevanceQueryStrategy().query(X > 0, Y, batch_size=2)) == 2


def test_vectors_as_candidates_are_refused():
    with pytest.raises(MappingError, match="Use index array"):
        RelevanceQueryStrategy().query(X, Y, candidates=X[5:9])


def test_labelled_candidates_are_refused():
    with pytest.raises(ValueError, match="must not contain labeled"):
        RelevanceQueryStrategy().query(X, Y, candidates=[1, 5])


def test_nothing_left():
    with pytest.warns(UserWarning, match="batch_size=1"):
        batch, utilities = RelevanceQueryStrategy().query(X[:4], Y[:4], return_utilities=True)
    assert batch.shape == (0,)
    assert utilities.shape == (0, 4)
