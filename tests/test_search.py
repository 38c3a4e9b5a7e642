from __future__ import annotations

import copy
import json
import pickle
import threading

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from scipy.special import ndtr

import ital
from generators import seeds
from ital import Search, UserModel
from ital.kernel import Kernel
from ital.model import RelevanceModel
from ital.pool import Pool
from ital.scores import Scores

FEATURES = np.random.default_rng(0).standard_normal((30, 4))
SCORES = FEATURES[:, 0] + np.random.default_rng(1).standard_normal(30)


def started(**settings) -> Search:
    search = Search(FEATURES, seed=3, **settings)
    search.query(relevant=[5], irrelevant=[9])
    search.answer({1: True, 2: False, 3: None})
    return search


def state(search: Search):
    model = search.model
    return copy.deepcopy((search.labels, model.labels, model.mean, model.variance, search._history))


def assert_unchanged(search: Search, before) -> None:
    labels, model_labels, mean, variance, history = before
    assert search.labels == labels
    assert search.model.labels == model_labels
    np.testing.assert_array_equal(search.model.mean, mean)
    np.testing.assert_array_equal(search.model.variance, variance)
    assert len(search._history.events) == len(history.events)


class TestTheLoop:
    def test_as_in_the_design(self, tmp_path):
        search = Search(
            FEATURES,
            strategy="ital",
            user=ital.UserModel(p_label=1.0, p_mistake=0.0),
            length_scale=None,
            variance=1.0,
            noise=1e-6,
            seed=None,
        )
        search.query(relevant=[17], irrelevant=[])
        ids = search.suggest(4)
        assert isinstance(ids, np.ndarray)
        search.answer({ids[0]: True, ids[1]: False, ids[2]: None})
        assert search.labels == {17: True, ids[0]: True, ids[1]: False, ids[2]: None}
        top = search.results(10)
        assert len(top) == len(top.ids) == len(top.means) == len(top.probabilities) == 10
        assert search.predict(FEATURES[:3]).shape == (3,)
        assert search.score([3, 9, 12]) > 0
        search.save(tmp_path / "search.json")
        again = Search.load(tmp_path / "search.json", FEATURES)
        np.testing.assert_array_equal(again.suggest(4), search.suggest(4))
        search.undo()
        assert search.labels == {17: True}
        assert "30 images, 1 labels" in repr(search)
        assert len(search) == 30

    def test_the_length_scale_is_the_median_distance_unless_given(self):
        assert Search(FEATURES).model.kernel.length_scale == Pool(FEATURES).median_distance()
        assert Search(FEATURES, length_scale=2.0).model.kernel.length_scale == 2.0

    @pytest.mark.parametrize("strategy", ital.strategies.names())
    def test_suggestions_are_unknown_and_different(self, strategy):
        search = started(strategy=strategy)
        ids = search.suggest(100)
        assert sorted(ids.tolist()) == sorted(set(range(30)) - {1, 2, 3, 5, 9})
        np.testing.assert_array_equal(search.suggest(5), started(strategy=strategy).suggest(5))

    def test_random_suggestions_depend_on_the_seed_and_on_what_was_answered(self):
        first = Search(FEATURES, "random", seed=1)
        first.query(relevant=[0])
        second = Search(FEATURES, "random", seed=2)
        second.query(relevant=[0])
        batch = first.suggest(10)
        assert set(batch) != set(second.suggest(10))
        first.answer({int(batch[0]): True})
        assert set(first.suggest(9)) != set(batch[1:])
        first.undo()
        np.testing.assert_array_equal(first.suggest(10), batch)

    def test_topscoring_asks_for_the_best_results(self):
        search = started(strategy="topscoring")
        expected = [i for i in search.results().ids if i not in search.labels][:4]
        assert search.suggest(4).tolist() == expected
        assert search.score(expected) == pytest.approx(search.model.mean[expected].sum())

    def test_strategies_by_name_by_name_and_parameters_and_as_they_are(self):
        user = UserModel(0.5, 0.25)
        by_name = started(strategy="ital", user=user)
        assert by_name.strategy == ital.strategies.ITAL(user, "paper")
        with_parameters = started(strategy=("ital", {"posterior": "exact"}), user=user)
        assert with_parameters.strategy == ital.strategies.ITAL(user, "exact")
        own = ital.strategies.ITAL(UserModel(0.9), "exact")
        assert started(strategy=own, user=user).strategy is own

    def test_answers_in_every_form(self):
        forms = {
            1: [True, 1, np.True_, np.int8(1), 1.0, "yes", ital.Answer.YES],
            -1: [False, -1, np.False_, np.int64(-1), -1.0, "no", ital.Answer.NO],
            0: [None, 0, np.int16(0), 0.0, "unsure", ital.Answer.UNSURE],
        }
        for label, answers in forms.items():
            for answer in answers:
                search = started()
                search.answer({np.int64(7): answer})
                assert search._history.labels[7] == label
                assert search.labels[7] is {1: True, -1: False, 0: None}[label]

    def test_unnameable_images_are_remembered_and_not_asked_again(self):
        search = started()
        search.answer({5: None})
        assert search.labels[5] is None
        assert 5 not in search.model.labels
        assert 5 not in search.suggest(100)

    def test_an_unnameable_query_does_not_end_the_search(self):
        search = Search(FEATURES)
        search.query(relevant=[0])
        search.answer({0: None, 4: True})
        assert search.labels == {0: None, 4: True}
        assert len(search.suggest(2)) == 2

    def test_the_only_query_cannot_become_unnameable(self):
        search = Search(FEATURES)
        search.query(relevant=[0])
        before = state(search)
        with pytest.raises(ValueError, match=r"answers must leave one image .* got {0: None}"):
            search.answer({0: None})
        assert_unchanged(search, before)
        search.query(irrelevant=[FEATURES[3]])
        search.answer({0: None})
        assert search.model.labels == {-1: -1.0}

    def test_parameters_may_be_of_any_number_type(self, tmp_path):
        user, rate = UserModel(np.float32(0.5), 0), np.float32(0.1)
        kernel = {"length_scale": np.float32(1.5), "variance": 2, "noise": 1}
        search = Search(FEATURES, user=user, base_rate=rate, **kernel)
        search.query(relevant=np.array(3))
        search.save(tmp_path / "search.json")
        again = Search.load(tmp_path / "search.json", FEATURES)
        np.testing.assert_array_equal(again.suggest(3), search.suggest(3))

    def test_a_failed_update_leaves_the_history(self, monkeypatch):
        search = started()
        before = state(search)

        def full(*arguments):
            raise MemoryError

        monkeypatch.setattr(search.model, "become", full)
        for call in (
            lambda: search.query(relevant=[7]),
            lambda: search.answer({7: 1}),
            search.undo,
        ):
            with pytest.raises(MemoryError):
                call()
        assert_unchanged(search, before)

    def test_queries_by_index_and_by_vector(self):
        vector = np.random.default_rng(1).standard_normal(4)
        search = Search(FEATURES, base_rate=None)
        search.query(relevant=[3, vector], irrelevant=vector + 5)
        expected = RelevanceModel(Pool(FEATURES), search.model.kernel)
        expected.update({3: 1.0, -1: 1.0, -2: -1.0}, {-1: vector, -2: vector + 5})
        np.testing.assert_allclose(search.model.mean, expected.mean)
        assert search.labels == {3: True}
        search.query(irrelevant=7)
        search.query(relevant=np.array([8, 9]))
        search.query(relevant=FEATURES[[10, 11]])
        search.query(relevant=vector.tolist())
        search.query(relevant=vector.astype(np.float32))
        assert search.labels == {3: True, 7: False, 8: True, 9: True}
        assert len(search.model.labels) == 10
        for _ in range(5):
            search.undo()
        np.testing.assert_allclose(search.model.mean, expected.mean, atol=1e-9)

    def test_results_are_the_callers_own(self):
        search = started()
        first = search.results(5)
        for array in (first.ids, first.means, first.probabilities):
            array[:] = 0
        assert len(set(search.results(5).ids.tolist())) == 5

    def test_results_rank_by_mean_with_their_probabilities(self):
        search = started()
        results = search.results()
        means = search.model.mean
        assert results.ids.tolist() == sorted(range(30), key=lambda i: (-means[i], i))
        np.testing.assert_array_equal(results.means, means[results.ids])
        expected = search.model.told()
        assert (np.diff(results.probabilities) <= 0).all(), "one order for means and probabilities"
        assert results.probabilities.sum() == pytest.approx(expected.sum())
        assert search.results(3).ids.tolist() == results.ids[:3].tolist()

    def test_probabilities_of_the_paper(self):
        search = started(base_rate=None)
        results = search.results()
        expected = ndtr(search.model.mean / np.sqrt(search.model.variance))[results.ids]
        np.testing.assert_allclose(results.probabilities, expected)

    def test_predictions_outside_equal_those_inside(self):
        search = started()
        np.testing.assert_allclose(search.predict(FEATURES), search.model.mean, atol=1e-9)
        assert search.predict(FEATURES[4]).tolist() == pytest.approx([search.model.mean[4]])
        assert search.predict(FEATURES[:2].astype(np.float16)).dtype == np.float64

    def test_an_answer_of_nothing_is_nothing(self):
        search = started()
        before = state(search)
        search.answer({})
        assert_unchanged(search, before)


