"""What people have instead: their rankings and questions, against loop-written forms."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.svm import SVC

from ital import SimulatedUser, UserModel, strategies
from ital.evaluation import average_precision, feedback_rounds, report
from ital.evaluation.experiment import Player, Settings, Unit, check, names, units
from ital.evaluation.journal import Journal
from ital.evaluation.peers import PEERS
from ital.evaluation.runner import run

SETTINGS = Settings("digits", tuple(PEERS), queries=1, rounds=3)


def directions(features, vectors):
    """Vectors of length 1 from the mean of the features, one by one."""
    dimension = len(features[0])
    centre = [math.fsum(row[d] for row in features) / len(features) for d in range(dimension)]
    found = []
    for vector in vectors:
        moved = [vector[d] - centre[d] for d in range(dimension)]
        length = math.sqrt(math.fsum(x * x for x in moved))
        found.append([x / length if length else 0.0 for x in moved])
    return np.array(found)


def cosines(features, yes, no, vectors):
    """Rocchio's scores, one vector at a time."""
    weights = directions(features, features[yes]).mean(axis=0)
    if no:
        weights = weights - directions(features, features[no]).mean(axis=0)
    return [float(one @ weights) for one in directions(features, vectors)]


@pytest.fixture
def features():
    """Two clouds far from the origin, of 30 and 31 images."""
    rng = np.random.default_rng(0)
    clouds = [(30, [9, 9, 9]), (31, [7, 9, 8])]
    return np.concatenate([rng.standard_normal((size, 3)) + place for size, place in clouds])


@pytest.mark.parametrize("name", PEERS)
class TestAll:
    def test_from_the_query_alone(self, name, features):
        peer = PEERS[name](features, 0)
        peer.query([4])
        expected = cosines(features, [4], [], features)
        np.testing.assert_allclose(peer.predict(features), expected, atol=1e-12)

    def test_batches_are_new_ones_until_nothing_is_left(self, name, features):
        peer = PEERS[name](features, 0)
        truth = np.where(np.arange(61) < 30, 1, -1)
        truth[[5, 40]] = 0
        states = list(feedback_rounds(peer, 4, truth, lambda peer: len(peer.labels), 20, 7))
        asked = np.concatenate([state.questions for state in states])
        assert sorted(asked) == [i for i in range(61) if i != 4]
        assert [len(state.questions) for state in states] == [0, *[7] * 8, 4]
        assert peer.labels[5] is None
        assert peer.labels[4] is True
        assert peer.labels[50] is False

    def test_it_learns(self, name, features):
        truth = np.where(np.arange(61) < 30, 1, -1)

        def quality(peer):
            return average_precision(truth == 1, peer.predict(features))

        states = list(feedback_rounds(PEERS[name](features, 0), 4, truth, quality, 10, 4))
        assert states[-1].quality > max(0.9, states[0].quality)

    def test_it_draws_by_the_seed(self, name, features):
        truth = np.where(np.arange(61) < 30, 1, -1)

        def asked(seed):
            states = feedback_rounds(PEERS[name](features, seed), 4, truth, lambda peer: None, 4)
            return [state.questions.tolist() for state in states]

        assert asked(3) == asked(3)
        assert (asked(3) == asked(4)) == (name != "forest")

    def test_users_may_contradict_themselves(self, name, features):
        """All is one thing and the other, and copies have different labels."""
        twins = np.repeat(features[:20], 2, axis=0)
        user = SimulatedUser(UserModel(0.8, 0.5), seed=0)
        states = feedback_rounds(
            PEERS[name](twins, 0), 0, np.ones(40), lambda peer: peer.predict(twins), 10, 4, user
        )
        assert all(np.isfinite(state.quality).all() for state in states)

    def test_played_the_same_in_any_order_and_under_any_base_rate(self, name):
        first, second = Player.of(SETTINGS), Player.of(replace(SETTINGS, base_rate="learn"))
        second.play(Unit("centroid", 0, 0))
        found, seconds = first.play(Unit(name, 5, 0))
        assert second.play(Unit(name, 5, 0))[0] == found
        assert found.calibration is None
        assert len(found.precision) == len(found.ndcg) == 4
        assert len(seconds) == 3


