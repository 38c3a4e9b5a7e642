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

from ital.evaluation.experiment import Settings
from ital.evaluation.journal import Journal
from ital.evaluation.runner import run

SETTINGS = Settings("digits", ("border", "random"), queries=2, rounds=3)
COMMAND = [
    sys.executable, "-c", "from ital.cli import app; app()", "bench", "run", "--strategies",
    "border,random", "--queries", "2", "--rounds", "3", "--processes", "2", "--out",
]  # fmt: skip


def files(folder: Path) -> dict[str, bytes]:
    """All that a run keeps, but for seconds."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.parent.name != "seconds"
    }


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


def test_a_finished_run_has_nothing_to_do(undisturbed, tmp_path):
    before, told = files(undisturbed), []
    run(SETTINGS, undisturbed, 1, lambda *progress: told.append(progress))
    assert told == [("border", 20, 20), ("random", 20, 20)]
    assert files(undisturbed) == before


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in Linux's /proc")
def test_killed_at_any_moment_and_resumed(undisturbed, tmp_path):
    folder = tmp_path / "digits"
    moments = [0, 5, 17, 33]
    for lines in moments:
        process = subprocess.Popen([*COMMAND, str(tmp_path)], stdout=subprocess.DEVNULL)
        while process.poll() is None and count(folder) < lines:
            time.sleep(0.002)
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
    subprocess.run([*COMMAND, str(tmp_path)], check=True, stdout=subprocess.DEVNULL)
    assert files(folder) == files(undisturbed)


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in Linux's /proc")
def test_a_worker_is_killed(undisturbed, tmp_path):
    folder = tmp_path / "digits"
    process = subprocess.Popen(
        [*COMMAND, str(tmp_path)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    while process.poll() is None and count(folder) < 7:
        time.sleep(0.002)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    commands = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children}
    workers = [int(pid) for pid, command in commands.items() if b"spawn_main" in command]
    os.kill(workers[0], signal.SIGKILL)
    _, message = process.communicate()
    assert process.returncode == 2
    assert "a worker process was killed; what is finished is kept" in message
    assert 7 <= count(folder) < 40
    subprocess.run([*COMMAND, str(tmp_path)], check=True, stdout=subprocess.DEVNULL)
    assert files(folder) == files(undisturbed)


def count(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in (folder / "results").glob("*.jsonl"))


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_what_fails_in_a_worker_ends_the_run(tmp_path):
    rng = np.random.default_rng(0)
    classes = np.arange(12) % 2
    path = tmp_path / "mine.npz"
    np.savez(
        path,
        X_train=rng.random((12, 2)),
        y_train=classes,
        X_test=rng.random((12, 2)),
        y_test=classes,
    )
    settings = Settings(str(path), ("border",), queries=1, rounds=1, length_scale=1e200)
    with pytest.raises(ValueError, match="length_scale must be"):
        run(settings, tmp_path / "run", 1)
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["settings.json"]
