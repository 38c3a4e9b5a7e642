"""How rare relevant images are: the posterior of scale and border, against sums in loops."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from generators import seeds
from ital import Search, UserModel, baserate
from ital.baserate import ASKED, SCALES, TOLD, Posterior, Rare, Stance, prior_of
from ital.kernel import Kernel
from ital.model import RelevanceModel
from ital.pool import Pool
from ital.prior import PAPER, Evidence


def evidence(rng, answers: int, **more) -> Evidence:
    return Evidence(
        **{
            "means": rng.uniform(-1.2, 0.8, 30),
            "variances": rng.uniform(0.01, 0.9, 30),
            "images": 3000,
            "prior_variance": float(rng.uniform(0.1, 1.0)),
            "answers": rng.choice([-1.0, 1.0], answers),
            "answer_means": rng.uniform(-1, 1, answers),
            "answer_variances": rng.uniform(0.01, 0.9, answers),
            "p_mistake": 0.0,
            **more,
        }
    )


def literal(seen: Evidence, median: float, spread: float, stance: Stance) -> tuple[float, float]:
    """Scale and border, the posterior written out number by number.

    An answer counts half as much as the one that came ``half_life`` answers after it, and all
    of them together as much as they are.
    """
    later = reversed(range(len(seen.answers)))
    counts = [0.5 ** (one / stance.half_life) for one in later]
    counts = [len(counts) * one / sum(counts) for one in counts]
    total = log_scale = border = 0.0
    for unit in SCALES:
        for b in stance.borders:
            s = unit / sqrt(seen.prior_variance)
            share = np.mean(
                [
                    ndtr((m - b) / (s * sqrt(v)))
                    for m, v in zip(seen.means, seen.variances, strict=True)
                ]
            )
            weight = exp(-0.5 * (log(max(seen.images * share, 1.0) / median) / spread) ** 2)
            weight *= exp(-0.5 * (b / stance.border_spread) ** 2)
            told = zip(seen.answers, seen.answer_means, seen.answer_variances, counts, strict=True)
            for y, m, v, count in told:
                right = float(ndtr(y * (m - b) / (s * sqrt(v))))
                p = min(max(stance.least_doubt, seen.p_mistake), 1 - stance.least_doubt)
                weight *= ((1 - p) * right + p * (1 - right)) ** count
            total += weight
            log_scale += weight * log(s)
            border += weight * b
    return exp(2 * log_scale / total), border / total


@given(seeds, st.integers(0, 6), st.sampled_from([0.0, 0.2, 0.5, 0.9]))
def test_the_posterior_is_what_it_says(seed, answers, p_mistake):
    seen = evidence(np.random.default_rng(seed), answers, p_mistake=p_mistake)
    for stance, spread in ((ASKED, 1.0), (TOLD, 1.5)):
        posterior = Posterior.of(seen, None, stance)
        assert posterior.weights.sum() == pytest.approx(1)
        expected = literal(seen, 50.0, spread, stance)
        assert posterior.centre == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_questions_go_by_all_answers_and_figures_by_recent_ones():
    """Early surprises, and then forecasts that come true: the model is surer than it was."""
    rng = np.random.default_rng(0)
    surprises, later = np.tile([1.0, -1.0], 6), np.tile([1.0, -1.0], 10)
    said = np.append(surprises, later)
    means = np.append(-0.4 * surprises, 0.5 * later)
    foretold = {"answer_means": means, "answer_variances": np.full(32, 0.2)}
    seen = replace(evidence(rng, 32, **foretold), answers=said)
    belief = Rare().belief(seen)
    assert belief.told_scale < 0.95 * belief.scale
    features = rng.standard_normal((300, 5))
    search = Search(features, seed=0)
    search.query(relevant=[3])
    for _ in range(4):
        search.answer({int(i): bool(features[i, 0] > 0.5) for i in search.suggest(4)})
    model = search.model
    assert model.belief.told_scale != model.belief.scale
    process = model.mean + model.belief.border - model.belief.told_border
    deviations = np.sqrt(model.variance / model.belief.scale * model.belief.told_scale)
    rows = search.ranking().rows
    told = ndtr(process / np.maximum(deviations, 1e-300))
    np.testing.assert_allclose(model.told(), told, atol=1e-9)
    assert search.results().probabilities.sum() == pytest.approx(told[rows].sum())
    np.testing.assert_allclose(
        model.probabilities(), ndtr(model.mean / np.sqrt(model.variance)), atol=1e-9
    )


def test_forecasts_are_those_of_a_model_that_had_seen_less(monkeypatch):
    """Read off the factor: what the labels before each answer said of it."""
    rng = np.random.default_rng(0)
    pool, kernel = Pool(rng.standard_normal((60, 3))), Kernel(1.5, noise=1e-3)
    seen = []
    belief = Rare.belief
    monkeypatch.setattr(Rare, "belief", lambda self, one: seen.append(one) or belief(self, one))
    labels = {5: 1.0, 9: 1.0, 20: -1.0, 31: 1.0, 44: -1.0, 7: -1.0}
    examples = [5, 9]
    model = RelevanceModel(pool, kernel, Rare())
    model.update(labels, examples=examples)
    last, names = seen[-1], list(labels)
    assert last.answers.tolist() == [labels[name] for name in names[2:]]
    for place, name in enumerate(names[2:]):
        before = RelevanceModel(pool, kernel, Rare())
        before.update({one: labels[one] for one in names[: place + 2]}, examples=examples)
        mean = before.mean[name] + before.belief.border
        variance = before.variance[name] / before.belief.scale
        assert last.answer_means[place] == pytest.approx(mean, abs=1e-9)
        assert last.answer_variances[place] == pytest.approx(variance, abs=1e-9)
    query = RelevanceModel(pool, kernel, Rare())
    query.update({5: 1.0, 9: 1.0}, examples=examples)
    np.testing.assert_allclose(last.means, query.mean + query.belief.border, atol=1e-9)
    np.testing.assert_allclose(last.variances, query.variance / query.belief.scale, atol=1e-9)
    assert last.images == 60
    fresh = RelevanceModel(pool, kernel, Rare())
    assert last.prior_variance == pytest.approx((fresh.variance / fresh.scale).mean())


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.3])
def test_a_rate_that_is_given_is_the_share_after_the_query(rate):
    rng = np.random.default_rng(1)
    search = Search(rng.standard_normal((2000, 8)), base_rate=rate, seed=0)
    search.query(relevant=[3])
    assert search.model.probabilities().mean() == pytest.approx(rate, rel=0.2)


def test_where_most_are_relevant_the_world_is_reversed():
    rng = np.random.default_rng(1)
    features = rng.standard_normal((500, 4))
    rare, common = Search(features, base_rate=0.2), Search(features, base_rate=0.8)
    rare.query(relevant=[3], irrelevant=[9])
    common.query(relevant=[9], irrelevant=[3])
    np.testing.assert_allclose(rare.model.mean, -common.model.mean, atol=1e-9)
    np.testing.assert_allclose(rare.model.variance, common.model.variance, rtol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("identical", [True, False])
@pytest.mark.parametrize("length_scale", [1e-3, 1.0, 1e6])
def test_pools_that_hardly_are(n, identical, length_scale):
    features = np.ones((n, 2)) if identical else np.arange(2.0 * n).reshape(n, 2)
    search = Search(features, base_rate="learn", length_scale=length_scale)
    search.query(relevant=[0])
    assert search.results().probabilities[0] > 0.9
    if n > 1:
        search.answer({1: identical})
        assert np.isfinite(search.model.mean).all()
        assert np.isfinite(search.model.variance).all()
        if identical:
            assert search.results(1).probabilities[0] > 0.9


def test_far_from_all_labels_hardly_anything_is_relevant():
    """Of ten thousand images, a cluster of fifty and the rest elsewhere."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((10_000, 12))
    features[:50] = 4 + 0.3 * rng.standard_normal((50, 12))
    paper, rare = (Search(features, base_rate=rate, seed=0) for rate in (None, "learn"))
    for search in (paper, rare):
        search.query(relevant=[7])
    assert paper.model.probabilities()[50:].mean() > 0.45
    assert rare.model.probabilities()[50:].mean() < 0.05
    assert rare.model.probabilities()[:50].min() > 0.5


