from __future__ import annotations

import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from scipy.special import ndtr

from generators import problems, seeds
from ital import Search, shard
from ital.baserate import Rare
from ital.engine import ThreadEngine
from ital.evaluation.datasets import load
from ital.features import Features
from ital.kernel import Kernel
from ital.model import RelevanceModel
from ital.pool import Pool
from ital.prior import PAPER, Scored, epsilon
from ital.scores import DEVIATION, LEAST, TYPICAL, Scores


def dense(model: RelevanceModel, labels: dict[int, float], vectors: dict[int, np.ndarray], **told):
    """Mean and covariance over the pool from whole matrices and nothing else.

    With a base rate, the joint Gaussian of the pool, the labelled vectors and the average over some
    images, given that the average is -1 and what the labels read: the formula of the conditional
    Gaussian, once, for all of it. With scores, their weight is one more Gaussian in it. Its mean,
    scale and border are the model's own.
    """
    pool = np.asarray(model.pool.features, dtype=float)
    known = np.array([vectors[i] if i < 0 else pool[i] for i in labels]).reshape(-1, pool.shape[1])
    everything = np.concatenate([pool, known, pool[model.pool.sample(256)]])
    squared = ((everything[:, None] - everything[None]) ** 2).sum(-1)
    kernel = model.kernel
    joint = kernel.variance * np.exp(-squared / (2 * kernel.length_scale**2))
    n, count = len(pool), len(known)
    # The average is that of the process without the score, which adds up to 0 over the pool.
    average = np.zeros((1, len(everything)))
    average[0, n + count :] = 1 / (len(everything) - n - count)
    within, before = (average @ joint @ average.T)[0, 0], np.diag(joint)[:n]
    if model.prior is not PAPER:
        before = before - (average @ joint)[0, :n] ** 2 / (within * (1 + epsilon(n)))
    s = np.zeros(n) if model.prior_scores is None else model.prior_scores.values
    labelled = [0.0 if i < 0 else s[i] for i in labels]
    s = np.concatenate([s, labelled, np.zeros(len(everything) - n - count)])
    _, trust = Scored.weight(model.pool, kernel, model.prior.mean)
    joint = joint + trust * np.outer(s, s)
    before = before + trust * s[:n] ** 2
    picked = np.eye(len(everything))[n : n + count]
    p = np.array([told.get("p_mistake", 0.0) * (i not in told.get("examples", ())) for i in labels])
    y = np.array(list(labels.values()), dtype=float)
    if model.prior is PAPER:
        m, seen, values, noise = 0.0, picked, y, np.full(count, kernel.noise)
    else:
        m, seen = -1.0, np.concatenate([picked, average])
        values = np.append(y / (1 - 2 * p), m)
        flips = before.mean() * 4 * p * (1 - p) / (1 - 2 * p) ** 2
        noise = np.append(kernel.noise + flips, epsilon(n) * within)
    cross = (seen @ joint)[:, :n]
    solved = np.linalg.solve(seen @ joint @ seen.T + np.diag(noise), cross)
    means = m + model.slope * s
    mean = means[:n] + solved.T @ (values - seen @ means)
    belief = model.belief
    return mean - belief.border, belief.scale * (joint[:n, :n] - cross.T @ solved)


def assert_equals_refit(model, labels, vectors, tolerance=1e-7, **told):
    mean, cov = dense(model, labels, vectors, **told)
    assert model.labels == labels
    np.testing.assert_allclose(model.mean, mean, atol=tolerance)
    np.testing.assert_allclose(model.variance, np.diag(cov), atol=tolerance)
    assert (model.variance >= 0).all()
    images = np.arange(0, len(model.pool), 3)
    rows = np.arange(1, len(model.pool), 5)
    np.testing.assert_allclose(
        model.covariances(images, rows), cov[np.ix_(images, rows)], atol=tolerance
    )
    pool = np.asarray(model.pool.features, dtype=float)
    scores = None if model.prior_scores is None else model.prior_scores.values
    predicted = model.predict(pool, scores)
    np.testing.assert_allclose(predicted[0], mean, atol=tolerance)
    np.testing.assert_allclose(predicted[1], np.diag(cov), atol=tolerance)
    np.testing.assert_array_equal(model.predict_mean(pool, scores), predicted[0])


PRIORS = [PAPER, Rare(), Rare(0.1)]
SHARDS = st.sampled_from([1, 2, 7])
SCORES = st.sampled_from([None, "any", "few", "constant"])


