from __future__ import annotations

import numpy as np
import pytest

from ital.evaluation import paper, tune
from ital.evaluation.datasets import DataError
from ital.evaluation.experiment import Settings
from ital.evaluation.published import TABLE_1


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Small files that pass for the data sets."""
    monkeypatch.setenv("ITAL_DATA", str(tmp_path))
    rng = np.random.default_rng(0)
    for name, dimension in (("butterflies", 5), ("scenes13", 130)):
        classes = np.arange(140) % 2
        np.savez(
            tmp_path / f"{name}.npz",
            X_train=rng.random((140, dimension)) + classes[:, None],
            y_train=classes,
            X_test=rng.random((140, dimension)) + classes[:, None],
            y_test=classes,
        )
    return tmp_path


def test_experiments_for_the_data_that_are_here(folder):
    found = {one.folder: one for one in paper.experiments()}
    assert list(found) == [
        "butterflies", "scenes13", "scenes13-aggressive", "scenes13-conservative", "scenes13-blend",
        "scenes13-64", "scenes13-128",
    ]  # fmt: skip
    assert {*TABLE_1, "mcmi", "adaptal"} == set(found["butterflies"].strategies)
    assert found["butterflies"].queries == 50
    assert found["scenes13"].queries == 10
    assert all(settings.paper_queries for settings in found.values())
    blend = found["scenes13-blend"]
    assert blend.user == "blend"
    assert {"ital", "ital:user=perfect", "ital:posterior=exact"} <= set(blend.strategies)
    assert found["scenes13-64"].pca == 64


def test_quick(folder):
    quick = list(paper.experiments(quick=True))
    assert {one.folder for one in quick} == {one.folder for one in paper.experiments()}
    assert all(one.queries <= 2 for one in quick)


def test_broken_data_are_not_passed_over(folder):
    (folder / "butterflies.npz").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"butterflies.npz must be a NumPy archive"):
        list(paper.experiments())


def test_nothing_here(tmp_path, monkeypatch):
    monkeypatch.setenv("ITAL_DATA", str(tmp_path))
    assert list(paper.experiments()) == []


def test_kernels(folder, tmp_path):
    settings = Settings("butterflies", ("ital",))
    assert paper.kernel(settings, tmp_path) == {"length_scale": 2.5}
    chosen = paper.kernel(Settings("scenes13", ("ital",)), tmp_path / "out")
    path = tmp_path / "out" / "scenes13.kernel.json"
    assert tune.read(path) == chosen
    # It is chosen once.
    path.write_text('{"length_scale": 7.0}')
    assert paper.kernel(Settings("scenes13", ("ital",)), tmp_path / "out")["length_scale"] == 7.0