def test_the_share_of_a_ranking_never_rises_and_adds_up():
    probabilities = np.array([0.9, 0.95, 0.5, 0.6, 0.1, 0.0])
    pooled = Rare().along_ranking(probabilities)
    np.testing.assert_allclose(pooled, [0.925, 0.925, 0.55, 0.55, 0.1, 0.0])


@given(st.floats(0.0, 0.49))
def test_readings_have_the_mean_and_the_variance_of_flipped_answers(p):
    """An answer is r with probability 1 - p and -r with p; a reading is that over 1 - 2 p."""
    worth, noise = Rare().reading(p, 1.0)
    assert Rare().reading(p, 0.25) == (worth, pytest.approx(noise / 4))
    outcomes, chances = np.array([worth, -worth]), np.array([1 - p, p])
    assert chances @ outcomes == pytest.approx(1)
    assert chances @ (outcomes - 1) ** 2 == pytest.approx(noise, abs=1e-9)


def test_answers_of_no_worth_change_nothing():
    rng = np.random.default_rng(0)
    model = RelevanceModel(Pool(rng.standard_normal((80, 3))), Kernel(1.0), Rare())
    model.trust(0.5)
    model.update({3: 1.0}, examples=[3])
    before = model.mean + model.belief.border
    model.update({9: 1.0, 20: -1.0})
    np.testing.assert_allclose(model.mean + model.belief.border, before, atol=5e-3)
    model.trust(0.0)
    assert model.mean[9] > model.mean[3] - 0.1


