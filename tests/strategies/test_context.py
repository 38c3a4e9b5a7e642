"""context against its formula, by refitting the process to every possible way to answer."""

from __future__ import annotations

from itertools import product
from math import exp, log, pi, sqrt
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from literal import chosen, fitted, is_best, relevant, same, small_problems
from scipy import stats

import oracle
from generators import users
from ital import Search
from ital.baserate import prior_of
from ital.engine import threads
from ital.strategies import Context, context
from ital.user import UserModel


def number_of(model) -> float:
    """The sum of P(R = 1), or one deviation above the prior's median before the first answer.

    At the most it is e times as many after four answers.
    """
    median, spread = model.prior.number(len(model.pool))
    number = median * exp(spread)
    if model.answers:
        number = min(sum(model.probabilities().tolist()), number * exp(model.answers / 4))
    return max(number, 1.0)


def weights_of(model, candidates) -> dict[int, float]:
    """P(N >= rank), with log N normal around that of the number."""
    ranked = sorted(candidates, key=lambda i: (-model.mean[i], i))
    return {
        image: 1 - stats.norm.cdf(log(rank), log(number_of(model)), 1.0)
        for rank, image in enumerate(ranked, 1)
    }


def entropy(mean: float, variance: float) -> float:
    """Of the sign, in nats, as the strategy takes it to be."""
    return log(2) * exp(-(mean**2) / max(variance, 1e-300) / (pi * log(2)))


def doubt(process: oracle.Model, weights: dict[int, float], batch, user) -> float:
    """What is left in the mean over all ways to answer the batch, image after image."""
    if not batch:
        mean, cov = process.predict(list(weights))
        variances = np.diag(cov)
        return sum(
            w * entropy(m, v) for w, m, v in zip(weights.values(), mean, variances, strict=True)
        )
    first, rest = batch[0], batch[1:]
    p, total = relevant(process, first), 0.0
    for (if_not, if_so), answer in zip(user.channel, (-1, 0, 1), strict=True):
        chance = if_not * (1 - p) + if_so * p
        if chance > 0:
            after = process.updated({first: float(answer)}) if answer else process
            total += chance * doubt(after, weights, rest, user)
    return total


@settings(max_examples=40)
@given(small_problems, users)
def test_gains(problem, user):
    model, process = fitted(problem)
    weights = weights_of(model, problem.candidates)
    batch, utilities = chosen(("context", {"user": user}), model, problem.candidates, 3)
    ranked = sorted(problem.candidates, key=lambda i: (-model.mean[i], i))
    wide = ranked[: max(12, int(np.ceil(number_of(model))))]
    likely = [i for rank, i in enumerate(wide) if rank < 3 or model.mean[i] > 0]
    for place, (image, row) in enumerate(zip(batch, utilities, strict=True)):
        before = doubt(process, weights, batch[:place], user)
        candidates = likely if place == 2 and not model.answers else wide
        left = [i for i in candidates if i not in batch[:place]]
        expected = {i: before - doubt(process, weights, [*batch[:place], i], user) for i in left}
        same(row, expected, 1e-5)
        is_best(image, expected, 1e-5)


def images(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, 3))


def searched(n: int = 40, **settings) -> Search:
    search = Search(images(n), **{"length_scale": 1.5, "seed": 0, **settings})
    search.query(relevant=[0], irrelevant=[5])
    search.answer({9: False, 11: True})
    return search


@pytest.mark.parametrize(
    "user", [UserModel(), UserModel(0.5, 0.25), UserModel(0.25, 0.0), UserModel(1.0, 0.1)], ids=str
)
def test_the_update_is_that_of_the_model(user):
    """With a base rate, and answers that the model takes for what they are worth."""
    search = searched(user=user)
    model, known = search.model, set(search.labels)
    weights = weights_of(model, [i for i in range(40) if i not in known])
    shown, w = np.array(list(weights)), np.array(list(weights.values()))
    batch = np.array([3, 17, 30])

    def left(answers: list[float]) -> float:
        mean, variance = model.foreseen(shown, batch, np.array([answers]))
        return sum(w * [entropy(*one) for one in zip(mean[0], variance[0], strict=True)])

    def chance(answers: tuple[int, ...]) -> float:
        """Of these answers one by one, each given those before it."""
        total, so_far = 1.0, [0.0, 0.0, 0.0]
        for place, answer in enumerate(answers):
            mean, variance = model.foreseen(batch[[place]], batch, np.array([so_far]))
            p = stats.norm.cdf(mean[0, 0] / sqrt(variance[0, 0]))
            total *= user.channel[answer + 1] @ [1 - p, p]
            so_far[place] = float(answer)
        return total

    expected = left([0.0] * 3) - sum(
        chance(answers) * left([float(a) for a in answers])
        for answers in product((-1, 0, 1), repeat=3)
    )
    assert search.score(batch) == pytest.approx(expected, rel=1e-9)


