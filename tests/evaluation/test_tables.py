from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ital.evaluation import area_under_curve, published, published_area, tables
from ital.evaluation.calibration import Calibration
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


def write_answers(folder, answers, **settings):
    """A run of one strategy, with the answers of each query."""
    journal = Journal(folder)
    with journal.begun(Settings("digits", ("ital",), **settings), len(answers), "abc"):
        pass
    for place, told in enumerate(answers):
        curve = [0.1 * number for number in range(1 + len(told))]
        asked = [list(range(len(one))) for one in told]
        result = Result(0, place, "one", 3, curve, curve, asked, told)
        journal.add(Unit("ital", 0, place), result, [0.1])
    (run,) = tables.read(folder)
    return run


class TestFound:
    def test_by_hand(self, tmp_path):
        """Two searches: three of six questions, and one of four, of which one was skipped."""
        run = write_answers(tmp_path, [[[1, -1, 1], [-1, -1, 1]], [[1, 0], [-1, -1]]])
        first, second = run.results["ital"]
        assert first.found == [0, 2, 3]
        assert second.found == [0, 1, 1]
        assert run.rows[0].found == pytest.approx((3 + 1) / 2)
        assert run.rows[0].found_per_question == pytest.approx((3 / 6 + 1 / 4) / 2)

    def test_nothing_was_asked(self, tmp_path):
        """Of a pool that is the query alone."""
        run = write_answers(tmp_path, [[], [[1, 1]]])
        assert (run.rows[0].found, run.rows[0].found_per_question) == (1.0, 0.5)

    @pytest.mark.parametrize(
        ("user", "known"), [("conservative", True), ("aggressive", False), ("blend", False)]
    )
    def test_a_yes_of_users_who_err_is_not_the_truth(self, tmp_path, user, known):
        (row,) = write_answers(tmp_path, [[[1, 0]]], user=user).rows
        assert (row.found is not None) == known
        assert (row.found_per_question is not None) == known


class TestStages:
    @pytest.mark.parametrize(
        ("rounds", "expected"),
        [(1, [1]), (3, [1, 2, 3]), (5, [1, 2, 3, 5]), (10, [1, 2, 3, 10]), (12, [1, 2, 3, 10, 12])],
    )
    def test_some_rounds_and_the_last(self, tmp_path, rounds, expected):
        run = write_answers(tmp_path, [[[1]] * rounds] * 2)
        assert list(run.stages()["ital"]) == expected
        for number, value in run.stages()["ital"].items():
            assert value == pytest.approx(0.1 * number)

    def test_means_over_queries(self, tmp_path):
        precisions = write(tmp_path)
        (run,) = tables.read(tmp_path)
        for label in LABELS:
            for number in (1, 2, 3):
                expected = np.mean([precisions[label, place][number] for place in range(6)])
                assert run.stages()[label][number] == pytest.approx(expected)

    def test_a_search_that_ended_early_stays_as_it_was(self, tmp_path):
        run = write_answers(tmp_path, [[[1]], [[1]] * 3])
        assert run.stages()["ital"] == pytest.approx({1: 0.1, 2: 0.15, 3: 0.2})


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
        {"base_rate": "learn"},
        {"base_rate": 0.1},
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


def test_every_base_rate_has_standings_of_its_own(tmp_path):
    for data in ("butterflies", "usps"):
        write(tmp_path / data, data)
        write(tmp_path / f"{data}-rate-learn", data, base_rate="learn")
        write(tmp_path / f"{data}-rate-0.05", data, base_rate=0.05)
    groups = tables.alike(tables.read(tmp_path))
    assert {rate: [run.name for run in some] for rate, some in groups.items()} == {
        "none": ["butterflies", "usps"],
        "learnt": ["butterflies-rate-learn", "usps-rate-learn"],
        "0.05": ["butterflies-rate-0.05", "usps-rate-0.05"],
    }


def state(expected, relevant, low=None, high=None, brier=0.1, log_loss=0.4, bins=None):
    counts, sums, hits = bins or ([8, 2], [0.4, 1.2], [1, 2])
    rest = [0] * 8
    return Calibration(
        brier, log_loss, expected, relevant, low, high, counts + rest, sums + rest, hits + rest
    )


