from __future__ import annotations

import numpy as np
import pytest

from ital.engine.mapped import Mapped


@pytest.mark.parametrize("order", ["C", "F"])
def test_whole_files_are_known_by_their_place(order, tmp_path):
    array = np.require(np.random.default_rng(0).random((6, 4)), np.float32, order)
    np.save(tmp_path / "array.npy", array)
    mapped = np.load(tmp_path / "array.npy", mmap_mode="r")
    for one in (mapped, np.asarray(mapped)):
        opened = Mapped.of(one).open()
        np.testing.assert_array_equal(opened, array)
        assert isinstance(opened, np.memmap)
    # A part of a map, or what is computed from one, is no file.
    for other in (mapped[:3], mapped.T, mapped + 1, array, "array.npy", None):
        assert Mapped.of(other) is None
