"""Views of images after a label, against the process that is fitted anew and the model itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from literal import fitted, relevant, small_problems
from scipy import special

from ital import Search
from ital.gaussian import positive_probability
from ital.strategies.view import View


def _sums(z):
    return special.ndtr(z).sum(axis=1)


@settings(max_examples=40)
@given(small_problems)
def test_a_label_as_if_it_were_known(problem):
    model, process = fitted(problem)
    images = problem.candidates
    view = View.of(model, np.array(images)).labelled(0, relevant=True)
    mean, covariance = process.updated({images[0]: 1.0}).predict(images)
    np.testing.assert_allclose(view.mean, mean, atol=1e-6)
    np.testing.assert_allclose(view.covariance, covariance, atol=1e-6)


@settings(max_examples=25)
@given(small_problems)
def test_every_label_of_every_image(problem):
    model, process = fitted(problem)
    images = problem.candidates
    everything = np.arange(len(images))
    found = View.of(model, np.array(images)).after(everything, everything, _sums)
    for row, label in enumerate((-1.0, 1.0)):
        for column, image in enumerate(images):
            after = process.updated({image: label})
            expected = sum(relevant(after, u) for u in images if u != image)
            assert found[row, column] == pytest.approx(expected, abs=1e-5)


def test_a_label_stands_where_the_model_would_put_it():
    """Means are told with the border at 0, and so are labels that are tried."""
    features = np.random.default_rng(0).standard_normal((40, 3))
    search = Search(features, length_scale=1.5, noise=0.05)
    search.query(relevant=[0])
    search.answer({3: False, 7: False, 9: True})
    model, images = search.model, np.arange(10, 40)
    assert model.belief.border != 0
    means, variances = model.foreseen(images, np.array([10]), np.array([[-1.0], [1.0]]))
    view = View.of(model, images)
    everything = np.arange(len(images))
    sums = view.after(everything[:1], everything, _sums)
    for row, said in enumerate((False, True)):
        after = view.labelled(0, said)
        np.testing.assert_allclose(after.mean, means[row], atol=1e-9)
        np.testing.assert_allclose(after.variance, variances[row], atol=1e-9)
        others = positive_probability(means[row, 1:], variances[row, 1:])
        assert sums[row, 0] == pytest.approx(others.sum(), abs=1e-9)


def test_what_is_said_of_an_image_surprises_as_much_as_it_moves_the_model():
    """emoc with a border: |y - mean| is how far the mean of the image itself would move."""
    features = np.random.default_rng(0).standard_normal((40, 3))
    search = Search(features, "emoc", length_scale=1.5)
    search.query(relevant=[0])
    search.answer({3: False, 7: False, 9: True})
    model, images = search.model, np.arange(10, 40)
    assert model.belief.border != 0
    cov = np.abs(model.covariances(np.arange(40))).mean(axis=1)
    p, expected = model.probabilities(images), []
    for place, image in enumerate(images):
        means, _ = model.foreseen(np.array([image]), np.array([image]), np.array([[-1.0], [1.0]]))
        moved = np.abs(means[:, 0] - model.mean[image])
        share = model.variance[image] / (model.variance[image] + model.noise)
        surprise = (1 - p[place]) * moved[0] + p[place] * moved[1]
        expected.append(surprise / share / (model.variance[image] + model.noise) * cov[image])
    scores = search.strategy.scores(model, images)
    np.testing.assert_allclose(scores, expected, rtol=1e-5)