def test_the_score_is_the_sum_of_the_gains():
    search = searched()
    candidates = np.delete(np.arange(40), [0, 5, 9, 11])
    batch, utilities = search.strategy.select_with_utilities(
        search.model, candidates, 4, np.random.default_rng(0)
    )
    assert batch.tolist() == search.suggest(4).tolist()
    gains = utilities[np.arange(4), np.searchsorted(candidates, batch)]
    assert search.score(batch) == pytest.approx(gains.sum(), rel=1e-9)


def test_who_never_answers_tells_nothing():
    for user in (UserModel(0.0, 0.0), UserModel(1.0, 0.5)):
        assert searched(user=user).score([3, 17]) == pytest.approx(0.0, abs=1e-5)


def test_answers_tell_no_less_of_fewer_mistakes():
    scores = [searched(user=UserModel(1.0, p)).score([3, 17]) for p in (0.4, 0.2, 0.05, 0.0)]
    assert scores == sorted(scores)


class TestLargeBatches:
    def test_the_likeliest_ways_stand_for_all(self, monkeypatch):
        """Beyond six images. The batch is the same, and what it is worth is off by little."""
        search = searched(120)
        batch, told = search.suggest(9), search.score(search.suggest(9))
        monkeypatch.setattr(context, "ENUMERATED", 20)
        assert search.score(batch) == pytest.approx(told, rel=0.02)
        assert set(search.suggest(9).tolist()) == set(batch.tolist())

    def test_chances_stay_whole(self):
        search = searched(120, user=UserModel(0.5, 0.1))
        shown = context._Shown.of(search.model, np.arange(12, 120), 9)
        tree = context._Tree(search.model, shown, UserModel(0.5, 0.1))
        for place, position in enumerate(shown.askable[:9]):
            tree.ask(int(position))
            ways = [one.chances for one in tree._branches]
            assert np.concatenate(ways).sum() == pytest.approx(1.0)
            assert sum(map(len, ways)) == (3 ** (place + 1) if place < 5 else 32)

    def test_a_limit(self):
        with pytest.raises(ValueError, match="at most 100 images for strategy 'context', got 101"):
            searched(200).suggest(101)


@pytest.mark.parametrize(("rate", "looked_at"), [(1e-4, 100), (0.02, 100), (0.5, 999)])
def test_the_context_is_bounded(rate, looked_at):
    """It is drawn from the images that will be looked at, in proportion to their weights."""
    search = Search(images(1000), base_rate=rate, length_scale=1.0)
    search.query(relevant=[0])
    number = number_of(search.model)
    candidates = np.arange(1, 1000)
    best = candidates[np.argsort(-search.model.mean[1:], kind="stable")]
    size = min(max(int(context.SHARE * number), context.LEAST), 999)
    assert size == pytest.approx(looked_at, rel=0.3)
    found = context._Shown.of(search.model, candidates, 4)
    assert len(found.images) == min(size, context.DRAWN)
    assert set(found.images.tolist()) <= set(best[:size].tolist())
    whole = weights_of(search.model, candidates)
    total = sum(whole[image] for image in best[:size].tolist())
    assert found.weights.sum() == pytest.approx(total, rel=0.01)
    if size > context.DRAWN:
        np.testing.assert_allclose(found.weights, total / context.DRAWN, rtol=0.01)
    ranks = {image: rank for rank, image in enumerate(best.tolist())}
    by_rank = sorted(found.images.tolist(), key=ranks.get)
    wanted = max(sum(ranks[image] < number for image in by_rank), 4 * context.CHOICE)
    assert found.images[found.askable].tolist() == sorted(by_rank[:wanted])