def scores_of(kind, n, rng):
    """None, different ones, some with many images each, or the same for all."""
    values = {"any": rng.standard_normal(n), "few": rng.integers(3, size=n), "constant": np.ones(n)}
    return None if kind is None else Scores(values[kind], n)


@pytest.mark.parametrize("prior", PRIORS, ids=str)
@given(problem=problems(images=st.integers(6, 40)), shards=SHARDS, scores=SCORES, seed=seeds)
def test_fit_equals_the_textbook(prior, problem, shards, scores, seed):
    pool = Pool(problem.features, engine=ThreadEngine(shards))
    known = scores_of(scores, len(pool), np.random.default_rng(seed))
    model = RelevanceModel(pool, Kernel(**problem.kernel), prior, known)
    labels = {i: float(y) for i, y in problem.labels.items()}
    model.update(labels)
    assert_equals_refit(model, labels, {})
    batch = np.array(problem.candidates[:4])
    mean, cov = model.joint(batch)
    expected_mean, expected_cov = dense(model, labels, {})
    np.testing.assert_allclose(mean, expected_mean[batch], atol=1e-8)
    np.testing.assert_allclose(cov, expected_cov[np.ix_(batch, batch)], atol=1e-8)


@pytest.mark.parametrize("prior", PRIORS, ids=str)
@given(problem=problems(images=st.integers(6, 40)), shards=SHARDS, kind=SCORES, seed=seeds)
def test_the_weight_of_scores_is_their_regression_on_probabilities(
    prior, problem, shards, kind, seed
):
    """With a normal prior, on those of a model that is the same but that its weight is 0."""
    pool, kernel = Pool(problem.features, engine=ThreadEngine(shards)), Kernel(**problem.kernel)
    scores = scores_of(kind or "any", len(pool), np.random.default_rng(seed))
    labels = {i: float(y) for i, y in problem.labels.items()}
    model = RelevanceModel(pool, kernel, prior, scores)
    reach, _ = Scored.weight(pool, kernel, prior.mean)
    assert model.slope == reach * TYPICAL
    model.update(labels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Scores, "apart", lambda *sums: 0.0)
        alone = RelevanceModel(pool, kernel, prior, scores)
        alone.update(labels)
    assert alone.slope == 0
    p, s = alone.probabilities(), scores.values
    deviation = s.std() or np.inf
    rows = np.append((p - p.mean()) / deviation, 1 / DEVIATION)
    values = np.append(s / deviation, TYPICAL / DEVIATION)
    (apart,) = np.linalg.lstsq(rows[:, None], values)[0]
    assert model.slope == pytest.approx(reach * max(apart, LEAST), rel=1e-6, abs=1e-9)
    model.update(dict.fromkeys(labels))
    assert model.slope == pytest.approx(reach * TYPICAL)


def test_without_labels_it_is_the_prior():
    model = RelevanceModel(Pool(np.eye(3)), Kernel(1.0, variance=2.0))
    assert model.mean.tolist() == [0, 0, 0]
    assert model.variance.tolist() == [2, 2, 2]
    np.testing.assert_allclose(model.predict(np.zeros((2, 3))), [[0, 0], [2, 2]])
    np.testing.assert_allclose(model.covariances(np.array([0]))[0], 2 * np.exp([0.0, -1.0, -1.0]))


