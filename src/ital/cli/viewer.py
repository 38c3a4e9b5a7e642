"""How a question is shown: in the terminal, or by a program that shows pictures."""

from __future__ import annotations

import io
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import typer
from PIL import Image

from ital.cli.output import has_screen

if TYPE_CHECKING:
    from ital.collection import Collection

_MOMENT = 0.3
"""Seconds for a program that draws into the terminal to do so, before there is a question."""

Show = Callable[[int], None]


class Program:
    """A program that is started anew for each picture, in the place of the last."""

    def __init__(self, collection: Collection, command: str) -> None:
        self._collection = collection
        self._command = shlex.split(command)
        if not self._command or shutil.which(self._command[0]) is None:
            raise ValueError(f"--viewer must be a program that is there, got {command!r}")
        self._running: subprocess.Popen[bytes] | None = None

    def __call__(self, identifier: int) -> None:
        self.close()
        command = [*self._command, str(self._collection.path(identifier))]
        # Standard output is for paths.
        self._running = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno()
        )
        with suppress(subprocess.TimeoutExpired):
            self._running.wait(_MOMENT)

    def close(self) -> None:
        """End the program, if it still runs."""
        if self._running is not None:
            self._running.terminate()
            self._running.wait()
            self._running = None


@contextmanager
def shown(collection: Collection, command: str | None) -> Iterator[Show]:
    """What shows pictures: a program, the terminal, the system's viewer, or none of them."""
    if command is None:
        yield _of_system(collection)
        return
    program = Program(collection, command)
    try:
        yield program
    finally:
        program.close()


def _of_system(collection: Collection) -> Show:
    if sys.platform != "win32":  # where terminals cannot be asked
        from ital.cli.graphics import drawn, protocol

        how = protocol(sys.stderr)
        if how is not None:

            def draw(identifier: int) -> None:
                with Image.open(io.BytesIO(collection.thumbnail(identifier))) as image:
                    typer.echo(drawn(image, how), err=True)

            return draw

    def launch(identifier: int) -> None:
        if sys.stdin.isatty() and has_screen():
            typer.launch(str(collection.path(identifier)))

    return launch