class TestCentroid:
    def test_scores_and_questions(self, features):
        peer = PEERS["centroid"](features, 0)
        peer.query([4])
        peer.answer({5: 1, 40: -1, 41: -1, 6: 0})
        expected = np.array(cosines(features, [4, 5], [40, 41], features))
        np.testing.assert_allclose(peer.predict(features), expected, atol=1e-12)
        order = [i for i in np.argsort(-expected) if i not in (4, 5, 6, 40, 41)]
        assert peer.suggest(6).tolist() == order[:6]

    def test_an_image_in_the_very_middle_is_like_none(self):
        peer = PEERS["centroid"]([[1, 0], [-1, 0], [0, 0]], 0)
        peer.query([0])
        assert peer.predict([[3, 0], [-2, 0], [0, 0]]).tolist() == [1, -1, 0]


class TestSVM:
    def test_scores_and_questions(self, features):
        """The machine with the kernel written out, over what has been said."""
        peer = PEERS["svm"](features, 0)
        peer.query([4])
        peer.answer({5: 1, 40: -1, 41: -1, 42: -1, 6: 0})
        known, truth = [4, 5, 40, 41, 42], [1, 1, -1, -1, -1]
        among = directions(features, features)
        machine = SVC(kernel="precomputed", class_weight={1: 5 / 4, -1: 5 / 6})
        machine.fit(among[known] @ among[known].T, truth)
        expected = machine.decision_function(among @ among[known].T)
        np.testing.assert_allclose(peer.predict(features), expected, atol=1e-6)
        order = [i for i in np.argsort(-expected) if i not in (*known, 6)]
        assert peer.suggest(5).tolist() == order[:5]


class TestForest:
    def test_anything_before_the_first_no(self, features):
        """Not the best results: four rounds of yes are not the nearest images."""
        peer = PEERS["forest"](features, 0)
        peer.query([4])
        drawn = [PEERS["forest"](features, seed) for seed in range(200)]
        for one in drawn:
            one.query([4])
        counts = np.bincount(np.concatenate([one.suggest(4) for one in drawn]), minlength=61)
        assert counts[4] == 0
        assert np.delete(counts, 4).min() > 0

    @pytest.mark.parametrize(("k", "half"), [(4, 2), (5, 3), (1, 1)])
    def test_half_from_each_side(self, features, k, half):
        peer = PEERS["forest"](features, 0)
        peer.query([4])
        peer.answer({40: -1, 41: -1, 5: 1})
        scores = peer.predict(features)
        assert ((scores >= 0) & (scores <= 1)).all()
        asked = peer.suggest(k)
        assert len(set(asked.tolist())) == k
        assert np.count_nonzero(scores[asked] > 0.5) == half

    @pytest.mark.parametrize("answer", [1, -1])
    def test_a_side_that_is_short_is_filled_from_the_other(self, features, answer):
        peer = PEERS["forest"](features, 0)
        peer.query([4])
        rest = {i: (1 if i < 30 else -1) for i in range(61) if (i < 30) == (answer == 1)}
        peer.answer({**rest, 4: 1, 45: -1})
        asked = peer.suggest(10)
        assert len(set(asked.tolist())) == 10
        assert not set(asked.tolist()) & set(peer.labels)


def test_names():
    assert names() == [*strategies.names(), "centroid", "svm", "forest"]
    for label in names():
        check(label)
    with pytest.raises(ValueError, match="strategy must be svm without parameters, got 'svm:C=3'"):
        check("svm:C=3")
    with pytest.raises(ValueError, match=r"strategy must be one of .*, forest, got 'tree'"):
        check("tree")


def test_processes_make_no_difference(tmp_path):
    classes = np.arange(40) % 2
    features = np.random.default_rng(0).random((40, 3)) + classes[:, None]
    np.savez(tmp_path / "mine.npz", X=features, y=classes)
    settings = replace(SETTINGS, data=str(tmp_path / "mine.npz"), queries=2, rounds=2)
    run(settings, tmp_path / "run", 2)
    player, journal = Player.of(settings), Journal(tmp_path / "run")
    expected = [player.play(unit)[0] for unit in units(player.dataset, settings)]
    assert [one for name in PEERS for one in journal.results(name)] == expected


def test_they_stand_in_reports(tmp_path):
    run(replace(SETTINGS, strategies=("ital", "svm"), rounds=1), tmp_path / "digits", 1)
    report.write(tmp_path)
    text = (tmp_path / "report.md").read_text()
    table, _, calibration = text.partition("### Calibration")
    assert "| svm |" in table
    assert "| ital |" in calibration
    assert "svm" not in calibration