@settings(max_examples=25, stateful_step_count=20)
class AnyOrder(RuleBasedStateMachine):
    """Queries, answers, changed answers and undo in any order end in the model of the labels.

    With a score of the images there may be answers before there is a query.
    """

    @initialize(seed=seeds, scored=st.booleans())
    def begin(self, seed, scored):
        rng = np.random.default_rng(seed)
        self.features = rng.standard_normal((25, 3))
        self.features[10:14] = self.features[0]
        self.prior = rng.integers(9, size=25) if scored else None
        self.search = Search(self.features, base_rate=None, length_scale=1.0, prior=self.prior)
        self.steps: list[dict[int, int]] = []
        self.vectors: list[np.ndarray] = []

    def begun(self) -> bool:
        return self.prior is not None or any(self.labels().values())

    def labels(self) -> dict[int, int]:
        merged: dict[int, int] = {}
        for step in self.steps:
            merged.update(step)
        return merged

    @rule(relevant=st.sets(st.integers(0, 24), max_size=3), irrelevant=st.integers(0, 24))
    def query(self, relevant, irrelevant):
        relevant.discard(irrelevant)
        self.search.query(relevant=sorted(relevant), irrelevant=[irrelevant])
        self.steps.append({**dict.fromkeys(relevant, 1), irrelevant: -1})

    @rule(answers=st.dictionaries(st.integers(0, 24), st.sampled_from([1, -1, 0]), max_size=6))
    @precondition(lambda self: self.begun())
    def answer(self, answers):
        self.search.answer(answers)
        if answers:
            self.steps.append(answers)

    @rule()
    @precondition(lambda self: self.steps)
    def undo(self):
        self.search.undo()
        self.steps.pop()

    @rule()
    @precondition(lambda self: self.begun())
    def suggest(self):
        self.search.suggest(3)

    @invariant()
    def is_the_model_of_the_labels(self):
        labels = self.labels()
        names = {1: True, -1: False, 0: None}
        assert self.search.labels == {i: names[y] for i, y in labels.items()}
        scores = None if self.prior is None else Scores(self.prior, 25)
        expected = RelevanceModel(Pool(self.features), Kernel(1.0), scores=scores)
        expected.update({i: float(y) for i, y in labels.items() if y})
        np.testing.assert_allclose(self.search.model.mean, expected.mean, atol=1e-7)
        np.testing.assert_allclose(self.search.model.variance, expected.variance, atol=1e-9)


