"""Ray clusters for tests: real ones, in processes of their own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True)
class Head:
    """The head node of a cluster, which is all there is of it."""

    address: str
    leader: int

    def named(self, *names: str) -> list[int]:
        """Its processes of these names: programs, or what Ray calls actors and tasks."""
        titles = session(self.leader)
        return [
            pid
            for pid, title in titles.items()
            if Path(title.partition("\0")[0]).name.removeprefix("ray::").startswith(names)
        ]

    def kill(self, *names: str) -> None:
        """End its processes of these names at once, and with all that it may be without warning."""
        for pid in self.named(*names):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@contextmanager
def head(processors: int, port: int = 0, **more: str) -> Iterator[Head]:
    """A cluster of one node, with nothing outside of a folder; ``more`` is for its environment."""
    # Of a short name: that of a socket has 107 characters at most.
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        environment = {
            **os.environ,
            "HOME": folder,
            "RAY_TMPDIR": folder,
            "RAY_AUTH_MODE": "disabled",
            # Ray's workers let all others go first, and would wait for the other tests to end.
            "RAY_worker_niceness": "0",
            **more,
        }
        command = [
            *(sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"),
            *(f"--port={port}", f"--num-cpus={processors}", f"--object-store-memory={STORE}"),
            *("--include-dashboard=false", "--disable-usage-stats"),
        ]
        with subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                yield Head(_address(process), process.pid)
            finally:
                process.terminate()
                process.communicate()
                for pid in session(process.pid):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)


def _address(process: subprocess.Popen[str]) -> str:
    said = ""
    for line in process.stdout:
        said += line
        if found := re.search("--address='(.+)'", line):
            return found[1]
    raise AssertionError(said)
