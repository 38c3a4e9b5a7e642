"""Where a search stands, against sums that are written out."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

import ital
from ital import UserModel, gaussian, insight


@pytest.fixture
def search():
    features = np.random.default_rng(0).normal(size=(60, 5))
    search = ital.Search(features, seed=0)
    search.query(relevant=[3], irrelevant=[9, 20])
    search.answer({5: True, 7: None})
    return search


def test_nothing_can_be_told_before_the_first_answer(search):
    search.undo()
    assert insight.relevant(search) is None
    assert insight.outlook(search, search.suggest(4)) is None
    assert insight.advice(search, search.suggest(4), 0.5) is None


@pytest.mark.parametrize("rate", ["learn", None])
def test_questions_about_what_is_likeliest_come_first(rate):
    search = ital.Search(np.random.default_rng(1).normal(size=(60, 5)), base_rate=rate, seed=0)
    search.query(relevant=[3], irrelevant=[9])
    batch = search.suggest(8)
    ordered = insight.likeliest_first(search, batch)
    assert sorted(ordered.tolist()) == sorted(batch.tolist())
    chances = {image: how.probability for image, how in search.how_asked(batch.tolist()).items()}
    told = [chances[image] for image in ordered.tolist()]
    assert told == sorted(told, reverse=True) != [chances[image] for image in batch.tolist()]


def test_nothing_can_be_told_without_a_base_rate(search):
    plain = ital.Search(search.model.pool, base_rate=None, seed=0)
    plain.replay(search.events)
    assert insight.relevant(plain) is None


def test_what_is_expected_is_the_sum_of_probabilities(search):
    expected = insight.relevant(search)
    assert expected.value == pytest.approx(search.results().probabilities.sum())
    drawn = search.census().relevant(60)
    assert expected.low == pytest.approx(min(np.quantile(drawn, 0.1), expected.value))
    assert expected.high == pytest.approx(max(np.quantile(drawn, 0.9), expected.value))


def test_thresholds(search):
    results = search.results()
    total = results.probabilities.sum()
    points = insight.thresholds(search, steps=20)
    assert [one.probability for one in points] == [step / 20 for step in range(21)]
    for one in points:
        above = results.probabilities[results.probabilities >= one.probability]
        assert one.count == len(above)
        assert one.recall.value == pytest.approx(above.sum() / total)
        assert one.precision.value == pytest.approx(above.mean() if len(above) else 1)
        for estimate in (one.precision, one.recall):
            assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1 + 1e-9
    assert points[0].recall.low == pytest.approx(1), "all there are are among all there are"


def test_the_balance_is_where_as_many_are_taken_as_are_expected(search):
    points = insight.thresholds(search)
    found = insight.balanced(points)
    wanted = search.results().probabilities.sum()
    assert abs(found.count - wanted) == min(abs(one.count - wanted) for one in points if one.count)


@pytest.mark.parametrize("user", [UserModel(), UserModel(0.6, 0.2)])
def test_the_outlook_is_the_mean_over_all_answers(search, user, monkeypatch):
    """Every way to answer two questions, as likely as it is, each learnt by itself."""
    monkeypatch.setattr(insight, "_DRAWS", 20_000)
    search.configure(user=user)
    batch = search.suggest(2)
    before, expected = search.model.told(), 0.0
    for likely, after in outcomes(search, batch):
        expected += likely * np.abs(after - before).sum() / np.maximum(after, before).sum()
    assert insight.outlook(search, batch) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("user", [UserModel(), UserModel(0.6, 0.2)])
@pytest.mark.parametrize("threshold", [0.0, 0.3, 1.0])
def test_what_is_taken_gains_what_it_holds_more_in_the_mean(search, user, threshold, monkeypatch):
    monkeypatch.setattr(insight, "_DRAWS", 20_000)
    search.configure(user=user)
    batch = search.suggest(2)
    before = search.model.told()
    expected = -before[before >= threshold].sum()
    for likely, after in outcomes(search, batch):
        expected += likely * after[after >= threshold].sum()
    found = insight.advice(search, batch, threshold)
    assert found.gain == pytest.approx(expected, abs=0.1)
    assert found.relevant == pytest.approx(before[batch].sum())
    assert found.asked == 2
    told = sum(label is True for label in search.labels.values())
    assert found.left == pytest.approx(before.sum() - told)


def test_advice_in_words(search):
    found = insight.Advice(4, 1.6, 30.0, 2.5)
    assert found.questions(8) == 20, "two fifths of the questions find one"
    assert found.sentence == (
        "About 1.6 of the next 4 questions will be matches, so that 10 more take about 25; "
        "what you would take will gain about 2.5 matches."
    )
    never = insight.Advice(4, 0.0, 30.0, -0.3)
    assert never.questions(1) is None
    assert insight.Advice(4, 5e-324, 30.0, 0.0).questions(1) is None
    assert never.sentence == (
        "About 0.0 of the next 4 questions will be matches; "
        "what you would take will lose about 0.3 matches."
    )
    few = insight.Advice(4, 1.6, 7.2, 2.5)
    assert few.questions(7) == 18
    assert few.questions(8) is None, "there are not so many"
    assert few.sentence.startswith(
        "About 1.6 of the next 4 questions will be matches, of about 7 that are left to find;"
    )
    for little in (0.049, -0.049):
        sentence = insight.Advice(4, 1.6, 30.0, little).sentence
        assert sentence.endswith("; what you would take will hardly change.")
    with pytest.raises(ValueError, match="more must be a whole number of at least 1, got 0"):
        found.questions(0)
    with pytest.raises(ValueError, match="threshold must be a probability from 0 to 1, got 3"):
        insight.advice(search, search.suggest(2), 3)


def outcomes(search: ital.Search, batch: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
    """Every way to answer two questions: how likely it is, and P(R = 1) of all images after it."""
    channel, signs = search.user.channel, gaussian.sign_probabilities(*search.model.joint(batch))
    for answers in itertools.product((-1, 0, 1), repeat=2):
        likely = sum(
            signs[i, j] * channel[answers[0] + 1, i] * channel[answers[1] + 1, j]
            for i in (0, 1)
            for j in (0, 1)
        )
        mean, variance = learnt(search, dict(zip(batch.tolist(), answers, strict=True)))
        yield likely, gaussian.positive_probability(*search.model.belief.told(mean, variance))


def learnt(search: ital.Search, answers: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of a model that has learnt answers, told with the belief of before."""
    model, belief = search.model, search.model.belief
    examples = {image for image in search.events[0].labels if image in model.labels}
    other = ital.model.RelevanceModel(model.pool, model.kernel, model.prior)
    other.become({**model.labels, **{i: y for i, y in answers.items() if y}}, examples=examples)
    other.trust(search.user.p_mistake)
    mean = other.mean + other.belief.border - belief.border
    return mean, other.variance * belief.scale / other.belief.scale


