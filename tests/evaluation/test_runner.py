"""Runs in processes: the same whoever plays, and whatever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from ital import USERS, UserModel, strategies
from ital.evaluation import evaluate, tables
from ital.evaluation.experiment import Player, Settings, units
from ital.evaluation.journal import Journal
from ital.evaluation.runner import run
from runs import count, files

SETTINGS = Settings("digits", ("border", "random"), queries=2, rounds=3)
COMMAND = [
    sys.executable, "-c", "from ital.cli import app; app()", "bench", "run", "--strategies",
    "border,random", "--queries", "2", "--rounds", "3", "--processes", "2", "--out",
]  # fmt: skip


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "digits"
    told = []
    run(SETTINGS, folder, 1, lambda *progress: told.append(progress))
    assert told[:2] == [("border", 0, 20), ("random", 0, 20)]
    assert told[-1] == ("random", 20, 20)
    assert len(told) == 42
    return folder


def test_results_are_all_there(undisturbed):
    for label in SETTINGS.strategies:
        results = Journal(undisturbed).results(label)
        assert [(one.task, one.place) for one in results] == [
            (t, p) for t in range(10) for p in (0, 1)
        ]
        assert len(Journal(undisturbed).seconds(label)) == 20 * 3


def test_two_processes_give_what_one_gives(undisturbed, tmp_path):
    run(SETTINGS, tmp_path / "digits", 2)
    assert files(tmp_path / "digits") == files(undisturbed)


def test_processes_make_no_difference_to_ital_and_users_who_err(tmp_path):
    classes = np.arange(120) % 2
    features = np.random.default_rng(0).random((120, 3)) + classes[:, None]
    np.savez(tmp_path / "mine.npz", X=features, y=classes)
    settings = Settings(
        str(tmp_path / "mine.npz"),
        ("ital:posterior=exact", "mcmi:subsample=50"),
        queries=2,
        rounds=2,
        user="blend",
        base_rate="learn",
    )
    for processes in (1, 2):
        run(settings, tmp_path / str(processes), processes)
    assert files(tmp_path / "1") == files(tmp_path / "2")
    results = Journal(tmp_path / "1").results("ital:posterior=exact")
    assert all(one.calibration[-1].low is not None for one in results)


def test_mistakes_are_found_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match="strategy must be one of"):
        run(Settings("digits", ("best",)), tmp_path / "run", 1)
    assert not (tmp_path / "run").exists()


def test_a_finished_run_has_nothing_to_do(undisturbed, tmp_path):
    before, told = files(undisturbed), []
    run(SETTINGS, undisturbed, 1, lambda *progress: told.append(progress))
    assert told == [("border", 20, 20), ("random", 20, 20)]
    assert files(undisturbed) == before


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in Linux's /proc")
def test_killed_at_any_moment_and_resumed(undisturbed, tmp_path):
    folder = tmp_path / "digits"
    moments = [0, 5, 33]
    for lines in moments:
        process = subprocess.Popen([*COMMAND, str(tmp_path)], stdout=subprocess.DEVNULL)
        while process.poll() is None and count(folder) < lines:
            time.sleep(0.01)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.send_signal(signal.SIGKILL)
        process.wait()
        # Workers end with the one who started them.
        for _ in range(500):
            if not any(alive(int(pid)) for pid in children):
                break
            time.sleep(0.02)
        else:
            pytest.fail("workers go on without the process that started them")
    assert lines <= count(folder) <= 40
    run(SETTINGS, folder, 1)
    assert files(folder) == files(undisturbed)


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in Linux's /proc")
def test_a_worker_is_killed(undisturbed, tmp_path):
    folder = tmp_path / "digits"
    process = subprocess.Popen(
        [*COMMAND, str(tmp_path)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    while process.poll() is None and count(folder) < 7:
        time.sleep(0.01)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    commands = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children}
    workers = [int(pid) for pid, command in commands.items() if b"spawn_main" in command]
    os.kill(workers[0], signal.SIGKILL)
    _, message = process.communicate()
    assert process.returncode == 2
    assert "a worker process ended too soon; what is finished is kept" in message
    assert 7 <= count(folder) < 40
    run(SETTINGS, folder, 1)
    assert files(folder) == files(undisturbed)


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_what_fails_in_a_worker_ends_the_run(tmp_path):
    rng = np.random.default_rng(0)
    classes = np.arange(12) % 2
    path = tmp_path / "mine.npz"
    train, test = rng.random((2, 12, 2))
    test[0] = 1e200
    np.savez(path, X_train=train, y_train=classes, X_test=test, y_test=classes)
    settings = Settings(str(path), ("border",), queries=1, rounds=1)
    with pytest.raises(ValueError, match="vectors must be finite"):
        run(settings, tmp_path / "run", 1)
    assert Journal(tmp_path / "run").results("border") == []


class TestEvaluate:
    def test_anything_that_has_select(self):
        class First:
            def select(self, model, candidates, k, rng):
                return candidates[:k]

        results = evaluate(First(), "digits", queries=1, rounds=2)
        assert len(results) == 10
        for result in results:
            known = {result.query}
            for asked in result.questions:
                expected = [i for i in range(20) if i not in known][:4]
                assert asked == expected
                known |= set(asked)

    def test_a_list_will_do(self):
        class First:
            def select(self, model, candidates, k, rng):
                return candidates[:k].tolist()

        assert evaluate(First(), "digits", queries=1, rounds=1)[0].questions[0] == [0, 1, 2, 3]

    @pytest.mark.parametrize("batch", [[5, 5, 6, 7], [5, 6, 7], [5, 6, 7, 9999], [], "four", 5])
    def test_what_is_no_batch(self, batch):
        class Wrong:
            def select(self, model, candidates, k, rng):
                return batch

        with pytest.raises(ValueError, match="select must return 4 different ones of the cand"):
            evaluate(Wrong(), "digits", queries=1, rounds=1)

    def test_into_the_table(self, tmp_path):
        run(SETTINGS, tmp_path / "digits", 1)
        results = evaluate(strategies.Border(), "digits", "mine", tmp_path, queries=2, rounds=3)
        (found,) = tables.read(tmp_path)
        rows = {row.strategy: row for row in found.rows}
        assert rows.keys() == {"border", "random", "mine"}
        assert rows["mine"].area == rows["border"].area
        assert rows["mine"].rank == rows["border"].rank
        assert not found.missing
        # It is not played again.
        assert evaluate(None, "digits", "mine", tmp_path, queries=2, rounds=3) == results

    def test_one_of_ours_gives_what_its_name_gives(self):
        results = evaluate(strategies.Border(), "digits", queries=1, rounds=2)
        settings = Settings("digits", ("border",), queries=1, rounds=2)
        player = Player.of(settings)
        assert results == [player.play(unit)[0] for unit in units(player.dataset, settings)]

    def test_users_are_told(self):
        assert USERS["blend"] == UserModel(0.5, 0.25)
        results = evaluate(strategies.Border(), "digits", queries=1, rounds=2, user="conservative")
        assert 0 in np.concatenate([np.ravel(result.answers) for result in results])
