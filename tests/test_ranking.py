from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ital.ranking import largest


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=200), st.integers(1, 250))
def test_is_a_stable_sort_cut_short(values, count):
    values = np.array(values, dtype=float)
    expected = sorted(range(len(values)), key=lambda i: (-values[i], i))
    assert largest(values, count).tolist() == expected[:count]
    assert largest(values).tolist() == expected
