from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ital.candidates import Unlabelled, without

pools = st.integers(1, 40).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(st.integers(0, n - 1), max_size=n))
)


@given(pools, st.randoms(use_true_random=False))
def test_reads_like_an_array_of_its_rows(pool, chance):
    images, known = pool
    candidates = Unlabelled.of(images, np.array(known, dtype=np.int64))
    rows = np.setdiff1d(np.arange(images), known)
    assert len(candidates) == len(rows)
    assert np.asarray(candidates).tolist() == rows.tolist()
    assert np.asarray(candidates, dtype=float).dtype == float
    assert candidates[:3].tolist() == rows[:3].tolist()
    places = np.array(chance.choices(range(len(rows)), k=5) if len(rows) else [], dtype=np.int64)
    assert candidates[places].tolist() == rows[places].tolist()
    mask = np.arange(len(rows)) % 2 == 0
    assert candidates[mask].tolist() == rows[mask].tolist()
    assert all(int(candidates[place]) == rows[place] for place in places)


@given(pools, st.integers(0, 5))
def test_without_some(pool, count):
    images, known = pool
    candidates = Unlabelled.of(images, np.array(known, dtype=np.int64))
    rows = np.asarray(candidates)
    gone = rows[:count]
    assert np.asarray(without(candidates, gone)).tolist() == rows[count:].tolist()
    assert np.asarray(without(rows, gone)).tolist() == rows[count:].tolist()
