"""What every strategy must do, whatever it is after.

`test_contract.py` runs these checks on all registered strategies. Each takes what `Search` takes as
its strategy, so they serve for strategies that are defined elsewhere, too.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ital import Search, strategies
from ital.kernel import Kernel
from ital.model import RelevanceModel
from ital.pool import Pool

CHECKS: list[Callable] = []


def check(function: Callable) -> Callable:
    CHECKS.append(function)
    return function


def images(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, 3))


def searched(strategy, features, relevant=(0,), irrelevant=(), **settings) -> Search:
    search = Search(features, strategy, **{"length_scale": 1.5, "seed": 1, **settings})
    search.query(relevant=list(relevant), irrelevant=list(irrelevant))
    return search


def is_batch(search: Search, batch: np.ndarray, k: int) -> None:
    """``k`` different images that nothing is known of, or all that there are."""
    assert isinstance(batch, np.ndarray)
    assert batch.dtype.kind == "i"
    open_images = set(range(len(search))) - search.labels.keys()
    assert len(batch) == min(k, len(open_images))
    assert len(set(batch.tolist())) == len(batch)
    assert set(batch.tolist()) <= open_images


@check
def batches_of_every_size(strategy):
    search = searched(strategy, images(30), [0, 7], [3])
    for k in (1, 2, 3, 4, 5, 8):
        is_batch(search, search.suggest(k), k)


@check
def every_image_is_asked_about_once_even_if_unnameable(strategy):
    search = searched(strategy, images(20))
    seen = []
    for number in range(7):
        batch = search.suggest(3)
        is_batch(search, batch, 3)
        seen += batch.tolist()
        search.answer({i: [None, True, False, None][(number + i) % 4] for i in batch.tolist()})
    assert sorted(seen) == list(range(1, 20))


@check
def more_wanted_than_there_are(strategy):
    search = searched(strategy, images(9), [0], [1])
    assert sorted(search.suggest(50).tolist()) == list(range(2, 9))


@check
def one_image_left(strategy):
    search = searched(strategy, images(6), [0, 2], [3, 4, 5])
    for k in (1, 4):
        assert search.suggest(k).tolist() == [1]


@check
def two_images_in_all(strategy):
    assert searched(strategy, images(2)).suggest(4).tolist() == [1]


@check
def all_images_identical(strategy):
    for vector in (np.ones(3), np.zeros(3)):
        for labels in ({"relevant": [4]}, {"relevant": [4], "irrelevant": [5, 6]}):
            search = searched(strategy, np.tile(vector, (25, 1)), **labels)
            for k in (1, 2, 3, 4):
                is_batch(search, search.suggest(k), k)


@check
def images_in_identical_pairs(strategy):
    search = searched(strategy, np.repeat(images(12), 2, axis=0), [0], [1, 6])
    batch = search.suggest(12)
    is_batch(search, batch, 12)
    assert search.suggest(12).tolist() == batch.tolist()


@check
def one_label_only(strategy):
    search = searched(strategy, images(30), [5])
    is_batch(search, search.suggest(4), 4)


@check
def only_irrelevant_labels(strategy):
    for labels in ([5], [1, 5, 9, 20]):
        search = searched(strategy, images(30), [], labels)
        is_batch(search, search.suggest(4), 4)


@check
def no_label_at_all(strategy):
    model = RelevanceModel(Pool(images(20)), Kernel(1.5))
    chosen = strategies.create(strategy).select(model, np.arange(20), 4, np.random.default_rng(0))
    assert len(set(chosen.tolist()) & set(range(20))) == 4


@check
def a_query_from_outside_the_pool(strategy):
    search = Search(images(20), strategy, length_scale=1.5, seed=1)
    search.query(relevant=[np.array([0.1, 0.2, 0.3])], irrelevant=[3])
    is_batch(search, search.suggest(4), 4)


@check
def five_hundred_labels(strategy):
    features = images(540)
    inside = np.linalg.norm(features, axis=1) < 1.5
    relevant = [i for i in range(500) if inside[i]]
    irrelevant = [i for i in range(500) if not inside[i]]
    search = searched(strategy, features, relevant, irrelevant)
    is_batch(search, search.suggest(4), 4)


@check
def extreme_kernels(strategy):
    for settings in (
        {"length_scale": 1e-3},
        {"length_scale": 1e4},
        {"variance": 1e8, "noise": 1e-8},
        {"variance": 1e-8},
        {"noise": 100.0},
        {"noise": 1e-150},
    ):
        search = searched(strategy, images(25), [0, 1], [2], **settings)
        is_batch(search, search.suggest(4), 4)


@check
def far_outliers(strategy):
    features = images(25)
    features[7] *= 1e8
    search = searched(strategy, features, [0], [2])
    is_batch(search, search.suggest(4), 4)


@check
def the_same_in_single_and_double_precision(strategy):
    single = images(60).astype(np.float32)
    batches = [
        searched(strategy, features, [0, 5], [9]).suggest(4).tolist()
        for features in (single, single.astype(np.float64))
    ]
    assert batches[0] == batches[1]


@check
def the_same_seed_gives_the_same_batch(strategy):
    first, second = (searched(strategy, images(60), [0, 5], [9]) for _ in range(2))
    np.random.seed(3)  # noqa: NPY002 - chance from elsewhere must not matter
    batch = first.suggest(4).tolist()
    np.random.seed(4)  # noqa: NPY002
    assert first.suggest(4).tolist() == batch
    assert second.suggest(4).tolist() == batch


@check
def the_model_does_not_change(strategy):
    features = images(40)
    asked, untouched = (searched(strategy, features, [0, 5], [9]) for _ in range(2))
    batch = asked.suggest(4)
    for part in ("mean", "variance", "labels"):
        np.testing.assert_equal(getattr(asked.model, part), getattr(untouched.model, part))
    everything = np.arange(40)
    np.testing.assert_allclose(
        asked.model.covariances(everything), untouched.model.covariances(everything), atol=1e-12
    )
    # What was computed on the way is of use to the labels that follow, and must be right.
    for search in (asked, untouched):
        search.answer(dict(zip(batch.tolist(), [True, False, None, True], strict=True)))
    np.testing.assert_allclose(asked.model.mean, untouched.model.mean, atol=1e-9)
    np.testing.assert_allclose(asked.model.variance, untouched.model.variance, atol=1e-9)


@check
def hardly_anything_is_kept(strategy):
    search = searched(strategy, images(300), [0, 5], [9])
    search.suggest(4)
    assert len(search.model._kept) <= 4


class Chance(np.random.Generator):
    """Numbers that belong to images, wherever they are in the pool."""

    def __init__(self, numbers: np.ndarray) -> None:
        super().__init__(np.random.PCG64())
        self.numbers = numbers

    def random(self, size: int) -> np.ndarray:
        assert size == len(self.numbers)
        return self.numbers


@check
def a_permuted_pool_permutes_the_batch(strategy):
    rng = np.random.default_rng(5)
    features, numbers, labels = images(40), rng.random(40), {0: 1, 5: 1, 9: -1}
    places = rng.permutation(40)  # where each image goes
    batches = []
    for order in (np.arange(40), np.argsort(places)):
        pool = Pool(features[order])
        model = RelevanceModel(pool, Kernel(1.5))
        model.update({i: labels[image] for i, image in enumerate(order) if image in labels})
        candidates = np.array([i for i, image in enumerate(order) if image not in labels])
        chance = Chance(numbers[order[candidates]])
        batches.append(strategies.create(strategy).select(model, candidates, 4, chance))
    assert batches[1].tolist() == places[batches[0]].tolist()


@check
def utilities_explain_the_batch(strategy):
    for kernel in (Kernel(1.5), Kernel(1.5, noise=1e-18), Kernel(1.5, variance=1e12)):
        _utilities_explain_the_batch(strategy, kernel)


def _utilities_explain_the_batch(strategy, kernel):
    model = RelevanceModel(Pool(images(40)), kernel)
    model.update({0: 1, 5: 1, 9: -1})
    everything = np.setdiff1d(np.arange(40), [0, 5, 9])
    one = strategies.create(strategy)
    for candidates, k in ((everything, 1), (everything, 4), (everything, 8), (everything[:1], 4)):
        expected = one.select(model, candidates, k, np.random.default_rng(0))
        batch, utilities = one.select_with_utilities(model, candidates, k, np.random.default_rng(0))
        assert batch.tolist() == expected.tolist()
        assert utilities.shape == (len(batch), len(candidates))
        for place, image in enumerate(batch):
            row = dict(zip(candidates.tolist(), utilities[place], strict=True))
            assert all(np.isnan(row[earlier]) for earlier in batch[:place].tolist())
            best = np.nanmax(utilities[place])
            assert row[int(image)] >= best - 1e-7 * max(1.0, abs(best))


@check
def its_summary_is_a_sentence(strategy):
    """The page shows it to people who have not read the method's paper."""
    text = strategies.describe(strategy if isinstance(strategy, str) else strategy[0])
    assert text == text.strip()
    assert text[0].isupper()
    assert text.endswith(".")
    assert text.count(". ") == 0
    assert 20 <= len(text) <= 110


@check
def it_survives_saving(strategy):
    search = searched(strategy, images(30), [0], [3])
    with tempfile.TemporaryDirectory() as folder:
        search.save(Path(folder) / "search.json")
        loaded = Search.load(Path(folder) / "search.json", images(30))
    assert loaded.strategy == search.strategy
    assert loaded.suggest(4).tolist() == search.suggest(4).tolist()
