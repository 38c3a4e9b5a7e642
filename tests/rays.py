"""Ray clusters for tests: real ones, in processes of their own."""

from __future__ import annotations

import functools
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in Linux's /proc")

STORE = 80_000_000
"""Bytes of the object store, about the fewest that Ray takes."""


def session(leader: int) -> dict[int, str]:
    """The processes of a session, and what they call themselves."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(path.name)) == leader:
                found[int(path.name)] = (path / "cmdline").read_bytes().decode().strip("\0 ")
        except OSError:  # it has ended in the meantime
            continue
    return {pid: title for pid, title in found.items() if title}


def descendants(process: int) -> dict[int, str]:
    """The processes that a process has started, and those that these have, and so on."""
    titles, parents = {}, {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            fields = (path / "stat").read_text().rpartition(")")[2].split()
            titles[int(path.name)] = (path / "cmdline").read_bytes().decode().strip("\0 ")
        except OSError:
            continue
        parents[int(path.name)] = int(fields[1])
    found = {process}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return {pid: titles[pid] for pid in found - {process}}


def named(processes: dict[int, str], *names: str) -> list[int]:
    """Those of some names: of programs, or what Ray calls actors and tasks."""
    programs = {
        pid: Path(title.partition("\0")[0]).name.removeprefix("ray::")
        for pid, title in processes.items()
    }
    return [pid for pid, program in programs.items() if program.startswith(names)]


def kill(processes: Iterable[int]) -> None:
    for pid in processes:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _runs(process: int) -> bool:
    try:
        return bool((Path("/proc") / str(process) / "cmdline").read_bytes())
    except OSError:
        return False


def wait(processes: Iterable[int]) -> None:
    """Until none of them runs."""
    for _ in range(1500):
        if not any(map(_runs, processes)):
            return
        time.sleep(0.02)
    raise AssertionError("Ray goes on without the process that started it")


@contextmanager
def environment(**more: str) -> Iterator[dict[str, str]]:
    """For a Ray with nothing outside of a folder."""
    # Of a short name: that of a socket has 107 characters at most.
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        ours = {"HOME": folder, "RAY_TMPDIR": folder, "RAY_AUTH_MODE": "disabled"}
        # Ray's workers let all others go first, and would wait for the other tests to end.
        polite = {"RAY_worker_niceness": "0"}
        # They are to start when there is something to do: not one for each processor of a cluster,
        # which may have more of them than this machine.
        few = {"RAY_prestart_worker_first_driver": "0"}
        yield {**os.environ, **ours, **polite, **few, **more}


class Head:
    """The head node of a cluster, which is all there is of it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    @functools.cached_property
    def address(self) -> str:
        """Known when it has started."""
        said = ""
        for line in self._process.stdout:
            said += line
            if found := re.search("--address='(.+)'", line):
                return found[1]
        raise AssertionError(said)

    def named(self, *names: str) -> list[int]:
        return named(session(self._process.pid), *names)

    def kill(self, *names: str) -> None:
        kill(self.named(*names))


@contextmanager
def head(processors: int, **more: str) -> Iterator[Head]:
    """A cluster of one node; ``more`` is for its environment."""
    command = [
        *(sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--port=0"),
        *(f"--num-cpus={processors}", f"--object-store-memory={STORE}", "--disable-usage-stats"),
        *("--include-dashboard=false", "--include-log-monitor=false", "--no-monitor"),
    ]
    with (
        environment(**more) as given,
        subprocess.Popen(
            command,
            env=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process,
    ):
        try:
            yield Head(process)
        finally:
            kill(session(process.pid))  # Ray would take seconds for its leave