TestAnyOrder = AnyOrder.TestCase


class TestSaving:
    def test_all_comes_back(self, tmp_path):
        path = tmp_path / "search.json"
        vector = np.random.default_rng(2).standard_normal(4)
        search = Search(
            FEATURES,
            ("ital", {"posterior": "exact"}),
            UserModel(0.5, 0.25),
            variance=1.5,
            noise=1e-3,
            seed=11,
        )
        search.query(relevant=[4, vector])
        search.answer({7: True, 8: False, 9: None})
        search.answer({7: None, 9: True})
        search.save(path)
        assert path.stat().st_size < 4096
        again = Search.load(path, FEATURES)
        assert again.labels == search.labels
        assert again.strategy == search.strategy
        assert again.user == search.user
        assert again.model.kernel == search.model.kernel
        np.testing.assert_allclose(again.model.mean, search.model.mean, atol=1e-9)
        np.testing.assert_array_equal(again.suggest(5), search.suggest(5))
        for _ in range(3):
            again.undo()
            search.undo()
            assert again.labels == search.labels
            np.testing.assert_allclose(again.model.mean, search.model.mean, atol=1e-9)

    @pytest.mark.parametrize("strategy", ital.strategies.names())
    def test_every_strategy_comes_back(self, tmp_path, strategy):
        search = started(strategy=strategy)
        search.save(tmp_path / "search.json")
        again = Search.load(tmp_path / "search.json", FEATURES)
        assert again.strategy == search.strategy
        np.testing.assert_array_equal(again.suggest(5), search.suggest(5))

    def test_how_it_came_to_answers_is_kept(self, tmp_path):
        """By which strategy, and how probable it was when it was asked, or said unasked."""
        path, search = tmp_path / "search.json", started(strategy="border")
        batch = [int(image) for image in search.suggest(2)]
        own = next(image for image in range(30) if image not in (*batch, *search.labels))
        before = search.model.told()
        search.answer({batch[0]: False})
        then = search.model.told()
        search.configure(strategy="random")
        search.answer({batch[1]: True, own: None})
        expected = [
            {batch[0]: ("border", before[batch[0]])},
            {batch[1]: ("border", before[batch[1]]), own: (None, then[own])},
        ]
        search.save(path)
        for one in (search, Search.load(path, FEATURES)):
            asked = [
                {image: (how.strategy, how.probability) for image, how in event.asked.items()}
                for event in one.events[-2:]
            ]
            assert asked == expected
        content = json.loads(path.read_text())
        for event in content["events"]:
            del event["asked"]  # as the first files were
        path.write_text(json.dumps(content))
        again = Search.load(path, FEATURES)
        assert again.labels == search.labels
        assert all(event.asked == {} for event in again.events)

    def test_the_first_files_knew_of_no_base_rate(self, tmp_path):
        path = tmp_path / "search.json"
        search = started(base_rate=None)
        search.save(path)
        content = json.loads(path.read_text())
        del content["settings"]["base_rate"]
        path.write_text(json.dumps(content))
        again = Search.load(path, FEATURES)
        np.testing.assert_allclose(again.model.mean, search.model.mean, atol=1e-9)

    def test_a_failed_save_leaves_the_old_file(self, tmp_path, monkeypatch):
        path = tmp_path / "search.json"
        started().save(path)
        before = path.read_bytes()

        def full(descriptor):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.fsync", full)
        with pytest.raises(OSError, match="No space left"):
            started().save(path)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]

    def test_other_features_are_refused(self, tmp_path):
        path = tmp_path / "search.json"
        started().save(path)
        for features in (FEATURES + 1e-9, FEATURES[:-1], FEATURES.astype(np.float32)):
            with pytest.raises(ValueError, match=r"features must be those that .* was saved with"):
                Search.load(path, features)

    @pytest.mark.parametrize(
        "content", [b"", b"\x80\x04N.", b"[1, 2]", b"null", b'{"format": "other"}', b"\xff\xfe\x00"]
    )
    def test_foreign_files_are_refused(self, tmp_path, content):
        path = tmp_path / "other"
        path.write_bytes(content)
        with pytest.raises(ValueError, match="path must be a saved search"):
            Search.load(path, FEATURES)

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ('"version": 1', '"version": 2', "saved search of version 1, but .* says .* 2"),
            ("[5, 1]", "[500, 1]", "broken: image must be an index from 0 to 29, got 500"),
            ("[5, 1]", "[5, 7]", "broken: label must be -1, 0 or 1, got 7"),
            ("[5, 1]", "[5, true]", "broken: label must be -1, 0 or 1, got True"),
            ("[5, 1]", "[5.0, 1]", "broken: image must be an index from 0 to 29, got 5.0"),
            (
                "[-1, [",
                "[1, [",
                "broken: the name of a vector must be a new negative",
            ),
            ("[-1, [", '[-1, ["a", ', "broken: vector must hold indices or vectors of 4"),
            ("[-1, [", "[-1, [NaN, ", "broken: vector must hold indices or vectors of 4"),
            ('"kind": "query"', '"kind": "rm"', "broken: kind must be 'query' or 'answer'"),
            ('"name": "context"', '"name": "rm"', "broken: strategy must be one of"),
            ('"p_label": 1.0', '"p_label": 7', "broken: p_label must be a probability"),
            ('"noise": 1e-06', '"noise": -1', "broken: noise must be a positive"),
            ('"seed": 3', '"sead": 3', "broken: .*sead"),
            ('"events": [', '"events": [3, ', "broken"),
            ('"asked": []', '"asked": [[4, null, 0.5]]', "broken: what was asked must be a label"),
            ('"asked": []', '"asked": [[5, 7, 0.5]]', "broken: what was asked must be a label"),
            ('"asked": []', '"asked": [[5, null, 2]]', "broken: probability must be a probability"),
        ],
    )
    def test_broken_files_are_refused(self, tmp_path, old, new, message):
        path = tmp_path / "search.json"
        search = started()
        search.query(relevant=[np.ones(4)])
        search.save(path)
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        with pytest.raises(ValueError, match=message):
            Search.load(path, FEATURES)

    def test_strategies_without_a_name_cannot_be_saved(self, tmp_path):
        class Mine(ital.strategies.Random):
            name = "mine"

        with pytest.raises(ValueError, match=r"strategy must be one of .* to be saved, got"):
            started(strategy=Mine()).save(tmp_path / "search.json")
        assert not list(tmp_path.iterdir())


