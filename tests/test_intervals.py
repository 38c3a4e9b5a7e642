"""Bounds on a number in a finite set, against whole numbers written out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ital import intervals
from ital.intervals import EVERYTHING, Estimate
from oracle import clopper_pearson, hits_probability, possible_numbers

chances = st.sampled_from([0.5, 0.05, 0.025, 0.0125, 1e-4])


@st.composite
def samples(draw, largest=14):
    """Hits, draws and the size of a set."""
    size = draw(st.integers(0, largest))
    draws = draw(st.integers(0, size))
    return draw(st.integers(0, draws)), draws, size


@given(samples(), chances)
def test_bounds_are_the_ends_of_what_is_possible(sample, chance):
    at_least, at_most = possible_numbers(*sample, chance)
    assert intervals.least(*sample, chance) == min(at_least)
    assert intervals.most(*sample, chance) == max(at_most)


@given(st.integers(1, 12), st.data(), chances)
def test_each_end_errs_as_seldom_as_it_says(size, data, chance):
    """For every true number, over all that can be drawn."""
    draws = data.draw(st.integers(0, size))
    bounds = {
        hits: [bound(hits, draws, size, chance) for bound in (intervals.least, intervals.most)]
        for hits in range(draws + 1)
    }
    for true in range(size + 1):
        drawn = {hits: hits_probability(hits, draws, size, true) for hits in bounds}
        assert sum(p for hits, p in drawn.items() if bounds[hits][0] > true) <= chance
        assert sum(p for hits, p in drawn.items() if bounds[hits][1] < true) <= chance


@given(samples(40), st.sampled_from([1.0, 0.0]), chances)
def test_nothing_seen_and_all_seen(sample, seen, chance):
    hits, _, size = sample
    draws, hits = (size, min(hits, size)) if seen else (0, 0)
    found = intervals.least(hits, draws, size, chance), intervals.most(hits, draws, size, chance)
    assert found == ((hits, hits) if seen else (0, size))


@given(st.integers(1, 80), st.data(), st.sampled_from([0.05, 0.01]))
def test_the_limit_is_that_of_clopper_and_pearson(draws, data, chance):
    """And a finite set, of which each draw tells more, has bounds within these."""
    hits = data.draw(st.integers(0, draws))
    low, high = clopper_pearson(hits, draws, chance)
    size = 1_000_000
    assert intervals.least(hits, draws, size, chance) / size == pytest.approx(low, abs=1e-3)
    assert intervals.most(hits, draws, size, chance) / size == pytest.approx(high, abs=1e-3)
    for smaller in (draws, 2 * draws, 50 * draws):
        assert intervals.least(hits, draws, smaller, chance) >= low * smaller - 1
        assert intervals.most(hits, draws, smaller, chance) <= high * smaller + 1


@pytest.mark.parametrize("draws", [10, 100, 1000])
def test_no_hit_leaves_three_in_so_many_draws(draws):
    size = 10_000_000
    assert intervals.most(0, draws, size, 0.05) / size == pytest.approx(3 / draws, rel=0.15)


@given(chances, st.lists(st.integers(1, 1000), min_size=1, max_size=4))
def test_what_is_shared_adds_up(chance, sizes):
    right = 1.0
    for size in sizes:
        right *= 1 - intervals.shared(chance, size / sum(sizes))
    assert right == pytest.approx(1 - chance)
    bonferroni = chance * sizes[0] / sum(sizes)
    assert intervals.shared(chance, sizes[0] / sum(sizes)) >= bonferroni * (1 - 1e-12)


def test_estimates():
    total = Estimate(2.0, 1.0, 4.0) + Estimate(3.0, 3.0, 3.5)
    assert total == Estimate(5.0, 4.0, 7.5)
    assert total.width == 3.5
    assert total.over(10) == Estimate(0.5, 0.4, 0.75)
    assert total.over(0) == EVERYTHING