@pytest.mark.parametrize("user", [UserModel(), UserModel(0.6, 0.2)])
@pytest.mark.parametrize("base_rate", [None, "learn", 0.2])
def test_what_is_foreseen_is_what_is_learnt(search, base_rate, user):
    other = ital.Search(search.model.pool, user=user, base_rate=base_rate, seed=0)
    other.replay(search.events)
    batch, images = np.array([11, 30, 42]), np.arange(60)
    answers = np.array([[1, -1, 1], [0, -1, 0], [-1, -1, -1], [0, 0, 0]])
    means, variances = other.model.foreseen(images, batch, answers)
    for answer, mean, variance in zip(answers, means, variances, strict=True):
        expected = learnt(other, dict(zip(batch.tolist(), answer.tolist(), strict=True)))
        np.testing.assert_allclose(mean, expected[0], atol=1e-7)
        np.testing.assert_allclose(variance, expected[1], atol=1e-7)


def test_nothing_to_ask_has_no_outlook(search):
    nothing = np.empty(0, dtype=np.int64)
    assert insight.outlook(search, nothing) is None
    assert insight.advice(search, nothing, 0.5) is None


def test_the_count_is_right_where_kinds_have_a_look_of_their_own():
    """Five clusters of forty: within a tenth after five rounds, and in the interval."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(5, 30)) * 3
    kinds = np.repeat(np.arange(5), 40)
    search = ital.Search(centres[kinds] + rng.normal(size=(200, 30)) * 0.5, seed=0)
    search.query(relevant=[0])
    for _ in range(5):
        search.answer({int(one): bool(kinds[one] == 0) for one in search.suggest(4)})
    found = insight.relevant(search)
    assert found.value == pytest.approx(40, rel=0.1)
    assert found.low - 0.5 <= 40 <= found.high + 0.5


class TestSearch:
    def test_explanations_add_up(self, search):
        """To the predictive mean; and each is the kernel times its weight, solved densely."""
        told = search.model.prior.mean - search.model.belief.border
        for image in range(0, 60, 7):
            parts = search.explain(image)
            assert told + sum(parts.values()) == pytest.approx(search.model.mean[image], abs=1e-9)
            assert list(map(abs, parts.values())) == sorted(map(abs, parts.values()), reverse=True)
        plain = ital.Search(search.model.pool, base_rate=None, seed=0)
        plain.replay(search.events)
        known = [3, 9, 20, 5]
        features = search.model.pool.features
        scale = search.model.kernel.length_scale

        def kernel(one, other):
            squared = ((features[one][:, None] - features[other]) ** 2).sum(axis=-1)
            return np.exp(-squared / (2 * scale**2))

        weights = np.linalg.solve(kernel(known, known) + 1e-6 * np.eye(4), [1, -1, -1, 1])
        wanted = dict(zip(known, kernel([30], known)[0] * weights, strict=True))
        assert plain.explain(30) == pytest.approx(wanted, abs=1e-6)

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
        untouched = ital.Search(search.model.pool).model
        np.testing.assert_allclose(other.model.mean, untouched.mean, atol=1e-12)