NAN = np.full(4, np.nan)
BAD_CALLS = {
    "unknown index in query": (
        lambda s: s.query(relevant=[30]),
        IndexError,
        "relevant must be an index from 0 to 29, got 30",
    ),
    "negative index in query": (
        lambda s: s.query(irrelevant=[-1]),
        IndexError,
        "irrelevant must be an index from 0 to 29, got -1",
    ),
    "a good and a bad index": (
        lambda s: s.query(relevant=[7, 31]),
        IndexError,
        "relevant must be an index from 0 to 29, got 31",
    ),
    "both relevant and irrelevant": (
        lambda s: s.query(relevant=[7], irrelevant=[7]),
        ValueError,
        "image 7 must not be both relevant and irrelevant",
    ),
    "empty query": (lambda s: s.query(), ValueError, "query needs at least one"),
    "text as query": (
        lambda s: s.query(relevant="7"),
        TypeError,
        "relevant must be indices or vectors, got '7'",
    ),
    "None as query": (
        lambda s: s.query(relevant=None),
        TypeError,
        "relevant must be indices or vectors, got None",
    ),
    "bool as index": (
        lambda s: s.query(relevant=[True]),
        TypeError,
        "relevant must be an index from 0 to 29, got True",
    ),
    "vector of the wrong length": (
        lambda s: s.query(relevant=[np.zeros(3)]),
        ValueError,
        r"relevant must hold indices or vectors of 4 numbers, got one of the shape \(3,\)",
    ),
    "vector with NaN": (
        lambda s: s.query(relevant=[7], irrelevant=[NAN]),
        ValueError,
        "irrelevant must be finite, but 1 of 1 rows hold NaN, infinite or overflowing values",
    ),
    "overflowing vector": (
        lambda s: s.query(relevant=[np.full(4, 1e200)]),
        ValueError,
        "relevant must be finite, but 1 of 1 rows hold NaN, infinite or overflowing values",
    ),
    "prediction that overflows": (
        lambda s: s.predict(np.full(4, 1e200)),
        ValueError,
        "vectors must be finite, but 1 of 1 rows hold NaN, infinite or overflowing values",
    ),
    "unknown index in answer": (
        lambda s: s.answer({7: True, 99: True}),
        IndexError,
        "image must be an index from 0 to 29, got 99",
    ),
    "no index in answer": (
        lambda s: s.answer({"a": True}),
        TypeError,
        "image must be an index from 0 to 29, got 'a'",
    ),
    "unknown answer": (
        lambda s: s.answer({7: True, 8: "maybe"}),
        ValueError,
        "the answer to image 8 must be yes, no or unsure .*, got 'maybe'",
    ),
    "answer of two": (
        lambda s: s.answer({8: 2}),
        ValueError,
        "the answer to image 8 must be yes, no or unsure .*, got 2",
    ),
    "answers that are no mapping": (
        lambda s: s.answer([7]),
        TypeError,
        r"answers must be a mapping from index to answer, got \[7\]",
    ),
    "k of 0": (lambda s: s.suggest(0), ValueError, "k must be .* at least 1, got 0"),
    "k below 0": (lambda s: s.suggest(-4), ValueError, "k must be .* at least 1, got -4"),
    "masked vector": (
        lambda s: s.query(relevant=[np.ma.masked_array(np.ones(4), [0, 1, 0, 0])]),
        ValueError,
        "relevant must have no masked values, got 1",
    ),
    "masked prediction": (
        lambda s: s.predict(np.ma.masked_less(np.arange(8.0).reshape(2, 4), 2)),
        ValueError,
        "vectors must have no masked values, got 2",
    ),
    "half a k": (lambda s: s.suggest(1.5), TypeError, "k must be .* at least 1, got 1.5"),
    "count of 0": (lambda s: s.results(0), ValueError, "count must be .* at least 1, got 0"),
    "prediction of the wrong length": (
        lambda s: s.predict(np.zeros((2, 5))),
        ValueError,
        "vectors must be vectors of length 4, got length 5",
    ),
    "ragged prediction": (
        lambda s: s.predict([[1.0], [1.0, 2.0]]),
        ValueError,
        "vectors must be vectors of equal length",
    ),
    "prediction of NaN": (
        lambda s: s.predict([[0.0] * 4, NAN]),
        ValueError,
        "vectors must be finite, but 1 of 2 rows .* row 1",
    ),
    "one number as batch": (
        lambda s: s.score(5),
        TypeError,
        "batch must be indices of images, got 5",
    ),
    "ragged vector": (
        lambda s: s.query(relevant=[[1.0, [2.0]]]),
        ValueError,
        "relevant must be indices or vectors, got",
    ),
    "a mapping as query": (
        lambda s: s.query(relevant={3: 1}),
        TypeError,
        "relevant must be indices or vectors, got {3: 1}",
    ),
    "empty batch": (lambda s: s.score([]), ValueError, "batch must hold one or more"),
    "batch with a copy": (
        lambda s: s.score([7, 7]),
        ValueError,
        r"batch must hold one or more different images, got \[7, 7\]",
    ),
    "batch with an unknown index": (
        lambda s: s.score([7, 30]),
        IndexError,
        "batch must be an index from 0 to 29, got 30",
    ),
}