@settings(max_examples=25, stateful_step_count=20)
class LabelsInAnyOrder(RuleBasedStateMachine):
    """Whatever happened before, the model is that of its labels."""

    @initialize(
        seed=seeds,
        scale=st.sampled_from([0.5, 2.0]),
        noise=st.sampled_from([1e-6, 0.1]),
        prior=st.sampled_from(PRIORS),
        shards=SHARDS,
        scores=SCORES,
    )
    def begin(self, seed, scale, noise, prior, shards, scores):
        self.rng = np.random.default_rng(seed)
        features = self.rng.standard_normal((40, 3))
        features[1::7] = features[0]
        features[2::7] = features[0] + 1e-4
        pool = Pool(features, engine=ThreadEngine(shards))
        known = scores_of(scores, 40, self.rng)
        self.model = RelevanceModel(pool, Kernel(scale, 1.3, noise), prior, known)
        self.labels: dict[int, float] = {}
        self.vectors: dict[int, np.ndarray] = {}
        self.p_mistake = 0.0
        self.examples: set[int] = set()

    def apply(self, changes, examples=()):
        self.model.update(changes, self.vectors, examples)
        self.examples = self.examples.difference(changes).union(examples)
        for name, label in changes.items():
            if label is None:
                self.labels.pop(name, None)
            else:
                self.labels[name] = label

    @rule(images=st.lists(st.integers(0, 39), max_size=36), positive=st.booleans())
    def label(self, images, positive):
        self.apply(dict.fromkeys(images, 1.0 if positive else -1.0))

    @rule(example=st.booleans())
    def label_a_vector_from_outside(self, example):
        name = -1 - len(self.vectors)
        self.vectors[name] = self.rng.standard_normal(3)
        self.apply({name: 1.0}, [name] if example else [])

    @rule()
    def move_a_vector_from_outside(self):
        for name in list(self.vectors)[:1]:
            self.vectors[name] = self.rng.standard_normal(3)
            self.apply({name: 1.0})

    @rule(p_mistake=st.sampled_from([0.0, 0.1, 0.3]))
    def trust(self, p_mistake):
        self.model.trust(p_mistake)
        self.p_mistake = p_mistake

    @rule()
    def become_something_else_in_another_order(self):
        names = [int(one) for one in self.rng.permutation(40)[:6]]
        self.labels = {name: float(self.rng.choice([-1, 1])) for name in names}
        self.examples = set(names[:2])
        self.model.become(self.labels, examples=names[:2])
        assert list(self.model.labels) == names

    @rule(share=st.sampled_from([0.2, 1.0]))
    def change_all_kinds_at_once(self, share):
        changes = {}
        for name, label in self.labels.items():
            if self.rng.random() < share:
                changes[name] = None if self.rng.random() < 0.5 else -label
        changes[int(self.rng.integers(40))] = 1.0
        self.apply(changes)

    @rule(images=st.lists(st.integers(0, 39), min_size=1, max_size=5))
    def remove(self, images):
        self.apply(dict.fromkeys(images))

    @rule(images=st.lists(st.integers(0, 39), min_size=1, max_size=4, unique=True))
    def look_at_covariances_and_label(self, images):
        """What selection does: the rows that it computed serve the labels."""
        self.model.covariances(np.array(images))
        self.apply({i: float(self.rng.choice([-1, 1])) for i in images[1:]})

    @invariant()
    def is_the_model_of_its_labels(self):
        if self.labels:
            # The order of labels is the model's own.
            labels = {name: self.labels[name] for name in self.model.labels}
            assert labels.keys() == self.labels.keys()
            told = {"p_mistake": self.p_mistake, "examples": self.examples}
            if self.model.prior is PAPER:
                told = {}  # it takes answers as if they were true
            assert_equals_refit(self.model, labels, self.vectors, tolerance=5e-6, **told)


TestLabelsInAnyOrder = LabelsInAnyOrder.TestCase


def test_a_thousand_labels_with_copies_and_contradictions():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((1200, 5))
    features[600:] = features[:600]
    model = RelevanceModel(Pool(features), Kernel(1.0))
    labels = {int(i): float(rng.choice([-1, 1])) for i in rng.permutation(1200)[:1000]}
    for part in np.array_split(list(labels), 40):
        model.update({int(i): labels[int(i)] for i in part})
    mean, cov = dense(model, labels, {})
    assert np.isfinite(model.mean).all()
    np.testing.assert_allclose(model.variance, np.diag(cov), atol=1e-8)
    # Contradicting copies make weights of 1e6, which cost six of the sixteen digits.
    np.testing.assert_allclose(model.mean, mean, atol=1e-6)
    removed = list(labels)[::2]
    model.update(dict.fromkeys(removed))
    left = {i: y for i, y in labels.items() if i not in set(removed)}
    np.testing.assert_allclose(model.mean, dense(model, left, {})[0], atol=1e-6)


@pytest.mark.parametrize("size", [3, 5, 33, 70])
def test_each_batch_of_labels_is_one_pass(size, monkeypatch):
    """Wherever the pieces of memory end that hold the rows, and however many come at once."""
    features = np.random.default_rng(0).standard_normal((90, 4))
    model, passes = RelevanceModel(Pool(features), Kernel(2.0), Rare()), []
    measuring = Features.measuring
    monkeypatch.setattr(
        Features, "measuring", lambda self, *args: passes.append(0) or measuring(self, *args)
    )
    labels: dict[int, float] = {}
    for lo in range(0, 70, size):
        labels |= {i: 1.0 if i % 3 else -1.0 for i in range(lo, min(lo + size, 70))}
        passes.clear()
        model.become(labels)
        assert len(passes) == 1
        assert_equals_refit(model, labels, {})