def test_a_user_who_is_always_wrong_says_the_opposite():
    features = np.concatenate([np.zeros((20, 3)), 9 + np.random.default_rng(0).random((80, 3))])
    wrong = Search(features, base_rate="learn", user=UserModel(1.0, 1.0), seed=0)
    right = Search(features, base_rate="learn", seed=0)
    for search, yes in ((wrong, False), (right, True)):
        search.query(relevant=[0])
        search.answer(dict.fromkeys(range(1, 6), yes))
        search.answer({30: not yes})
    np.testing.assert_allclose(wrong.model.mean, right.model.mean, atol=1e-6)
    certain = Search(features, base_rate="learn", user=UserModel(1.0, 1.0), seed=0)
    certain.query(relevant=[0])
    certain.answer(dict.fromkeys(range(1, 6), True))  # which cannot be
    assert np.isfinite(certain.model.probabilities()).all()


def test_priors_by_base_rate():
    assert prior_of(None) is PAPER
    assert prior_of("learn") == Rare()
    assert prior_of(0.25) == Rare(0.25)
    assert prior_of(np.float32(0.25)).rate == 0.25


@pytest.mark.parametrize("rate", [0, 1.0, -0.1, 2, float("nan"), "yes", True, [0.1]])
def test_other_base_rates(rate):
    message = "base_rate must be 'learn', a share between 0 and 1, or None, got "
    with pytest.raises((ValueError, TypeError), match=message):
        Search(np.eye(3), base_rate=rate)


def test_every_number_of_the_grid_is_within_it():
    assert baserate.SCALES[0] > 0
    assert (np.diff(SCALES) > 0).all()
    for stance in (ASKED, TOLD):
        np.testing.assert_allclose(stance.borders, -stance.borders[::-1])