class TestBadInput:
    @pytest.mark.parametrize("case", BAD_CALLS)
    def test_is_named_and_changes_nothing(self, case):
        call, error, message = BAD_CALLS[case]
        search = started()
        before = state(search)
        with pytest.raises(error, match=message):
            call(search)
        assert_unchanged(search, before)

    @pytest.mark.parametrize(
        "call",
        [
            lambda s: s.suggest(4),
            lambda s: s.results(),
            lambda s: s.predict(FEATURES),
            lambda s: s.score([1]),
            lambda s: s.answer({1: True}),
        ],
    )
    def test_before_any_query(self, call):
        search = Search(FEATURES)
        before = state(search)
        with pytest.raises(RuntimeError, match=r"needs a query first: call query\(relevant="):
            call(search)
        assert_unchanged(search, before)

    def test_when_everything_is_known(self):
        search = started()
        search.answer(dict.fromkeys(range(30), True))
        before = state(search)
        with pytest.raises(RuntimeError, match="no image left to ask about: all 30 are known"):
            search.suggest(1)
        assert_unchanged(search, before)

    def test_nothing_to_undo(self):
        search = Search(FEATURES)
        with pytest.raises(RuntimeError, match="undo needs a query or an answer to take back"):
            search.undo()

    @pytest.mark.parametrize(
        ("settings", "error", "message"),
        [
            ({"features": [[np.nan]]}, ValueError, "features must be finite"),
            ({"features": [[1.0], [1.0, 2.0]]}, ValueError, "features must be vectors of equal"),
            ({"features": 1e-300 * FEATURES}, ValueError, "features must differ by 1e-140 or more"),
            ({"features": 1e-160 * FEATURES}, ValueError, "features must differ by 1e-140 or more"),
            (
                {"features": np.ma.masked_greater(FEATURES, 2.0)},
                ValueError,
                "features must have no masked values, got [0-9]+: fill or drop them",
            ),
            ({"strategy": "best"}, ValueError, "strategy must be one of adaptal, .*, got 'best'"),
            ({"strategy": ("ital", None)}, TypeError, "strategy must be a name, a name with"),
            ({"strategy": ([], {})}, TypeError, "strategy must be a name, a name with"),
            ({"strategy": 7}, TypeError, "strategy must be a name, a name with parameters"),
            (
                {"strategy": ("ital", {"posterior": "bayes"})},
                ValueError,
                "posterior must be 'paper' or 'exact', got 'bayes'",
            ),
            ({"strategy": ("random", {"k": 3})}, TypeError, "strategy 'random' does not take"),
            ({"user": np.zeros(2)}, TypeError, "user must be a UserModel or 'learn', got"),
            ({"user": 0.5}, TypeError, "user must be a UserModel or 'learn', got 0.5"),
            (
                {"length_scale": 0.0},
                ValueError,
                "length_scale must be a positive number from 1e-150",
            ),
            ({"variance": -1}, ValueError, "variance must be a positive number from .*, got -1"),
            ({"noise": "1e-6"}, TypeError, "noise must be a positive number from .*, got '1e-6'"),
            ({"seed": -1}, ValueError, "seed must be a whole number of at least 0, got -1"),
            ({"seed": 1.5}, TypeError, "seed must be a whole number of at least 0, got 1.5"),
        ],
    )
    def test_settings(self, settings, error, message):
        with pytest.raises(error, match=message):
            Search(**{"features": FEATURES, **settings})

    def test_random_batches_have_no_value(self):
        with pytest.raises(ValueError, match="strategy 'random' gives batches no value"):
            started(strategy="random").score([7])


