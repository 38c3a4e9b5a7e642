"""What runs on this machine, as Linux tells it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in Linux's /proc")


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
