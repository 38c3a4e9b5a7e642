"""Where a search stands, against sums that are written out."""

from __future__ import annotations

import numpy as np
import pytest

import ital
from ital import insight


@pytest.fixture
def search():
    features = np.random.default_rng(0).normal(size=(60, 5))
    search = ital.Search(features, seed=0)
    search.query(relevant=[3], irrelevant=[9, 20])
    search.answer({5: True, 7: None})
    return search


def test_nothing_is_known_from_labels_of_one_kind():
    search = ital.Search(np.eye(4), seed=0)
    search.query(relevant=[1])
    assert insight.insight(search) is None


def test_count_and_certainty(search):
    seen = insight.insight(search)
    degrees = [min(max(2 * mean, 0.0), 1.0) for mean in search.model.mean]
    assert seen.relevant == pytest.approx(sum(degrees))
    doubts = [-(d * np.log2(d) + (1 - d) * np.log2(1 - d)) for d in degrees if 0 < d < 1]
    assert seen.certainty == pytest.approx(1 - sum(doubts) / len(degrees))


def test_thresholds(search):
    probabilities = search.model.probabilities()
    degrees = insight.degrees(search.model.mean)
    order = np.argsort(-search.model.mean, kind="stable")
    for one in insight.thresholds(search, steps=20):
        assert one.count == (probabilities >= one.probability).sum()
        above = order[: one.count]
        assert one.recall == pytest.approx(degrees[above].sum() / degrees.sum())
        if one.count:
            assert one.precision == pytest.approx(degrees[above].mean())


def test_change():
    before, after = np.array([0.0, 0.5, 0.5, -1.0]), np.array([0.5, 0.0, 0.5, -0.2])
    assert insight.change(before, before) == 0
    assert insight.change(before, after) == 1.0  # one came, one went, two are there
    assert insight.change(before, np.array([0.0, 0.5, 0.25, -1.0])) == pytest.approx(0.5 / 1.5)


def test_the_sum_is_right_where_kinds_have_a_look_of_their_own():
    """Five clusters of forty: within a tenth after five rounds."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(5, 30)) * 3
    kinds = np.repeat(np.arange(5), 40)
    search = ital.Search(centres[kinds] + rng.normal(size=(200, 30)) * 0.5, seed=0)
    search.query(relevant=[0])
    for _ in range(5):
        search.answer({int(one): bool(kinds[one] == 0) for one in search.suggest(4)})
    assert insight.insight(search).relevant == pytest.approx(40, rel=0.1)


class TestSearch:
    def test_explanations_add_up(self, search):
        """To the predictive mean; and each is the kernel times its weight, solved densely."""
        for image in range(0, 60, 7):
            parts = search.explain(image)
            assert sum(parts.values()) == pytest.approx(search.model.mean[image], abs=1e-9)
            assert list(map(abs, parts.values())) == sorted(map(abs, parts.values()), reverse=True)
        known = [3, 9, 20, 5]
        features = search.model.pool.features
        scale = search.model.kernel.length_scale

        def kernel(one, other):
            squared = ((features[one][:, None] - features[other]) ** 2).sum(axis=-1)
            return np.exp(-squared / (2 * scale**2))

        weights = np.linalg.solve(kernel(known, known) + 1e-6 * np.eye(4), [1, -1, -1, 1])
        wanted = dict(zip(known, kernel([30], known)[0] * weights, strict=True))
        assert search.explain(30) == pytest.approx(wanted, abs=1e-6)

    def test_explanations_need_a_query_and_an_image(self, search):
        with pytest.raises(IndexError, match="image must be an index"):
            search.explain(60)
        with pytest.raises(RuntimeError, match="explain needs a query"):
            ital.Search(np.eye(3)).explain(0)

    def test_replay_leads_to_where_events_led(self, search):
        other = ital.Search(search.model.pool, seed=0)
        other.query(relevant=[40, 41])
        other.answer({3: False, 5: True})
        other.replay(search.events)
        assert other.labels == search.labels
        assert other.events == search.events
        np.testing.assert_allclose(other.model.mean, search.model.mean, atol=1e-9)
        np.testing.assert_allclose(other.model.variance, search.model.variance, atol=1e-9)
        assert other.suggest(3).tolist() == search.suggest(3).tolist()
        other.undo()
        assert other.labels == {3: True, 9: False, 20: False}
        other.replay([])
        assert other.labels == {}
        np.testing.assert_allclose(other.model.mean, 0, atol=1e-12)