@pytest.mark.parametrize(("strategy", "most"), [("ital", 32), ("entropy", 32), ("tcal", 100)])
def test_batches_that_would_take_minutes_are_refused(strategy, most):
    search = Search(np.random.default_rng(0).standard_normal((most + 4, 3)), strategy, seed=0)
    search.query(relevant=[0])
    before = state(search)
    message = f"k must be at most {most} images for strategy '{strategy}', got {most + 3}"
    with pytest.raises(ValueError, match=message):
        search.suggest(10**9)
    if strategy != "tcal":
        with pytest.raises(ValueError, match=f"batch must be at most {most} images"):
            search.score(range(1, most + 2))
    assert_unchanged(search, before)
    search.answer({1: False, 2: True, 3: True})  # as many are left as may be asked about
    assert len(search.suggest(10**9)) == most


class TestReplay:
    def test_a_vector_that_is_missing_changes_nothing(self):
        search = started()
        before = state(search)
        with pytest.raises(ValueError, match=r"vectors must hold those named \[-1\]"):
            search.replay([ital.history.Event("query", {3: 1, -1: 1})])
        assert_unchanged(search, before)

    def test_an_example_that_is_confirmed_stays_one(self):
        search = Search(FEATURES, base_rate="learn", seed=0)
        search.query(relevant=[5])
        before = search.model.belief
        search.answer({5: True})
        assert search.model.belief == before

    @pytest.mark.parametrize("base_rate", [None, "learn"])
    def test_the_same_label_of_another_vector(self, base_rate):
        """What is learnt from a vector from outside depends on where it is, too."""
        here, there = (
            Search(FEATURES, base_rate=base_rate, length_scale=1.5, seed=0) for _ in range(2)
        )
        here.query(relevant=[FEATURES[3] + 0.1, 7])
        there.query(relevant=[FEATURES[8] - 0.1, 7])
        here.replay(there.events)
        np.testing.assert_allclose(here.model.mean, there.model.mean, atol=1e-9)
        np.testing.assert_allclose(here.model.variance, there.model.variance, atol=1e-9)

    @pytest.mark.parametrize("base_rate", [None, "learn", 0.2])
    def test_whatever_the_way_there(self, base_rate, tmp_path):
        """Undo, skips, second thoughts and loading lead to the model that the events amount to."""
        search = Search(FEATURES, base_rate=base_rate, user="learn", seed=3)
        search.query(relevant=[5, FEATURES[2] + 0.2])
        search.answer({1: True, 2: False, 3: None})
        search.answer({4: False, 1: None})
        search.undo()
        search.answer({3: True, 2: True, 8: False})
        search.answer({5: False})
        search.undo()
        straight = Search(FEATURES, base_rate=base_rate, user="learn", seed=3)
        straight.replay(search.events)
        search.save(tmp_path / "search.json")
        loaded = Search.load(tmp_path / "search.json", FEATURES)
        for other in (straight, loaded):
            assert list(other.model.labels) == list(search.model.labels)
            assert other.user == search.user
            assert other.model.belief.scale == pytest.approx(search.model.belief.scale, rel=1e-6)
            np.testing.assert_allclose(other.model.mean, search.model.mean, atol=1e-7)
            np.testing.assert_allclose(other.model.variance, search.model.variance, atol=1e-7)
            assert other.suggest(3).tolist() == search.suggest(3).tolist()


