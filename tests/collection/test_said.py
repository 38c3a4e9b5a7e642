from __future__ import annotations

import io
import json

import numpy as np
import pandas
import pytest

from ital import Collection
from ital.collection.said import FILES, Said, said, write


@pytest.fixture
def searched(tmp_path):
    """A search that was begun with two pictures, one from outside, and answered and corrected."""
    features = np.random.default_rng(0).normal(size=(8, 4))
    names = [f"{number}.png" for number in range(8)]
    collection = Collection.from_arrays(features, names, root=tmp_path)
    search = collection.search(strategy="border", seed=0)
    search.query(relevant=[2, np.ones(4)])
    return collection, search


def test_everything_and_how_it_came_to_it(searched):
    collection, search = searched
    before = search.model.told()
    first, second = (int(one) for one in search.suggest(2))
    search.answer({first: True, second: None})
    search.answer({first: False})
    now = search.model.told()
    query, outside, yes, unsure, no = said(collection, search)
    assert query == Said(0, "query", 2, "1.png", "yes", True, None, None, now[1])
    assert outside == Said(0, "query", None, None, "yes", True, None, None, None)
    path, row = f"{first - 1}.png", first - 1
    assert yes == Said(1, "answer", first, path, "yes", False, "border", before[row], now[row])
    path, row = f"{second - 1}.png", second - 1
    assert unsure == Said(
        1, "answer", second, path, "unsure", True, "border", before[row], now[row]
    )
    assert (no.round, no.label, no.holds, no.strategy) == (2, "no", True, "border")


def test_files(searched, tmp_path):
    collection, search = searched
    search.answer({5: False})
    rows = said(collection, search)
    for kind in FILES:
        write(kind, rows, collection.root, tmp_path / f"said.{kind}")
    assert [
        Said(**row) for row in json.loads((tmp_path / "said.json").read_text())["answers"]
    ] == rows
    frame = pandas.read_parquet(tmp_path / "said.parquet")
    assert frame.label.tolist() == ["yes", "yes", "no"]
    table = pandas.read_csv(io.StringIO((tmp_path / "said.csv").read_text()))
    assert table.probability_then.tolist()[2] == rows[2].probability_then
    with pytest.raises(ValueError, match="format must be one of csv, json, parquet, got 'xls'"):
        write("xls", rows, collection.root, tmp_path / "x")
