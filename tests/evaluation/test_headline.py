from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from ital.evaluation import headline, plots, report, tables
from ital.evaluation.experiment import Result, Settings, Unit
from ital.evaluation.journal import Journal

CURVES = {"ital": [0.2, 0.5, 0.9], "svm": [0.2, 0.4, 0.5], "emoc": [0.2, 0.3, 0.4]}


def write(folder, data, curves=CURVES, **settings):
    """A run of two rounds of made-up curves."""
    chosen = Settings(data, tuple(curves), queries=2, rounds=2, **settings)
    journal = Journal(folder / chosen.folder)
    with journal.begun(chosen, 2, "abc"):
        pass
    for label, curve in curves.items():
        for place, shift in enumerate((-0.1, 0.1)):
            moved = [value * (1 + shift) for value in curve]
            result = Result(0, place, "one", 3, moved, moved, [[1]] * 2, [[1]] * 2)
            journal.add(Unit(label, 0, place), result, [0.1])


@pytest.fixture
def folder(tmp_path):
    for data in ("usps", "corel1k"):
        write(tmp_path, data)
    return tmp_path


def test_panels(folder):
    """One of each data set, and of several that with a learnt base rate."""
    write(folder, "usps", base_rate=0.05)
    write(folder, "usps", base_rate="learn")
    write(folder, "corel1k", base_rate=0.05)
    write(folder, "digits", base_rate=0.05)
    write(folder, "flowers102", user="blend")
    write(folder, "flowers102", pca=8)
    found = [run.name for run in headline.panels(tables.read(folder))]
    assert found == ["corel1k", "digits-rate-0.05", "usps-rate-learn"]


def test_what_is_drawn(folder):
    runs = tables.read(folder)
    figure = headline.draw(runs, ("ital", "svm"))
    assert [axes.get_title("left") for axes in figure.axes] == ["corel1k", "usps"]
    for axes in figure.axes:
        ital, svm = axes.get_lines()
        # Four questions a round; the mean of two searches.
        np.testing.assert_allclose(ital.get_xdata(), [0, 4, 8])
        np.testing.assert_allclose(ital.get_ydata(), CURVES["ital"])
        np.testing.assert_allclose(svm.get_ydata(), CURVES["svm"])
        assert ital.get_linewidth() > svm.get_linewidth()
        assert svm.get_color() == plots.colour("svm")
        assert svm.is_dashed()
        assert not ital.is_dashed()
        assert [text.get_text() for text in axes.texts] == ["svm  0.50", "ital  0.90"]
    assert "tools without our model" in figure.get_supxlabel()
    assert "tools" not in headline.draw(runs, ("ital",)).get_supxlabel()


SIGHT = {
    "all colours": np.eye(3),
    "no red": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "no green": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "no blue": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
"""What is seen of linear red, green and blue (Machado et al. 2009, severity 1)."""


@pytest.mark.parametrize("sight", SIGHT)
def test_colours_can_be_told_apart_by_everyone(sight):
    """A distance of 14 and more in CIELAB; 2.3 is just noticeable."""
    hexadecimal = [plots.colour(label) for label in headline.STRATEGIES]
    some = np.array([[int(one[i : i + 2], 16) / 255 for i in (1, 3, 5)] for one in hexadecimal])
    linear = np.where(some <= 0.04045, some / 12.92, ((some + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.array(SIGHT[sight]).T, 0, 1)
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    xyz = seen @ to_xyz.T / [0.9505, 1.0, 1.089]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116).T
    lab = np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)
    distances = np.linalg.norm(lab[:, None] - lab, axis=2)
    assert distances[np.triu_indices(len(lab), 1)].min() > 14


@pytest.mark.parametrize(("count", "shape"), [(2, (1, 2)), (3, (1, 3)), (4, (2, 2)), (5, (2, 3))])
def test_shapes(folder, count, shape):
    figure = headline.draw((tables.read(folder) * 3)[:count], ("ital",))
    assert figure.axes[0].get_gridspec().get_geometry() == shape
    assert [axes.axison for axes in figure.axes] == [True] * count + [False] * (
        shape[0] * shape[1] - count
    )


class TestSave:
    def test_beside_the_report(self, folder):
        assert folder / "headline.png" in report.write(folder)
        with Image.open(folder / "headline.png") as picture:
            assert picture.size[0] > 1200

    def test_one_data_set_needs_none(self, tmp_path):
        write(tmp_path, "usps")
        write(tmp_path, "usps", base_rate="learn")
        assert headline.save(tables.read(tmp_path), tmp_path) == []
        write(tmp_path, "digits", {"emoc": CURVES["emoc"]})
        assert headline.save(tables.read(tmp_path), tmp_path) == [], "digits has no main strategy"
        assert headline.save(tables.read(tmp_path), tmp_path, ["emoc"]) == [
            tmp_path / "headline.png"
        ]

    def test_refuses(self, folder):
        with pytest.raises(
            ValueError, match=r"headline must name .*, which are ital, svm, emoc, got best, worst"
        ):
            headline.save(tables.read(folder), folder, ["ital", "best", "worst"])
        assert not (folder / "headline.png").exists()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=10))
def test_names_move_apart_and_no_farther(heights):
    rising = np.sort(heights)
    moved = headline.apart(rising, 0.07)
    assert (np.diff(moved) > 0.07 - 1e-9).all()
    assert moved.min() > -1e-9
    assert moved.max() < 1 + 1e-9
    if (np.diff(rising) >= 0.07).all():
        np.testing.assert_allclose(moved, rising, atol=1e-12)
