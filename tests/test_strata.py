from __future__ import annotations

from itertools import islice, pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from generators import seeds
from ital import strata
from ital.ranking import Ranking


@st.composite
def rankings(draw):
    """A ranking of up to thirty images, how many are taken, and which of them are known."""
    size = draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(seeds))
    kind = draw(st.sampled_from(["any", "none", "all", "steps"]))
    told = {
        "any": rng.random(size),
        "none": np.zeros(size),
        "all": np.ones(size),
        "steps": rng.integers(0, 2, size).astype(float),
    }[kind]
    told = np.sort(told)[::-1]
    ranking = Ranking(rng.permutation(size), told, told)
    known = rng.random(size) < draw(st.sampled_from([0.0, 0.3, 1.0]))
    return ranking, draw(st.integers(0, size)), known


@given(rankings())
def test_strata_hold_all_that_is_not_known_in_its_order(given_):
    ranking, taken, known = given_
    above, near, far = strata.cut(ranking, taken, known)
    assert above.rows.tolist() == ranking.rows[:taken][~known[:taken]].tolist()
    below = [*near.rows.tolist(), *far.rows.tolist()]
    assert below == ranking.rows[taken:][~known[taken:]].tolist()
    chances = dict(zip(ranking.rows.tolist(), ranking.probabilities, strict=True))
    for stratum in (above, near, far):
        expected = sum(chances[row] for row in stratum.rows.tolist())
        assert np.isclose(stratum.expected, expected)


@given(rankings())
def test_near_misses_are_the_fewest_that_hold_half(given_):
    ranking, taken, known = given_
    _, near, far = strata.cut(ranking, taken, known)
    assert len(near) > 0 or len(far) == 0
    assert near.expected >= far.expected - 1e-9
    if len(near) > 1 and near.expected:
        last = ranking.probabilities[ranking.rows == near.rows[-1]]
        assert near.expected - last <= far.expected + last + 1e-9


def test_half_of_the_images_where_nothing_is_expected():
    told = np.zeros(10)
    _, near, far = strata.cut(Ranking(np.arange(10), told, told), 2, np.zeros(10, bool))
    assert len(near) == len(far) == 4


@given(st.lists(st.integers(0, 9), min_size=1, max_size=4), st.integers(0, 2**64))
def test_draws_are_a_shuffle_of_each_stratum_in_turn(sizes, seed):
    """The one that swaps the elements of a whole array."""
    starts = np.append(0, np.cumsum(sizes))
    parts = [strata.Stratum(np.arange(lo, hi), 0.0) for lo, hi in pairwise(starts)]
    wanted = []
    for number, part in enumerate(parts):
        rng, rows = np.random.default_rng([seed, number]), part.rows.tolist()
        for place in range(len(rows)):
            other = rng.integers(place, len(rows))
            rows[place], rows[other] = rows[other], rows[place]
        assert sorted(rows) == part.rows.tolist()
        wanted += [(place, number, row) for place, row in enumerate(rows)]
    drawn = list(strata.draws(parts, seed))
    assert drawn == [(number, row) for _, number, row in sorted(wanted)]
    for count in range(len(drawn) + 1):
        shares = strata.evenly_shared(count, sizes)
        got = [sum(number == one for number, _ in drawn[:count]) for one in range(len(sizes))]
        assert sum(shares) == count
        assert all(abs(share - one) <= 1 for share, one in zip(shares, got, strict=True))


def test_every_order_is_as_likely_as_any_other():
    """Of three images there are six: 600 seeds give each a hundred, within four deviations."""
    part = [strata.Stratum(np.arange(3), 0.0)]
    orders = [tuple(row for _, row in strata.draws(part, seed)) for seed in range(600)]
    counts = [orders.count(one) for one in set(orders)]
    assert len(counts) == 6
    assert all(abs(count - 100) < 4 * np.sqrt(600 * 5 / 36) for count in counts)


def test_a_few_draws_from_a_million():
    part = [strata.Stratum(np.arange(1_000_000), 0.0)]
    drawn = [row for _, row in islice(strata.draws(part, 0), 50)]
    assert len(set(drawn)) == 50
    assert drawn == [row for _, row in islice(strata.draws(part, 0), 50)]