class TestPrior:
    """Scores of the images."""

    @pytest.mark.parametrize(
        "settings",
        [{"strategy": name} for name in ital.strategies.names()]
        + [{"base_rate": rate} for rate in (None, 0.2, 0.8)],
        ids=str,
    )
    def test_a_search_may_begin_with_it(self, settings):
        search = Search(FEATURES, seed=0, prior=SCORES, **settings)
        assert search.results().ids.tolist() == np.argsort(-SCORES).tolist()
        assert search.explain(3) == {}
        batch = search.suggest(3).tolist()
        search.answer({i: bool(SCORES[i] > 0.5) for i in batch})
        assert search.model.answers == 3
        search.suggest(3)
        search.undo()
        assert search.labels == {}
        assert search.results().ids.tolist() == np.argsort(-SCORES).tolist()
        assert search.suggest(3).tolist() == batch

    def test_what_cannot_be_judged_leaves_the_score(self):
        search = Search(FEATURES, seed=0, prior=SCORES)
        before = search.results()
        search.answer(dict.fromkeys(search.suggest(4).tolist()))
        np.testing.assert_allclose(search.results().means, before.means)
        search.answer(dict.fromkeys(range(30)))
        np.testing.assert_allclose(search.results().means, before.means)

    @pytest.mark.parametrize("base_rate", [None, "learn", 0.2])
    def test_a_constant_one_changes_nothing(self, base_rate):
        one = started(base_rate=base_rate, prior=np.full(30, 0.7))
        assert_unchanged(one, state(started(base_rate=base_rate)))
        outside = FEATURES[:3] + 1
        told = one.predict(outside, scores=[1, 2, 3])
        np.testing.assert_array_equal(told, started(base_rate=base_rate).predict(outside))

    def test_answers_decide_how_far_it_is_trusted(self):
        """Among images that are all alike but for it."""
        features, scores = np.eye(40), np.arange(40.0)
        gaps = []
        for sign in (1, -1):
            search = Search(features, length_scale=0.3, seed=0, prior=scores)
            search.answer({i: (i >= 20) == (sign > 0) for i in range(0, 40, 4)})
            means = search.model.mean
            gaps.append(means[39] - means[1])
        before = Search(features, length_scale=0.3, prior=scores).model.mean
        assert gaps[0] > before[39] - before[1] > 0 > gaps[1]

    def test_vectors_from_outside_have_the_score_that_they_are_given(self):
        search = started(prior=SCORES)
        inside = search.model.mean
        np.testing.assert_allclose(search.predict(FEATURES, SCORES), inside, atol=1e-9)
        unknown = search.predict(FEATURES)
        assert np.abs(unknown - inside).max() > 1e-3
        average = search.predict(FEATURES, [np.median(SCORES)] * 30)
        np.testing.assert_allclose(unknown, average, atol=1e-12)
        with pytest.raises(ValueError, match="scores must be 30 numbers, one for each"):
            search.predict(FEATURES, [1.0])
        with pytest.raises(ValueError, match="scores must be left out in a search without a prior"):
            started().predict(FEATURES, SCORES)

    def test_a_query_tells_what_it_is_worth(self):
        """By the scores of images that are like it, though a vector from outside has none."""
        features = np.random.default_rng(0).standard_normal((400, 2))
        closeness = -np.linalg.norm(features, axis=1)
        noise = np.random.default_rng(1).permutation(closeness)
        slopes = []
        for scores in (closeness, noise, -closeness):
            search = Search(features, prior=scores)
            search.query(relevant=[np.zeros(2)])
            slopes.append(search.model.slope)
        assert slopes[0] > 2 * abs(slopes[1])
        assert 0 < slopes[2] < slopes[0] / 10
        search.undo()
        before = Search(features, prior=closeness).model.slope
        assert search.model.slope == pytest.approx(before)

    @pytest.mark.parametrize("base_rate", [None, "learn"])
    def test_saved_and_loaded_with_the_same_scores(self, base_rate, tmp_path):
        path = tmp_path / "search.json"
        search = started(base_rate=base_rate, prior=SCORES)
        search.save(path)
        again = Search.load(path, FEATURES, prior=SCORES)
        np.testing.assert_allclose(again.model.mean, search.model.mean, atol=1e-9)
        assert again.suggest(4).tolist() == search.suggest(4).tolist()
        with pytest.raises(
            ValueError, match=r"prior must be the scores that .* saved with, got no"
        ):
            Search.load(path, FEATURES)
        with pytest.raises(ValueError, match=r"prior must be what .*, but that had other scores"):
            Search.load(path, FEATURES, prior=SCORES[::-1])
        with pytest.raises(ValueError, match="prior must be 30 numbers"):
            Search.load(path, FEATURES, prior=SCORES[:5])
        started(base_rate=base_rate).save(path)
        with pytest.raises(ValueError, match=r"prior must be what .*, but that had none"):
            Search.load(path, FEATURES, prior=SCORES)


