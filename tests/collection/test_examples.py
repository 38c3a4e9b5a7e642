from __future__ import annotations

import numpy as np
import pytest
from making import draw

from ital import Collection
from ital.collection import index
from ital.collection.examples import examples


def test_pictures_of_the_collection_and_others(folder, quick, tmp_path, monkeypatch):
    index(folder, model=quick)
    collection = Collection.open(folder)
    known = collection.identifiers(collection.paths)
    assert sorted(known.values()) == collection.ids.tolist()
    (tmp_path / "way").symlink_to(folder)
    monkeypatch.chdir(folder / "a")
    names = ["a/00.png", "00.png", folder / "a" / "00.png", tmp_path / "way" / "a" / "00.png"]
    assert examples(collection, names, "like") == [known["a/00.png"]] * 4
    outside = draw(tmp_path / "outside.png", 30)
    late = draw(folder / "late.png", 40)
    for file in (outside, late):
        (vector,) = examples(collection, [file], "like")
        np.testing.assert_array_equal(vector, collection.embed(file))
    with pytest.raises(ValueError, match=r"like must name pictures, but 'none\.png' is not there"):
        examples(collection, ["00.png", "none.png"], "like")
