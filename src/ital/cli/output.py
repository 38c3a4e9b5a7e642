"""How commands speak: errors as lines, bars, files that were written."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def errors_as_messages() -> Iterator[None]:
    """What is wrong with an argument or with data is said in a line, with the exit code 2."""
    try:
        yield
    except typer.Exit:
        raise
    except (ValueError, TypeError, OSError, RuntimeError) as error:
        message = f"[red]Error:[/] {escape(str(error))}"
        Console(stderr=True).print(message, soft_wrap=True, highlight=False)
        raise typer.Exit(2) from error


@contextmanager
def indexing() -> Iterator[Callable[[Any], None]]:
    """A bar with pictures per second and the time that is left; none if nothing has to be read."""
    columns = (
        TextColumn("Indexing"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, transient=True) as progress:
        bar = progress.add_task("", total=None, speed="")
        try:

            def report(done: Any) -> None:
                speed = progress.tasks[0].finished_speed or progress.tasks[0].speed
                progress.update(
                    bar,
                    total=done.total,
                    completed=done.done,
                    speed=f"{speed:.0f} pictures/s" if speed else "",
                )

            yield report
        except KeyboardInterrupt:
            Console(stderr=True).print("Interrupted. Run it again to go on.")
            raise typer.Exit(130) from None


def has_screen() -> bool:
    """Whether a browser, or whatever else has a window, could show itself."""
    graphical = ("DISPLAY", "WAYLAND_DISPLAY")
    return sys.platform != "linux" or any(os.environ.get(name) for name in graphical)


def note(text: str) -> None:
    """A line for people, as it is, beside standard output, which may be for programs."""
    Console(stderr=True).print(text, soft_wrap=True, highlight=False, markup=False)


def print_paths(paths: list[Path]) -> None:
    """Say what was written."""
    for path in paths:
        note(f"wrote {path}")