class TestConfigure:
    def test_strategy_and_user_go_together(self, tmp_path):
        search = started(strategy="ital")
        user = UserModel(0.8, 0.1)
        search.configure(user=user)
        assert search.user == search.strategy.user == user
        search.configure(("ital", {"posterior": "exact"}))
        assert search.strategy == ital.strategies.ITAL(user, "exact")
        fresh = started(strategy=("ital", {"posterior": "exact"}), user=user)
        assert search.suggest(4).tolist() == fresh.suggest(4).tolist()
        search.save(tmp_path / "search.json")
        loaded = Search.load(tmp_path / "search.json", FEATURES)
        assert (loaded.user, loaded.strategy) == (user, search.strategy)

    def test_there_is_no_other_way(self):
        search = started()
        for name, value in (("user", UserModel(0.5)), ("strategy", "random")):
            with pytest.raises(AttributeError):
                setattr(search, name, value)

    def test_mistakes_change_nothing(self):
        search = started()
        before, user, strategy = state(search), search.user, search.strategy
        for wrong in ({"strategy": "best"}, {"user": 0.5}, {"user": "me"}):
            with pytest.raises((ValueError, TypeError), match=f"{next(iter(wrong))} must be"):
                search.configure(**wrong)
        assert (search.user, search.strategy) == (user, strategy)
        assert_unchanged(search, before)

    def test_a_user_who_errs_is_believed_less(self):
        search = Search(FEATURES, base_rate="learn", length_scale=1.5, seed=0)
        search.query(relevant=[5])
        search.answer({7: True})
        sure = search.model.mean[7]
        search.configure(user=UserModel(p_mistake=0.3))
        assert search.model.mean[5] > 0.5, "nobody asked about the example: it is right"
        assert search.model.mean[7] < sure - 0.1
        search.configure(user=UserModel())
        assert search.model.mean[7] == pytest.approx(sure, abs=1e-6)

    def test_a_user_can_be_learnt(self):
        search = Search(FEATURES, user="learn", seed=0)
        assert search.user == UserModel()
        search.query(relevant=[5])
        search.answer({1: None, 2: True, 3: True})
        search.answer({2: False})
        assert search.user == UserModel(11 / 12, 1 / 11)
        copies = Search(np.repeat(FEATURES, 2, axis=0), user="learn", seed=0)
        copies.query(relevant=[5])
        copies.answer({8: True, 9: False})
        assert copies.user.p_mistake == pytest.approx(1 / 10)


class TestThreads:
    def test_they_wait_for_each_other(self):
        """As if the calls had come one after the other, in some order."""
        search = Search(np.random.default_rng(0).standard_normal((300, 4)), "entropy", seed=0)
        search.query(relevant=[0])
        failures: list[Exception] = []

        def use() -> None:
            for number in range(20):
                try:
                    batch = search.suggest(2).tolist()
                    search.answer(dict.fromkeys(batch, bool(number % 2)))
                    assert len(search.results(5)) == 5
                    search.predict(np.zeros((2, 4)))
                    if number % 5 == 0:
                        search.undo()
                except Exception as error:
                    failures.append(error)

        threads = [threading.Thread(target=use) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        again = Search(search.model.pool, "entropy", seed=0)
        again.replay(search.events)
        assert again.labels == search.labels
        np.testing.assert_allclose(again.model.mean, search.model.mean, atol=1e-9)

    def test_copies_have_turns_of_their_own(self):
        search = started()
        for one in (copy.deepcopy(search), pickle.loads(pickle.dumps(search))):
            one.answer({7: True})
            assert 7 not in search.labels
            np.testing.assert_array_equal(one.suggest(2), one.suggest(2))


@pytest.mark.parametrize("k", [1, 24, 25, 26, 1000])
def test_more_than_are_left_returns_what_is_left(k):
    assert len(started(strategy="entropy").suggest(k)) == min(k, 25)
