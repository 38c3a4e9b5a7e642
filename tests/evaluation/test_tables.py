from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ital.evaluation import area_under_curve, published, published_area, tables
from ital.evaluation.experiment import Result, Settings, Unit
from ital.evaluation.journal import Journal

LABELS = ("ital", "border", "random")


def write(folder, data="butterflies", levels=(0.9, 0.6, 0.3), queries=6, **settings):
    """A run of made-up curves, those of each strategy at a level of its own."""
    journal = Journal(folder)
    settings = {"rounds": 10, **settings}
    with journal.begun(Settings(data, LABELS, queries=queries, **settings), queries, "abc"):
        pass
    rng = np.random.default_rng(0)
    precisions = {}
    for label, level in zip(LABELS, levels, strict=True):
        for place in range(queries):
            curve = (level + 0.05 * rng.standard_normal(4)).tolist()
            precisions[label, place] = curve
            result = Result(0, place, "one", 3, curve, curve[::-1], [[1]] * 3, [[1]] * 3)
            journal.add(Unit(label, 0, place), result, [0.1 * place] * 3)
    return precisions


def test_rows(tmp_path):
    precisions = write(tmp_path / "butterflies")
    (run,) = tables.read(tmp_path)
    assert run.name == "butterflies"
    assert [row.strategy for row in run.rows] == ["ital", "border", "random"]
    assert [row.rank for row in run.rows] == [1, 2, 3]
    areas = {
        label: [area_under_curve(precisions[label, place]) for place in range(6)]
        for label in LABELS
    }
    for row in run.rows:
        mine = areas[row.strategy]
        assert row.queries == 6
        assert row.area == pytest.approx(np.mean(mine))
        low, high = stats.t.interval(0.95, 5, np.mean(mine), stats.sem(mine))
        assert row.interval == pytest.approx((high - low) / 2)
        curves = np.array([precisions[row.strategy, place] for place in range(6)])
        assert row.published == pytest.approx(published_area(curves.mean(axis=0)))
        assert row.paper == published.area("butterflies", row.strategy)
        assert row.difference == pytest.approx(row.published - row.paper)
        assert row.seconds == pytest.approx(0.25)
        assert row.ndcg == pytest.approx(np.mean(mine))
        np.testing.assert_allclose(run.curves(row.strategy), curves)
    assert run.rows[0].p_value is None
    for row in run.rows[1:]:
        expected = stats.ttest_rel(areas["ital"], areas[row.strategy]).pvalue
        assert row.p_value == pytest.approx(expected)


def test_the_same_results_have_no_difference(tmp_path):
    journal = Journal(tmp_path)
    with journal.begun(Settings("digits", ("ital", "entropy"), queries=2, rounds=1), 2, "abc"):
        pass
    for label in ("ital", "entropy"):
        for place in range(2):
            result = Result(0, place, "one", 3, [0.5, 0.6 + place / 10], [0.5, 0.5], [[1]], [[1]])
            journal.add(Unit(label, 0, place), result, [0.1])
    (run,) = tables.read(tmp_path)
    assert [row.p_value for row in run.rows] == [None, 1.0]
    assert [row.rank for row in run.rows] == [1, 1]


def test_one_query_tells_no_interval(tmp_path):
    write(tmp_path, queries=1)
    (run,) = tables.read(tmp_path)
    assert all(row.interval is None and row.p_value is None for row in run.rows)


@pytest.mark.parametrize(
    "changes",
    [
        {"user": "blend"},
        {"pca": 8},
        {"data": "corel1k"},
        {"rounds": 3},
        {"batch": 1},
        {"length_scale": 2.0},
        {"noise": 0.1},
        {"data": "usps", "length_scale": 2.5},
    ],
)
def test_the_paper_has_no_such_cell(tmp_path, changes):
    write(tmp_path, **changes)
    assert all(row.paper is None for row in tables.read(tmp_path)[0].rows)
    assert all(row.difference is None for row in tables.read(tmp_path)[0].rows)


