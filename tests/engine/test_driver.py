from __future__ import annotations

import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from ital import RayEngine
from ital.engine import ClusterError
from ital.engine.driver import Driver

SCRIPT = """
import sys
import numpy as np
import ital

def farther(distances):
    return distances + 1

features = np.eye(3)
pool = ital.Search(features, engine=ital.RayEngine(sys.argv[1], 1)).model.pool
print(pool.squared_distances(features[:1], None, farther).tolist())
"""


@pytest.fixture(scope="module")
def engine(cluster):
    return RayEngine(cluster.address, 1)


@pytest.fixture(scope="module")
def group(engine):
    """One object, which can be waited for."""
    return engine.group(1, lambda first, last: threading.Event())


def interrupted(ask, *args):
    """As by Ctrl-C, in the middle of it."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        ask(*args)
    signal.signal(signal.SIGALRM, before)


def test_whoever_was_interrupted_can_go_on(group):
    interrupted(group.ask, threading.Event.wait, 0.6)
    group.tell(threading.Event.set)
    assert group.ask(threading.Event.is_set) == [True]


def test_what_cannot_be_sent_is_not(group):
    with pytest.raises(TypeError, match="pickle"):
        group._driver.ask("processors", threading.Lock())
    assert group._driver.ask("processors") == 20


def test_threads_do_not_wait_for_each_other(engine, group):
    group.tell(threading.Event.clear)
    other = engine.group(1, range)
    waiting = threading.Thread(target=group.ask, args=(threading.Event.wait, 1.5))
    waiting.start()
    assert other.ask(range.index, 0) == [0]
    assert waiting.is_alive()
    waiting.join()


@pytest.fixture
def stopped(cluster):
    """A driver that reads nothing."""
    driver = Driver(cluster.address, None)
    driver._process.send_signal(signal.SIGSTOP)
    yield driver
    driver.close()


def test_a_driver_that_ends(stopped):
    """It would take what follows for the rest of a message that was broken off."""
    stopped._said.write(b"[2026-01-01 00:00:00,000 E 1 2] file.h:1: I cannot go on. See there.\n")
    stopped._said.flush()
    interrupted(stopped.ask, "processors", np.zeros(1_000_000))
    stopped._listener.join()
    assert not stopped.runs
    with pytest.raises(ClusterError, match=r"is gone: .* \(exit code -9: I cannot go on\)\. What"):
        stopped.ask("processors")


def test_scripts_need_no_guard_and_send_their_own_functions(cluster, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, tmp_path / "script.py", cluster.address]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    assert said.stdout == "[[1.0, 3.0, 3.0]]\n"
    assert said.stderr == ""
