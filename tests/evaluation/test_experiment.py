from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ital import USERS, Search, strategies
from ital.evaluation import average_precision
from ital.evaluation.datasets import load
from ital.evaluation.datasets.base import Dataset, Task
from ital.evaluation.experiment import Player, Settings, Unit, queries, strategy, units


def small(**changes) -> Settings:
    return Settings(
        **{"data": "digits", "strategies": ("border", "random"), "queries": 2, "rounds": 3}
        | changes
    )


class TestStrategies:
    def test_names_and_parameters(self):
        assert strategy("border") == strategies.Border()
        assert strategy("border_div:weight=0.25") == strategies.BorderDiversity(0.25)
        assert strategy("ital:posterior=exact,user=blend") == strategies.ITAL(
            USERS["blend"], "exact"
        )
        assert strategy("adaptal:betas=[0.5,1],subsample=9") == strategies.AdaptAL(9, (0.5, 1.0))

    @pytest.mark.parametrize(
        ("label", "message"),
        [
            ("best", "strategy must be one of adaptal, .* got 'best'"),
            ("border_div:weight", "got 'border_div:weight'; where there are parameters"),
            ("border_div:weight=2", "weight must be a probability"),
            ("ital:user=me", "user must be one of perfect, .* got 'me'"),
            ("ital:posterior=exact,random", "strategies have semicolons between them"),
        ],
    )
    def test_refuses(self, label, message):
        with pytest.raises(ValueError, match=message):
            strategy(label)


class TestSettings:
    def test_there_and_back(self):
        settings = small(length_scale=2.0, user="blend")
        assert Settings.from_json(settings.to_json()) == settings

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"queries": 0}, "queries must be a whole number of at least 1, got 0"),
            ({"rounds": 0}, "rounds must be a whole number of at least 1, got 0"),
            ({"user": "me"}, "user must be one of perfect, aggressive, .* got 'me'"),
            ({"strategies": ()}, "strategies must be different ones"),
            ({"strategies": ("ital", "ital")}, "strategies must be different ones"),
            ({"seed": -1}, "seed must be a whole number of at least 0"),
            ({"queries": 1.5}, "queries must be a whole number"),
            ({"length_scale": -1.0}, "length_scale must be"),
        ],
    )
    def test_refuses(self, changes, message):
        with pytest.raises((ValueError, TypeError), match=message):
            small(**changes)


def test_names_of_folders():
    assert small().folder == "digits"
    assert small(user="blend", pca=8).folder == "digits-blend-8"
    assert small(base_rate="learn").folder == "digits-rate-learn"
    assert small(base_rate=0.05, user="blend", pca=8).folder == "digits-blend-rate-0.05-8"
    assert small(data="some/where/mine.npz").folder == "mine"
    assert small(data=".").folder == Path.cwd().stem


class TestQueries:
    def test_those_of_the_paper(self):
        task = load("digits").tasks[3]
        np.random.seed(0)  # noqa: NPY002 - as the paper's code has it
        expected = np.random.choice(  # noqa: NPY002
            np.nonzero(task.train_relevance == 1)[0], (7, 1), replace=False
        )[:, 0]
        np.testing.assert_array_equal(
            queries(task, 3, small(queries=7, paper_queries=True)), expected
        )

    def test_by_the_seed(self):
        task = load("digits").tasks[3]
        first, same, other, elsewhere = (
            queries(task, number, small(queries=9, seed=seed)).tolist()
            for number, seed in ((3, 0), (3, 0), (3, 1), (4, 0))
        )
        assert first == same
        assert other != first != elsewhere
        assert len(set(first)) == 9
        assert (task.train_relevance[first] == 1).all()

    def test_fixed_ones_and_no_more_than_there_are(self):
        features, relevance = np.zeros((6, 2)), np.array([1, -1, 1, 0, 1, -1])
        task = Task("one", features, features, relevance, relevance)
        assert sorted(queries(task, 0, small(queries=9))) == [0, 2, 4]
        fixed = Task("one", features, features, relevance, relevance, np.array([4, 0]))
        assert queries(fixed, 0, small(queries=1)).tolist() == [4]

    def test_all_strategies_are_asked_the_same(self):
        settings = small()
        player = Player.of(settings)
        for number, place in ((0, 0), (7, 1)):
            asked = {
                label: player.play(Unit(label, number, place))[0].query
                for label in settings.strategies
            }
            assert len(set(asked.values())) == 1
        assert len(units(player.dataset, settings)) == 2 * 10 * 2


