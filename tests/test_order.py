from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators import seeds
from ital.order import evenly, largest, largest_within


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=200), st.integers(1, 250))
def test_is_a_stable_sort_cut_short(values, count):
    values = np.array(values, dtype=float)
    expected = sorted(range(len(values)), key=lambda i: (-values[i], i))
    assert largest(values, count).tolist() == expected[:count]
    assert largest(values).tolist() == expected


@given(
    st.lists(
        st.floats(allow_nan=False)
        | st.tuples(st.sampled_from([1.0, -1.0]), st.integers(0, 8)).map(
            lambda t: t[0] + t[1] * 2e-16
        )
        | st.sampled_from([0.0, -0.0, 5e-324, -5e-324]),
        max_size=60,
    )
)
def test_neighbours_in_the_last_bit_are_told_apart(values):
    expected = sorted(range(len(values)), key=lambda i: (-values[i], i))
    assert largest(np.array(values, dtype=float)).tolist() == expected


@given(st.lists(st.floats(0, 1), min_size=1, max_size=300), st.integers(1, 400))
def test_samples(worth, count):
    places, chances = evenly(np.array(worth), count)
    assert len(places) == min(count, len(worth))
    assert (np.diff(places) > 0).all()
    assert ((chances > 0) & (chances <= 1)).all()
    if count >= len(worth):
        assert places.tolist() == list(range(len(worth)))
        assert (chances == 1).all()


@given(seeds, st.integers(50, 400))
def test_a_sample_stands_for_all(seed, count):
    """The sum of what it stands for is that of all, within one part in so many as are drawn."""
    worth = np.sort(np.random.default_rng(seed).beta(0.05, 1.0, 5000))[::-1]
    places, chances = evenly(worth, count)
    assert (worth[places] / chances).sum() == pytest.approx(worth.sum(), rel=3 / count)
    drawn = worth[places][chances < 1] / chances[chances < 1]
    np.testing.assert_allclose(drawn, drawn[:1].repeat(len(drawn)))


@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 4)), min_size=1, max_size=300),
    st.integers(1, 40),
)
def test_bounds_spare_values_and_change_nothing(pairs, count):
    values, slack = np.array(pairs, dtype=float).T
    asked: set[int] = set()

    def compute(at):
        asked.update(at.tolist())
        return values[at]

    places, found = largest_within(values + slack, compute, count)
    assert places.tolist() == largest(values, count).tolist()
    np.testing.assert_array_equal(found, values[places])
    needed = np.flatnonzero(values + slack >= found[-1])
    assert asked.issuperset(needed.tolist()), "whatever may be as large was looked at"


def test_few_values_are_computed_where_bounds_are_good():
    bounds = np.random.default_rng(0).random(10_000)
    asked: list[int] = []

    def compute(at):
        asked.extend(at.tolist())
        return bounds[at] - 1e-6

    places, _ = largest_within(bounds, compute, 10)
    assert places.tolist() == largest(bounds, 10).tolist()
    assert len(asked) == 40
