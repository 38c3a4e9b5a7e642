"""Keys as they are pressed, or letters from a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer


@contextmanager
def pressed() -> Iterator[Callable[[], str]]:
    """What returns the next key, in small letters; an empty text where there will be none.

    A key that is pressed before it is asked for is not lost.
    """
    if not sys.stdin.isatty():
        yield _piped
    elif sys.platform == "win32":
        yield lambda: typer.getchar().lower()
    else:
        with unbuffered(sys.stdin.fileno()):
            yield _typed


@contextmanager
def unbuffered(terminal: int) -> Iterator[None]:
    """Meanwhile, a terminal passes on each key at once, and does not show it."""
    import termios
    import tty

    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal, termios.TCSADRAIN)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _typed() -> str:
    key = os.read(sys.stdin.fileno(), 1).decode(errors="replace").lower()
    return "" if key == "\x04" else key  # Ctrl-D is the end


def _piped() -> str:
    letter = sys.stdin.read(1)
    while letter.isspace():
        letter = sys.stdin.read(1)
    return letter.lower()