class TestPlay:
    def test_it_is_the_protocol(self):
        """The same by hand, with a search."""
        settings = small(strategies=("border",), length_scale=1.7, noise=1e-3)
        player = Player.of(settings)
        result, seconds = player.play(Unit("border", 4, 1))
        task = load("digits").tasks[4]
        search = Search(task.train, "border", base_rate=None, length_scale=1.7, noise=1e-3)
        query = int(queries(task, 4, settings)[1])
        search.query(relevant=[query])
        assert (result.task, result.place, result.name, result.query) == (4, 1, "4", query)
        for number in range(4):
            expected = average_precision(task.test_relevance == 1, search.predict(task.test))
            assert result.precision[number] == pytest.approx(expected, abs=1e-9)
            if number < 3:
                ids = search.suggest(4).tolist()
                assert result.questions[number] == ids
                answers = [int(task.train_relevance[i]) for i in ids]
                assert result.answers[number] == answers
                search.answer(dict(zip(ids, answers, strict=True)))
        assert len(seconds) == 3
        assert min(seconds) > 0
        assert len(result.ndcg) == 4

    def test_the_same_twice_and_whatever_came_before(self):
        settings = small(user="blend", strategies=("random", "ital:posterior=exact"))
        first, second = Player.of(settings), Player.of(settings)
        second.play(Unit("random", 0, 0))
        for unit in (Unit("random", 5, 1), Unit("ital:posterior=exact", 5, 1)):
            assert first.play(unit)[0] == second.play(unit)[0]

    def test_unnameable_images_of_the_test_set_are_left_out(self):
        rng = np.random.default_rng(0)
        features = rng.standard_normal((60, 2))
        relevance = np.where(features[:, 0] > 0, 1, -1)
        spoilt = relevance.copy()
        spoilt[:20] = 0
        settings = small(data="mine", strategies=("border",), queries=1)
        whole, part = (
            Player(
                Dataset("mine", [Task("one", features, features[rows], relevance, truth)]), settings
            )
            for rows, truth in ((slice(None), spoilt), (slice(20, None), relevance[20:]))
        )
        assert whole.play(Unit("border", 0, 0))[0] == part.play(Unit("border", 0, 0))[0]

    def test_unnameable_images_of_the_training_set_are_not_answered(self):
        rng = np.random.default_rng(0)
        features = rng.standard_normal((60, 2))
        relevance = np.where(features[:, 0] > 0, 1, -1)
        relevance[features[:, 1] > 0] = 0
        task = Task("one", features, features, relevance, relevance)
        settings = small(data="mine", strategies=("random",), queries=1)
        result, _ = Player(Dataset("mine", [task]), settings).play(Unit("random", 0, 0))
        for asked, told in zip(result.questions, result.answers, strict=True):
            assert told == relevance[asked].tolist()
        assert 0 in np.ravel(result.answers)

    def test_users_err(self):
        settings = small(user="aggressive", strategies=("random",), rounds=6)
        result, _ = Player.of(settings).play(Unit("random", 0, 0))
        truth = load("digits").tasks[0].train_relevance
        wrong = np.ravel(result.answers) != truth[np.ravel(result.questions)]
        assert 0 < wrong.sum() < wrong.size

    def test_kernels(self):
        """The median distance, but the paper's where it has one, but what is set."""
        task = load("digits").tasks[0]
        of_paper = Dataset("mine", [task], {"length_scale": 3.0, "variance": 1.5})
        for dataset, changes, expected in (
            (Dataset("mine", [task]), {}, None),
            (of_paper, {}, (3.0, 1.5, 1e-6)),
            (of_paper, {"length_scale": 2.0, "noise": 0.1}, (2.0, 1.5, 0.1)),
        ):
            settings = small(strategies=("border",), rounds=1, **changes)
            result, _ = Player(dataset, settings).play(Unit("border", 0, 0))
            kernel = (
                {}
                if expected is None
                else dict(zip(("length_scale", "variance", "noise"), expected, strict=True))
            )
            search = Search(task.train, "border", base_rate=None, **kernel)
            search.query(relevant=[result.query])
            assert search.suggest(4).tolist() == result.questions[0]
