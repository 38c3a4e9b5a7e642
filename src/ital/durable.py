"""Files that are written as a whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO


def write_whole(path: Path, content: str | bytes) -> None:
    """Replace a file by one with this content, which is on disk before the old one goes.

    A link stays, and the file that it leads to is replaced. What is no file is never replaced: a
    device or a pipe is written to, a folder is refused.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        known = _known(path)
        through = None if known is None else _through(path, known)
        if through is None:
            _replace(Path(os.path.realpath(path)), data, known)
        else:
            with through:
                through.write(data)
    except OSError as error:
        if error.errno is None:
            raise
        # By the name that was asked for, and not by that of a file on the way.
        raise OSError(error.errno, error.strerror, str(path)) from error


def _known(path: Path) -> os.stat_result | None:
    """What is known of that to which a path leads, if that is there."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _through(path: Path, known: os.stat_result) -> BinaryIO | None:
    """What to write to where there is something that must not be replaced; ``None`` for files."""
    if stat.S_ISDIR(known.st_mode):
        raise IsADirectoryError(f"{str(path)!r} must be a file, but is a folder")
    for number in (1, 2):
        # Opened anew, it would be overwritten by what is printed next, if it is a file.
        with suppress(OSError):
            if os.path.samestat(os.fstat(number), known):
                return os.fdopen(os.dup(number), "wb")
    return None if stat.S_ISREG(known.st_mode) else path.open("wb")


def _replace(path: Path, data: bytes, known: os.stat_result | None) -> None:
    if not path.parent.exists():
        raise FileNotFoundError(f"the folder {str(path.parent)!r} must be there, but is not")
    temporary = path.with_name(f".{path.name[:50]}.{secrets.token_hex(8)}")
    mode = 0o666 if known is None else stat.S_IMODE(known.st_mode)
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            if known is not None:
                temporary.chmod(mode)  # what the umask took
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