def test_the_papers_kernel_may_be_said(tmp_path):
    write(tmp_path, length_scale=2.5, variance=1.0, noise=1e-6)
    assert all(row.paper is not None for row in tables.read(tmp_path)[0].rows)


def test_mirflickr_is_reduced_to_512_dimensions(tmp_path):
    write(tmp_path, "mirflickr", pca=512)
    assert all(row.paper is not None for row in tables.read(tmp_path)[0].rows)


def test_differences_that_are_all_the_same():
    assert tables._p_value(np.full(4, 0.25)) == 0.0


def test_curves_that_ended_early_go_on_level():
    assert tables.curves([[0.1, 0.2], [0.3, 0.4, 0.5]]).tolist() == [
        [0.1, 0.2, 0.2],
        [0.3, 0.4, 0.5],
    ]


def test_unfinished_runs_are_read_and_say_so(tmp_path):
    write(tmp_path)
    path = tmp_path / "results" / "random.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:4]))
    (tmp_path / "results" / "border.jsonl").unlink()
    (run,) = tables.read(tmp_path)
    assert run.missing == {"border": 6, "random": 2}
    assert [row.strategy for row in run.rows] == ["ital", "random"]
    # Means are over the queries that all have been asked.
    assert [row.queries for row in run.rows] == [4, 4]
    assert run.curves("ital").shape == (4, 4)


def test_standings(tmp_path):
    write(tmp_path / "butterflies", levels=(0.9, 0.6, 0.3))
    write(tmp_path / "usps", "usps", levels=(0.5, 0.8, 0.2))
    runs = tables.read(tmp_path)
    assert [run.name for run in runs] == ["butterflies", "usps"]
    write(tmp_path / "usps-blend", "usps", user="blend")
    write(tmp_path / "usps-64", "usps", pca=64)
    runs = tables.read(tmp_path)
    found = tables.standings(runs)
    runs = [run for run in runs if run.name in ("butterflies", "usps")]
    assert tables.standings(runs[:1]) == []
    assert [one.strategy for one in found] == ["border", "ital", "random"]
    assert [one.mean_rank for one in found] == [1.5, 1.5, 3.0]
    assert found[0].ranks == {"butterflies": 2, "usps": 1}
    for one in found:
        for run in runs:
            (row,) = [row for row in run.rows if row.strategy == one.strategy]
            assert one.areas[run.name] == row.area


def test_refuses(tmp_path):
    with pytest.raises(ValueError, match="runs must be a folder, but there is none"):
        tables.read(tmp_path / "nothing")
    with pytest.raises(ValueError, match=r"has no settings.json"):
        tables.read(tmp_path)
    with Journal(tmp_path / "run").begun(Settings("digits", ("border",)), 10, "abc"):
        pass
    with pytest.raises(ValueError, match="has none yet"):
        tables.read(tmp_path)


def test_published_figures():
    assert published.area("butterflies", "tcal") == 0.7720
    assert published.area("usps", "adaptal") == 0.6487
    assert published.area("imagenet", "ital") == 0.1841
    # Other features, and a method that it prints no figures of.
    assert published.area("scenes13", "ital") is None
    assert published.area("butterflies", "usdm") is None
    assert len(published.TABLE_1) == 12
    # The mean ranks that the paper prints come out of these figures.
    ranks = {
        name: np.mean(
            [
                1 + sum(published.area(data, other) > published.area(data, name)
                        for other in published.TABLE_1)
                for data in ("butterflies", "usps", "mirflickr", "imagenet", "scenes")
            ]
        )
        for name in published.TABLE_1
    }  # fmt: skip
    assert ranks["ital"] == pytest.approx(2.0)
    assert ranks["entropy"] == pytest.approx(2.2)
    assert ranks["border_div"] == pytest.approx(3.0)
    assert ranks["rbmal"] == pytest.approx(11.0)
