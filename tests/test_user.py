from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given

import oracle
from generators import users
from ital.user import ANSWERS, USERS, SimulatedUser, UserModel


@given(users)
def test_the_channel_is_equation_8(user):
    for (row, f), (column, r) in product(enumerate(ANSWERS), enumerate((-1, 1))):
        expected = oracle.answer_probability((f,), (r,), user.p_label, user.p_mistake)
        assert user.channel[row, column] == pytest.approx(expected, abs=1e-15)
    np.testing.assert_allclose(user.channel.sum(axis=0), 1.0)


def test_only_the_perfect_user_is_perfect():
    assert [name for name, user in USERS.items() if user.is_perfect] == ["perfect"]


@pytest.mark.parametrize("name", USERS)
def test_simulated_answers_follow_the_channel(name):
    n = 100_000
    for column, truth in enumerate((-1, 1)):
        answers = SimulatedUser(USERS[name], seed=1).answer(np.full(n, truth))
        frequencies = [(answers == f).mean() for f in ANSWERS]
        np.testing.assert_allclose(frequencies, USERS[name].channel[:, column], atol=0.01)


def test_unnameable_images_get_no_answer():
    assert not SimulatedUser(USERS["aggressive"], seed=0).answer(np.zeros(50)).any()


def test_the_same_seed_gives_the_same_answers():
    truth = np.resize([1, -1, 0], 60)
    same = [SimulatedUser(USERS["blend"], seed=7).answer(truth) for _ in range(2)]
    np.testing.assert_array_equal(*same)
    assert (SimulatedUser(USERS["blend"], seed=8).answer(truth) != same[0]).any()


@pytest.mark.parametrize("name", ["p_label", "p_mistake"])
@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan"), float("inf")])
def test_refuses_what_is_no_probability(name, value):
    with pytest.raises(ValueError, match=f"{name} must be a probability from 0 to 1, got {value}"):
        UserModel(**{name: value})


def test_refuses_what_is_no_number_and_no_truth():
    with pytest.raises(TypeError, match="p_label must be a probability from 0 to 1, got '1'"):
        UserModel(p_label="1")
    with pytest.raises(ValueError, match="relevance must consist of -1, 0 and 1, got"):
        SimulatedUser(UserModel()).answer([2])
