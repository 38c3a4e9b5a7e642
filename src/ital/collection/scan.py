"""What files there are in a folder."""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | _NO_LINK
_FILE = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | _NO_LINK
"""How files are opened, and the folders that they are in: no links, and no waiting for a pipe."""


@dataclass(frozen=True)
class File:
    """A file as the file system sees it. Nobody has looked into it."""

    path: str
    """From the folder on, with slashes."""
    size: int
    modified: int
    """Nanoseconds since 1970."""


@dataclass(frozen=True)
class Skipped:
    """A file or folder that is left out, and why."""

    path: str
    reason: str
    size: int = -1
    modified: int = -1
    lasting: bool = True
    """Whether it will be so until the file changes. A door that is shut may be open tomorrow."""


class _Scan:
    def __init__(self, folder: Path, without: Path | None) -> None:
        self.root = folder.resolve()
        self.without = None if without is None else without.resolve()
        self.files: dict[tuple[int, int], File] = {}
        self.copies: list[File] = []
        self.skipped: list[Skipped] = []
        self.links: list[tuple[str, Path]] = []
        self.folders: set[tuple[int, int]] = set()

    def skip(self, path: str, reason: str, lasting: bool = True) -> None:
        self.skipped.append(Skipped(path, reason, lasting=lasting))

    def walk(self, folder: Path, path: str) -> None:
        """Collect what is in a folder and those below it; links are left for later."""
        waiting = [(folder, path)]
        while waiting:
            folder, path = waiting.pop()
            try:
                if not self._is_new(folder):
                    continue
                with os.scandir(folder) as entries:
                    for entry in entries:
                        self._sort(entry, f"{path}/{entry.name}" if path else entry.name, waiting)
            except OSError as error:
                self.skip(path or ".", reason(error), lasting=False)

    def _is_new(self, folder: Path) -> bool:
        if folder == self.without:
            return False
        status = folder.stat()
        identity = (status.st_dev, status.st_ino)
        known = identity in self.folders
        self.folders.add(identity)
        return not known

    def _sort(self, entry: os.DirEntry[str], path: str, waiting: list[tuple[Path, str]]) -> None:
        if entry.name.startswith("."):
            return
        if not is_unicode(entry.name):
            self.skip(path, "its name is not Unicode")
            return
        try:
            if entry.is_symlink():
                self.links.append((path, Path(entry.path)))
            elif entry.is_dir(follow_symlinks=False):
                waiting.append((Path(entry.path), path))
            else:
                self._add(path, entry.stat(follow_symlinks=False))
        except FileNotFoundError:
            return  # it has gone since the folder was read
        except OSError as error:
            self.skip(path, reason(error), lasting=False)

    def _add(self, path: str, status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            self.skip(path, "not a regular file")
            return
        file = File(path, status.st_size, status.st_mtime_ns)
        if self.files.setdefault((status.st_dev, status.st_ino), file) is not file:
            self.copies.append(file)  # a hard link: a file of its own to all who look

    def follow(self) -> None:
        """Take what links lead to, if that is in the folder and was not found without them."""
        while self.links:
            links, self.links = sorted(self.links), []
            for path, link in links:
                try:
                    self._follow(path, link)
                except PermissionError as error:
                    self.skip(path, reason(error), lasting=False)
                except (
                    OSError,
                    RuntimeError,
                ) as error:  # some Pythons call a circle a RuntimeError
                    self.skip(path, reason(error))

    def _follow(self, path: str, link: Path) -> None:
        target = link.resolve(strict=True)
        if not target.is_relative_to(self.root):
            self.skip(path, "a link that leads out of the folder")
        elif self.without is not None and target.is_relative_to(self.without):
            return
        elif target.is_dir():
            self.walk(target, path)
        else:
            status = target.stat()
            if (status.st_dev, status.st_ino) not in self.files:
                self._add(path, status)


def open_inside(root: Path, path: str) -> io.BufferedReader:
    """A file of a folder, open for reading.

    Links are followed where they stay in the folder. Whatever anyone changes meanwhile, no file
    from outside is opened: what is checked is what was opened, and not what was there before.
    Systems that open nothing from a folder on (Windows) are only sure of the last step.
    """
    root = root.resolve()
    try:
        target = (root / path).resolve(strict=True)
    except (RuntimeError, ValueError) as error:  # a circle of links, in some Pythons; or a NUL
        raise FileNotFoundError(errno.ENOENT, "not a file of the folder", path) from error
    if not target.is_relative_to(root):
        raise FileNotFoundError(errno.ENOENT, "not a file of the folder", path)
    descriptor = _open(root, target)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileNotFoundError(errno.ENOENT, "not a file of the folder", path)
    return os.fdopen(descriptor, "rb")


def _open(root: Path, target: Path) -> int:
    """Open what was at the end of all links, if there are still none on the way to it."""
    if os.open not in os.supports_dir_fd:
        descriptor = os.open(target, _FILE)
        if os.path.samestat(os.fstat(descriptor), target.lstat()):
            return descriptor
        os.close(descriptor)
        raise FileNotFoundError(errno.ENOENT, "not a file of the folder", str(target))
    *folders, name = target.relative_to(root).parts or (".",)
    here = os.open(root, _FOLDER)
    try:
        for folder in folders:
            below = os.open(folder, _FOLDER, dir_fd=here)
            os.close(here)
            here = below
        return os.open(name, _FILE, dir_fd=here)
    finally:
        os.close(here)


def scan(folder: Path, without: Path | None = None) -> tuple[list[File], list[Skipped]]:
    """All files in a folder and below it, and what cannot be reached, each in order.

    Hidden files and folders are left out, and so is the folder ``without``. Links are followed
    where they lead to something within the folder that is not there without them.
    """
    work = _Scan(folder, without)
    work.walk(work.root, "")
    work.follow()
    files = [*work.files.values(), *work.copies]
    return sorted(files, key=_path), sorted(work.skipped, key=_path)


def printable(path: str) -> str:
    """A name that a terminal or a log can show: no line breaks, no control characters."""
    return "".join(_visible(path))


def _visible(path: str) -> Iterator[str]:
    for letter in path:
        shown = letter.isprintable() and not "\ud800" <= letter <= "\udfff"
        yield letter if shown else letter.encode("unicode_escape", "backslashreplace").decode()


def _path(found: File | Skipped) -> str:
    return found.path


def is_unicode(name: str) -> bool:
    """Whether a name is text, rather than bytes that no encoding explains."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def reason(error: Exception) -> str:
    """In a few words, why a file cannot be reached."""
    if isinstance(error, PermissionError):
        return "no permission"
    if isinstance(error, FileNotFoundError):
        return "a link that leads nowhere"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error).lower()
