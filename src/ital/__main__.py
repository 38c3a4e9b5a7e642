"""The `ital` command, also as `python -m ital`."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

from ital.extras import MissingError, needed_for


def main() -> None:
    """Run the command that the arguments name."""
    # Until a command runs there is nothing to tidy up, and Ctrl-C amid imports ends in tracebacks.
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:  # or else whoever started us wants it ignored
        signal.signal(signal.SIGINT, _end)
    try:
        with needed_for("the command ital"):
            from ital.cli import app

            if usual is signal.default_int_handler:
                signal.signal(signal.SIGINT, usual)
            app()
    except MissingError as error:
        sys.stderr.write(f"Error: {error}\n")
        sys.exit(2)


def _end(number: int, frame: FrameType | None) -> None:
    del number, frame
    os._exit(130)


if __name__ == "__main__":
    main()