@settings(max_examples=8)
@given(
    seed=seeds,
    count=st.integers(33, 90),
    noise=st.sampled_from([1e-6, 0.1]),
    prior=st.sampled_from(PRIORS),
    shards=SHARDS,
)
def test_many_labels_at_once_are_those_one_by_one(seed, count, noise, prior, shards):
    """As they come, and as some go; among near copies, and in blocks that end anywhere."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((100, 3)).astype(np.float32)
    features[1::7], features[2::7] = features[0], features[0] + np.float32(1e-4)
    pool = Pool(features, engine=ThreadEngine(shards))
    at_once, one_by_one = (RelevanceModel(pool, Kernel(1.5, 1.3, noise), prior) for _ in range(2))
    labels = {int(i): float(rng.choice([-1, 1])) for i in rng.permutation(100)[:count]}
    some, last = list(labels)[5:-5:2], list(labels)[-4:]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shard, "_NUMBERS", 1000)  # images of a block: about a dozen
        at_once.become(labels)
        for name, label in labels.items():
            one_by_one.update({name: label})
        assert_equal_models(at_once, one_by_one)
        assert_equals_refit(at_once, labels, {}, tolerance=5e-6)
        for gone in (some, last):
            at_once.update(dict.fromkeys(gone))
            for name in gone:
                one_by_one.update({name: None})
            assert_equal_models(at_once, one_by_one)
    left = {name: label for name, label in labels.items() if name not in {*some, *last}}
    assert_equals_refit(at_once, left, {}, tolerance=5e-6)


def assert_equal_models(one, other):
    """To rounding: contradicting copies make weights of 1e6, which cost six of sixteen digits."""
    assert one.labels == other.labels
    np.testing.assert_allclose(one.moments(), other.moments(), atol=1e-8)


def test_many_labels_take_no_more_memory_than_their_rows(monkeypatch):
    """But for blocks of images, which do not grow with the pool; nor do those that are left."""
    monkeypatch.setattr(shard, "_NUMBERS", 1 << 14)
    features = np.random.default_rng(0).standard_normal((8000, 4))
    model, labels = RelevanceModel(Pool(features), Kernel(1.0)), dict.fromkeys(range(160), 1.0)
    rows = 8 * len(features) * len(labels)
    tracemalloc.start()
    model.become(labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    model.become({name: label for name, label in labels.items() if name % 3})
    again = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.2 * rows
    assert again < 1.2 * rows


def test_parameters_may_be_whole_numbers():
    model = RelevanceModel(Pool(np.eye(3)), Kernel(1, 2, 1))
    model.update({0: 1})
    assert_equals_refit(model, {0: 1}, {})


def test_contradicting_labels_on_one_image_cancel():
    features = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    model = RelevanceModel(Pool(features), Kernel(1.0))
    model.update({0: 1.0, 1: -1.0})
    np.testing.assert_allclose(model.mean, 0.0, atol=1e-9)


@pytest.mark.parametrize("noise", [1e-15, 1e-150])
def test_hardly_any_noise_among_copies_stays_finite(noise):
    features = np.random.default_rng(0).standard_normal((10, 16))[np.arange(40) % 10]
    model = RelevanceModel(Pool(features), Kernel(4.0, noise=noise))
    model.update({0: 1.0, 10: -1.0, 20: 1.0, 1: -1.0, 11: -1.0})
    assert np.abs(model.mean).max() < 2
    assert np.isfinite(model.variance).all()


@pytest.mark.parametrize("noise", [1e-6, 1e-13, 1e-150])
def test_which_of_contradicting_labels_comes_first_makes_no_difference(noise):
    features = np.ones((3, 2))
    for labels in ({0: 1.0, 1: -1.0}, {0: -1.0, 1: 1.0}):
        model = RelevanceModel(Pool(features), Kernel(1.0, noise=noise))
        model.update(labels)
        np.testing.assert_allclose(model.mean, 0.0, atol=1e-3)


def test_probabilities_are_equation_5_for_one_image():
    rng = np.random.default_rng(0)
    model = RelevanceModel(Pool(rng.standard_normal((30, 2))), Kernel(1.0))
    model.update({3: 1.0, 9: -1.0})
    expected = ndtr(model.mean / np.sqrt(model.variance))
    np.testing.assert_allclose(model.probabilities(), expected)
    np.testing.assert_allclose(model.probabilities(np.array([4, 2])), expected[[4, 2]])


def test_covariances_are_kept_for_the_labels_that_follow(monkeypatch):
    rng = np.random.default_rng(0)
    model = RelevanceModel(Pool(rng.standard_normal((30, 2))), Kernel(1.0))
    model.update({3: 1.0})
    model.covariances(np.array([5, 6]))
    monkeypatch.setattr(Features, "_converting", lambda *_: None)  # a pass would fail now
    model.update({5: 1.0, 6: -1.0})
    assert_labels = {3: 1.0, 5: 1.0, 6: -1.0}
    monkeypatch.undo()
    assert_equals_refit(model, assert_labels, {})


@pytest.mark.parametrize("name", ["length_scale", "variance", "noise"])
@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), 1e-200, 1e200])
def test_refuses_kernels_that_are_none(name, value):
    message = f"{name} must be a positive number from 1e-150 to 1e150, got {value}"
    with pytest.raises(ValueError, match=re.escape(message)):
        Kernel(**{"length_scale": 1.0, name: value})


@given(problems())
def test_what_strategies_ask_of_it(problem):
    model = RelevanceModel(Pool(problem.features), Kernel(**problem.kernel))
    model.update(problem.labels)
    everything = np.arange(len(problem.features))
    np.testing.assert_array_equal(
        model.labelled_vectors, [problem.features[i] for i in model.labels]
    )
    squared = ((problem.features[:, None] - problem.features) ** 2).sum(axis=2)
    prior = problem.variance * np.exp(-squared / (2 * problem.length_scale**2))
    np.testing.assert_allclose(model.kernel_matrix(everything), prior, atol=1e-12)
    np.testing.assert_allclose(model.kernel_matrix(everything[:2], everything[3:]), prior[:2, 3:])
    kept = model.covariances(everything)
    for rows in (None, everything[2:5]):
        fresh = model.covariances(everything[:3], rows, keep=False)
        np.testing.assert_allclose(fresh, kept[:3] if rows is None else kept[:3, 2:5], atol=1e-10)
    p = model.probabilities()
    with np.errstate(divide="ignore", invalid="ignore"):
        entropies = -np.nansum([p * np.log(p), (1 - p) * np.log(1 - p)], axis=0)
    np.testing.assert_allclose(model.entropies(), entropies, atol=1e-12)
    np.testing.assert_allclose(model.entropies(everything[1:4]), entropies[1:4], atol=1e-12)


def test_labelled_vectors_are_to_be_read_only():
    model = RelevanceModel(Pool(np.arange(10.0)[:, None]), Kernel(2.0))
    model.update({0: 1})
    with pytest.raises(ValueError, match="read-only"):
        model.labelled_vectors[:] = 0


def test_covariances_that_are_not_kept():
    model = RelevanceModel(Pool(np.arange(10.0)[:, None]), Kernel(2.0))
    model.update({0: 1})
    model.covariances(np.array([3, 4]), keep=False)
    assert not model._kept


@pytest.mark.parametrize("strategy", ["ital", "border_div", "topscoring"])
@pytest.mark.parametrize("base_rate", [None, "learn"])
def test_rows_for_half_precision_are_a_hundred_times_as_exact_as_it(base_rate, strategy):
    """Rows of V are in single precision then, whatever is learnt, changed and taken back."""
    task = load("digits").tasks[3]
    relevant, rounded = task.train_relevance == 1, (task.train / 7).astype(np.float16)
    features = (rounded, rounded.astype(float), task.train / 7)
    scale = Pool(features[2]).median_distance()
    searches = [
        Search(one, strategy, base_rate=base_rate, length_scale=scale, seed=0) for one in features
    ]
    half, double, exact = (search.model for search in searches)
    for search in searches:
        search.query(relevant=[int(np.argmax(relevant))])
    for number in range(6):
        batch = searches[1].suggest(4).tolist()
        assert searches[0].suggest(4).tolist() == batch
        for search in searches:
            search.answer({i: bool(relevant[i]) for i in batch})
            if number == 2:
                search.answer({batch[0]: not relevant[batch[0]]})
            if number == 4:
                search.undo()
    for one, other, true in zip(half.moments(), double.moments(), exact.moments(), strict=True):
        assert np.abs(one - other).max() < np.abs(other - true).max() / 100
