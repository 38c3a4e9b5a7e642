"""Real terminals: one of tmux, and one that the test plays itself."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

COMMAND = [sys.executable, "-m", "ital"]
_SECONDS = 60


class Tmux:
    """A terminal of tmux, on a socket of its own."""

    def __init__(self, name: str, command: list[str]) -> None:
        self._name = name
        kept = ["env", f"PYTHONPATH={os.pathsep.join(path for path in sys.path if path)}"]
        # The window stays for a while after the end, to be read.
        line = subprocess.list2cmdline([*kept, *command]) + "; echo ended $?; sleep 600"
        self._run("-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "50", line)

    def _run(self, *arguments: str) -> str:
        command = ["tmux", "-L", self._name, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def press(self, keys: str) -> None:
        self._run("send-keys", keys)

    def wait_for(self, text: str) -> str:
        """What the terminal shows once this is there."""
        until = time.monotonic() + _SECONDS
        while text not in (screen := self._run("capture-pane", "-p", "-J")):
            assert time.monotonic() < until, f"no {text!r} on\n{screen}"
            time.sleep(0.05)
        return screen

    def close(self) -> None:
        with suppress(subprocess.CalledProcessError):
            self._run("kill-server")


@contextmanager
def tmux(*arguments: object) -> Iterator[Tmux]:
    if shutil.which("tmux") is None:
        pytest.skip("needs tmux, which is not installed")
    terminal = Tmux(f"ital-{os.getpid()}", [*COMMAND, *map(str, arguments)])
    try:
        yield terminal
    finally:
        terminal.close()


def played(answer: bytes, keys: bytes, *arguments: object) -> tuple[bytes, bytes]:
    """What `ital` sends to a terminal that answers so, and what to standard output."""
    return run([*COMMAND, *map(str, arguments)], answer, keys)


def run(command: list[str], answer: bytes, keys: bytes, **options: Any) -> tuple[bytes, bytes]:
    """The same for any command."""
    ours, theirs = pty.openpty()
    options |= {"stdin": theirs, "stderr": theirs, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **options) as process:
        os.close(theirs)
        sent, until = b"", time.monotonic() + _SECONDS
        while time.monotonic() < until:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    piece = os.read(ours, 1 << 16)
                except OSError:  # Linux says so when the other end is closed
                    break
                if not piece:
                    break
                sent += piece
            if answer and b"\x1b[c" in sent:
                os.write(ours, answer)
                answer = b""
            if keys and b"1/4" in sent:
                os.write(ours, keys)
                keys = b""
        os.close(ours)
        assert process.stdout is not None
        out = process.stdout.read()
    assert process.returncode == 0, sent
    return sent, out
