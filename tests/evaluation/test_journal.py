from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ital.evaluation.calibration import Calibration
from ital.evaluation.experiment import Result, Settings, Unit
from ital.evaluation.journal import Journal

SETTINGS = Settings("digits", ("border", "ital:posterior=exact"), queries=2, rounds=1)


def result(task: int, place: int) -> Result:
    return Result(task, place, "cat", 7, [0.1, 1 / 3], [0.2, 0.7], [[1, 2]], [[1, -1]])


def calibrated(task: int, place: int) -> Result:
    """The same with two states, before and after an answer."""
    bins = [[4] + [0] * 9, [1 / 3] + [0.0] * 9, [1] + [0] * 9]
    states = [
        Calibration(0.1, 0.2, 3.5, 4, None, None, *bins),
        Calibration(1 / 7, 0.3, 3.0, 4, 2.5, 6.0, *bins),
    ]
    return replace(result(task, place), calibration=states)


def begin(journal: Journal, settings: Settings = SETTINGS, total=4, features="abc") -> Journal:
    with journal.begun(settings, total, features):
        return journal


@pytest.fixture
def journal(tmp_path):
    return begin(Journal(tmp_path / "run"))


class TestResults:
    def test_on_disk_at_once(self, journal):
        for label in SETTINGS.strategies:
            journal.add(Unit(label, 1, 0), result(1, 0), [0.5])
            journal.add(Unit(label, 0, 1), result(0, 1), [0.25])
            again = Journal(journal.folder)
            assert again.results(label) == [result(0, 1), result(1, 0)]
            assert again.seconds(label) == [0.5, 0.25]

    def test_nothing_yet(self, journal):
        assert journal.results("border") == []
        assert journal.seconds("border") == []

    def test_order_at_the_end(self, journal, tmp_path):
        other = begin(Journal(tmp_path / "other"))
        keys = [(0, 0), (0, 1), (1, 0), (2, 1)]
        for one, order in ((journal, keys), (other, keys[::-1])):
            for key in order:
                one.add(Unit("border", *key), result(*key), [0.5])
            one.finish("border")
        paths = [one.folder / "results" / "border.jsonl" for one in (journal, other)]
        assert paths[0].read_bytes() == paths[1].read_bytes()
        assert len(paths[0].read_text().splitlines()) == 4

    @pytest.mark.parametrize("cut", [1, 10, 60])
    def test_a_line_cut_short_is_dropped(self, journal, cut):
        for place in range(2):
            journal.add(Unit("border", 0, place), result(0, place), [0.5])
        path = journal.folder / "results" / "border.jsonl"
        path.write_bytes(path.read_bytes()[:-cut])
        assert journal.results("border") == [result(0, 0)]
        begin(journal)
        journal.add(Unit("border", 0, 1), result(0, 1), [0.75])
        assert journal.results("border") == [result(0, 0), result(0, 1)]
        # The seconds of the query that was asked again count once.
        assert journal.seconds("border") == [0.5, 0.75]

    def test_calibration_is_kept(self, journal):
        journal.add(Unit("border", 0, 0), calibrated(0, 0), [0.5])
        journal.finish("border")
        (found,) = journal.results("border")
        assert found == calibrated(0, 0)
        assert found.calibration[1].high == 6.0

    def test_results_of_earlier_versions_are_read_and_stay_as_they_are(self, journal):
        """They say nothing of calibration."""
        old = (
            '{"task": 0, "place": 0, "name": "cat", "query": 7, '
            '"precision": [0.1, 0.3333333333333333], "ndcg": [0.2, 0.7], '
            '"questions": [[1, 2]], "answers": [[1, -1]]}\n'
        )
        path = journal.folder / "results" / "border.jsonl"
        path.parent.mkdir()
        path.write_text(old)
        assert journal.results("border") == [result(0, 0)]
        assert journal.results("border")[0].calibration is None
        journal.add(Unit("border", 0, 1), calibrated(0, 1), [0.5])
        journal.finish("border")
        assert journal.results("border") == [result(0, 0), calibrated(0, 1)]
        assert path.read_text().startswith(old)

    def test_a_damaged_line_is_named(self, journal):
        journal.add(Unit("border", 0, 0), result(0, 0), [0.5])
        path = journal.folder / "results" / "border.jsonl"
        path.write_bytes(path.read_bytes() + b"\0\0\n")
        with pytest.raises(ValueError, match=r"border.jsonl must hold results, but line 2"):
            journal.results("border")

    def test_every_label_has_a_file_of_its_own(self, journal):
        labels = ["é", "ü", "a:b=c", "a_b=c", "a/b", "a%2Fb", "../x"]
        for place, label in enumerate(labels):
            journal.add(Unit(label, 0, place), result(0, place), [0.5])
        for place, label in enumerate(labels):
            assert journal.results(label) == [result(0, place)]
        assert len(list((journal.folder / "results").iterdir())) == len(labels)


class TestSettings:
    def test_kept(self, journal):
        again = Journal(journal.folder)
        assert again.settings() == SETTINGS
        assert again.total() == 4
        assert again.features() == "abc"

    def test_strategies_may_be_added(self, journal):
        begin(journal, replace(SETTINGS, strategies=("random", "border")))
        assert journal.settings().strategies == ("border", "ital:posterior=exact", "random")

    def test_other_settings_are_refused_and_change_nothing(self, journal):
        before = (journal.folder / "settings.json").read_bytes()
        with pytest.raises(ValueError, match=r"has queries 2, not 3, user 'perfect', not 'blend'"):
            begin(journal, replace(SETTINGS, queries=3, user="blend"))
        assert (journal.folder / "settings.json").read_bytes() == before

    def test_other_data_are_refused(self, journal):
        with pytest.raises(ValueError, match="has features 'abc', not 'xyz'"):
            begin(journal, features="xyz")

    def test_two_at_a_time_are_refused(self, journal):
        with (
            journal.begun(SETTINGS, 4, "abc"),
            pytest.raises(ValueError, match="another process is writing to"),
        ):
            begin(Journal(journal.folder))
        begin(Journal(journal.folder))

    def test_killed_at_the_very_beginning(self, tmp_path):
        """Before there were settings, there was a file to become them, and the lock."""
        (tmp_path / ".settings.json.0123456789abcdef").write_text('{"da')
        (tmp_path / ".lock").write_text("")
        begin(Journal(tmp_path))
        assert Journal(tmp_path).settings() == SETTINGS

    def test_folders_of_others_are_refused(self, tmp_path):
        (tmp_path / "letter.txt").write_text("hello")
        with pytest.raises(ValueError, match=r"new folder or that of a run, .* holds \['letter"):
            begin(Journal(tmp_path))
        assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]

    def test_no_run(self, tmp_path):
        with pytest.raises(ValueError, match=r"must be the folder of a run, but has no settings"):
            Journal(tmp_path).settings()

    @pytest.mark.parametrize("content", ["", "{}", "[]", json.dumps({"data": "digits"})])
    def test_broken(self, tmp_path, content):
        (tmp_path / "settings.json").write_text(content)
        with pytest.raises(ValueError, match=r"settings.json must hold the settings of a run, but"):
            Journal(tmp_path).settings()
