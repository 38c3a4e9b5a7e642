from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from generators import seeds
from ital.engine.cut import Cut


@given(st.integers(0, 50), st.integers(1, 60))
def test_every_image_is_in_one_shard(images, shards):
    cut = Cut.of(images, shards)
    parts = list(cut)
    assert [row for lo, hi in parts for row in range(lo, hi)] == list(range(images))
    sizes = [hi - lo for lo, hi in parts]
    assert len(parts) == len(cut) == max(1, min(images, shards))
    assert max(sizes) - min(sizes) <= 1


@given(seeds, st.integers(1, 30), st.integers(1, 8), st.integers(0, 40), st.sampled_from([0, 1]))
def test_answers_come_in_the_order_of_the_rows(seed, images, shards, count, axis):
    """Whatever their order, however often each is asked for."""
    rng = np.random.default_rng(seed)
    values = rng.random((images, 3)) if axis == 0 else rng.random((3, images))
    cut = Cut.of(images, shards)
    own = [np.take(values, np.arange(lo, hi), axis=axis) for lo, hi in cut]
    rows = rng.integers(images, size=count)
    parts = cut.split(rows)
    assert len({shard for shard, _, _ in parts}) == len(parts), "a shard is asked once"
    found = [np.take(own[shard], part, axis=axis) for shard, _, part in parts]
    np.testing.assert_array_equal(cut.assemble(rows, found, axis), np.take(values, rows, axis=axis))
    np.testing.assert_array_equal(cut.assemble(None, own, axis), values)