@settings(max_examples=30)
@given(st.integers(1, 12), st.sampled_from(["learn", None, 0.05, 0.9]))
def test_a_quarter_of_the_first_batch_is_likely_relevant(k, rate):
    """Or among as many of the best-ranked as there are questions, where fewer are likely."""
    search = Search(images(300), base_rate=rate, length_scale=1.0, seed=0)
    search.query(relevant=[0])
    candidates, mean = search.candidates, search.model.mean
    ranked = candidates[:][np.argsort(-mean[candidates[:]], kind="stable")]
    likely = {i for rank, i in enumerate(ranked.tolist()) if rank < k or mean[i] > 0}
    batch = search.suggest(k).tolist()
    assert len(set(batch)) == k
    quarter = [0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3][k]
    assert set(batch[k - quarter :]) <= likely


def test_all_other_questions_may_be_about_all_that_is_looked_at():
    """Where few images are likely relevant, it is about others that answers tell most."""
    search = Search(images(1000), length_scale=0.3, seed=0)
    search.query(relevant=[0])
    assert (search.model.mean[search.suggest(4)] > 0).tolist() == [False, False, False, True]
    search.answer({search.suggest(1)[0]: True})
    assert (search.model.mean[search.suggest(4)] < 0).all()


@pytest.mark.parametrize(
    ("rate", "number"), [("learn", 50 * exp(1)), (0.02, 20 * exp(0.02)), (0.9, 900 * exp(0.02))]
)
def test_before_the_first_answer_it_is_as_wide_as_the_prior_allows(rate, number):
    search = Search(images(1000), base_rate=rate, length_scale=1.0)
    search.query(relevant=[0])
    assert context._number(search.model) == pytest.approx(number)
    for answered in range(1, 13):
        search.answer({10 * answered: answered == 2})
        # What a few answers tell reaches e times as far with every four of them.
        reached = number * exp(answered / 4)
        assert context._number(search.model) == pytest.approx(min(search.model.expected, reached))
    assert context._number(search.model) == search.model.expected


@pytest.mark.parametrize(("answers", "number"), [(0, 270 * exp(0.02)), (40, 300), (10_000, 300)])
def test_the_number_is_never_more_than_there_are(answers, number):
    """However many answers there are: e to the power of a quarter of them is no number then."""
    model = SimpleNamespace(pool=range(300), prior=prior_of(0.9), answers=answers, expected=300.0)
    assert context._number(model) == pytest.approx(number)


def test_the_same_batch_on_any_number_of_threads(monkeypatch):
    search = searched(700, base_rate=0.5)
    batches, values = [], []
    for workers in (1, 2, 3, 7):
        monkeypatch.setattr(threads, "_workers", lambda workers=workers: workers)
        batches.append(search.suggest(5).tolist())
        values.append(search.score(batches[-1]))
    assert batches == [batches[0]] * 4
    assert values == [values[0]] * 4


def test_the_user_is_that_of_the_search_unless_given():
    user, other = UserModel(0.5, 0.25), UserModel(0.9, 0.1)
    assert searched(user=user).strategy == Context(user)
    assert searched(strategy=Context(other), user=user).strategy == Context(other)
    with pytest.raises(TypeError, match="user must be a UserModel, got 'perfect'"):
        Context("perfect")  # type: ignore[arg-type]


def test_after_the_first_image_those_that_tell_most_are_left(monkeypatch):
    search = searched(400, base_rate=0.5)
    candidates = np.setdiff1d(np.arange(400), list(search.labels))
    chance = np.random.default_rng(0)
    utilities = search.strategy.select_with_utilities(search.model, candidates, 3, chance)[1]
    known = ~np.isnan(utilities)
    kept = 3 * context.KEPT
    assert known[0].sum() > kept
    assert known[1].sum() == kept - 1
    assert utilities[0, known[1]].min() >= np.sort(utilities[0, known[0]])[-kept]
    # Of those that are likely relevant, too.
    likely = known[0] & (search.model.mean[candidates] > 0)
    assert likely.sum() > kept - 2
    assert kept - 2 <= known[2].sum() <= kept
    assert utilities[0, known[2]].min() >= np.sort(utilities[0, likely])[-kept]
    monkeypatch.setattr(context, "KEPT", 400)
    everything = search.strategy.select_with_utilities(search.model, candidates, 3, chance)[1]
    # What comes after the second image depends on which it is.
    np.testing.assert_allclose(utilities[:2][known[:2]], everything[:2][known[:2]])