def write_calibrated(folder, states, other=None):
    """A run of two strategies; ``states`` of the queries to the first, and none of the second."""
    journal = Journal(folder)
    settings = Settings("digits", ("ital", "border"), queries=len(states), base_rate="learn")
    with journal.begun(settings, len(states), "abc"):
        pass
    for place, one in enumerate(states):
        rounds = len(one) - 1
        plain = [0, place, "one", 3, [0.9] * len(one), [0.9] * len(one), [[1]] * rounds]
        journal.add(Unit("ital", 0, place), Result(*plain, [[1]] * rounds, one), [0.1])
        journal.add(Unit("border", 0, place), Result(*plain, [[1]] * rounds, other), [0.1])
    (run,) = tables.read(folder)
    return run


class TestCalibrations:
    def test_by_hand(self, tmp_path):
        """Three queries, the last of which ended after its first round."""
        first = [state(30, 10)] + [state(12, 10, 8, 15, 0.1, 0.2)] * 5
        second = [state(30, 20)] + [state(10, 20, 5, 15, 0.2, 0.4)] * 5
        third = [state(30, 5), state(10, 5, 5, 11, 0.6, 0.9)]
        run = write_calibrated(tmp_path, [first, second, third])
        found = run.calibrated()
        assert [(one.strategy, one.round) for one in found] == [("ital", i) for i in (1, 4, 5)]
        for one in found:
            assert one.brier == pytest.approx((0.1 + 0.2 + 0.6) / 3)
            assert one.log_loss == pytest.approx((0.2 + 0.4 + 0.9) / 3)
            assert one.ratio == pytest.approx(1.2)  # of 1.2, 0.5 and 2
            assert one.coverage == pytest.approx(2 / 3)

    def test_after_some_rounds_and_the_last(self, tmp_path):
        for number, expected in ((2, [1, 2]), (10, [1, 4, 6, 10]), (12, [1, 4, 6, 10, 12])):
            run = write_calibrated(tmp_path / str(number), [[state(12, 10)] * (1 + number)])
            assert [one.round for one in run.calibrated()] == expected

    def test_no_interval_no_coverage(self, tmp_path):
        run = write_calibrated(tmp_path, [[state(30, 10), state(12, 10)]])
        assert [one.coverage for one in run.calibrated()] == [None]

    def test_reliability_is_of_what_was_told_after_answers(self):
        bins = [([8, 2], [0.4, 1.2], [1, 2]), ([5, 1], [0.2, 0.9], [0, 1])]
        before = state(1, 1, bins=([100, 100], [50.0, 50.0], [9, 9]))
        rounds = [[before] * 2, [state(1, 1, bins=one) for one in bins]]
        counts, sums, hits = tables.reliability(rounds)
        assert counts.tolist() == [13, 3] + [0] * 8
        np.testing.assert_allclose(sums, [0.6, 2.1] + [0] * 8)
        assert hits.tolist() == [1, 3] + [0] * 8

    def test_runs_of_earlier_versions_have_none(self, tmp_path):
        write(tmp_path)
        (run,) = tables.read(tmp_path)
        assert run.calibrations() == {}
        assert run.calibrated() == []

    def test_words_for_base_rates(self, tmp_path):
        for name, rate in (("a", None), ("b", "learn"), ("c", 0.05)):
            write(tmp_path / name, base_rate=rate)
        assert [run.base_rate for run in tables.read(tmp_path)] == ["none", "learnt", "0.05"]


def test_standings(tmp_path):
    write(tmp_path / "butterflies", levels=(0.9, 0.6, 0.3))
    write(tmp_path / "usps", "usps", levels=(0.5, 0.8, 0.2))
    runs = tables.read(tmp_path)
    assert [run.name for run in runs] == ["butterflies", "usps"]
    write(tmp_path / "usps-blend", "usps", user="blend")
    write(tmp_path / "usps-64", "usps", pca=64)
    write(tmp_path / "usps-rate-learn", "usps", base_rate="learn")
    runs = tables.read(tmp_path)
    # Other users, fewer dimensions and other base rates are other experiments.
    assert [run.name for run in tables.alike(runs)["none"]] == ["butterflies", "usps"]
    assert tables.alike(runs).keys() == {"none"}
    runs = tables.alike(runs)["none"]
    assert tables.alike(runs[:1]) == {}
    found = tables.standings(runs)
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
