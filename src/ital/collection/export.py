"""What a search found, for other programs and for people: tables, lists, folders."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from ital import checks
from ital.answers import Answer
from ital.checks import Identifier, IntArray
from ital.collection import pictures, tables
from ital.collection.collection import Collection
from ital.collection.pictures import UnreadableError
from ital.collection.scan import open_inside
from ital.collection.store import Store
from ital.durable import write_whole
from ital.gaussian import FloatArray
from ital.search import Search


@dataclass(frozen=True)
class Found:
    """A picture among the results of a search."""

    rank: int
    id: int
    path: str
    """From the folder of the collection on."""
    probability: float
    mean: float
    label: str
    """What was said of the picture: the word of an ``Answer``, or nothing."""
    key: str = ""
    """What the picture is called where it comes from, if it came from elsewhere."""


STACKS = ("whole", "best")
"""What can be taken of a stack."""


@dataclass(frozen=True)
class Cut:
    """The pictures that are taken, the best first, by arrays: what a search has to be asked."""

    rows: IntArray
    probabilities: FloatArray
    means: FloatArray
    answers: Mapping[Identifier, bool | None]

    def found(self, collection: Collection) -> list[Found]:
        """Them as objects, for which nothing more is asked of the search."""
        ids, paths, answers = collection.ids[self.rows], collection.paths, self.answers
        keys = collection.keys
        columns = (ids, self.rows, self.probabilities, self.means)
        return [
            Found(
                rank,
                identifier,
                paths[row],
                probability,
                mean,
                Answer.of(answers[identifier]).value if identifier in answers else "",
                "" if keys is None else keys[row],
            )
            for rank, (identifier, row, probability, mean) in enumerate(
                zip(*(column.tolist() for column in columns), strict=True), start=1
            )
        ]


def cut(
    collection: Collection,
    search: Search,
    top: int | None = None,
    threshold: float | None = None,
    stacks: str | None = None,
) -> Cut:
    """The best pictures: the ``top`` ones, or all, or as many as a threshold leaves.

    They are as many as there are of at least this probability, the first of the ranking. Of a
    stack of which one is among them, ``stacks`` takes the whole or the best alone, and ``top``
    counts stacks; if ``None``, those that are.
    """
    if stacks not in (None, *STACKS):
        raise ValueError(f"stacks must be {' or '.join(STACKS)}, got {stacks!r}")
    most = len(search) if top is None else checks.whole_number(top, "top", least=1)
    search.results(1)  # says so where there was no query
    ranking = search.ranking()
    above = len(search)
    if threshold is not None:
        above = ranking.above(checks.probability(threshold, "threshold"))
    places: slice | IntArray = slice(min(above, most))
    if stacks is not None:
        best = collection.groups.best(ranking.rows[:above])[:most]
        places = best if stacks == "best" else _whole_stacks(collection, ranking.rows, best)
    chosen = (ranking.rows[places], ranking.probabilities[places], ranking.means[places])
    return Cut(*chosen, search.answers)


def found(
    collection: Collection,
    search: Search,
    top: int | None = None,
    threshold: float | None = None,
    stacks: str | None = None,
) -> list[Found]:
    """The best pictures first, as ``cut`` takes them."""
    return cut(collection, search, top, threshold, stacks).found(collection)


def _whole_stacks(collection: Collection, rows: IntArray, best: IntArray) -> IntArray:
    """All places in a ranking of the stacks of some of them."""
    stacks = collection.groups.first[rows]
    return np.flatnonzero(np.isin(stacks, stacks[best]))


def to_csv(results: Sequence[Found]) -> str:
    """A table with a line for each picture."""
    return tables.to_csv(Found, results)


def to_json(results: Sequence[Found], root: Path) -> str:
    """A list of objects, with the folder from which their paths go on."""
    return tables.to_json("pictures", results, root)


def to_paths(results: Sequence[Found], root: Path) -> str:
    """Whole paths, one on each line, of all that are not ``left_out``."""
    return "".join(f"{path}\n" for path in _whole(results, root) if "\n" not in path)


def to_paths0(results: Sequence[Found], root: Path) -> str:
    """Whole paths, whatever is in them, with a NUL after each: for xargs -0."""
    return "".join(f"{path}\0" for path in _whole(results, root))


def left_out(kind: str, results: Sequence[Found], root: Path) -> list[Found]:
    """What a format cannot hold: a list of lines has no place for a path with a line break."""
    if kind != "paths":
        return []
    above = "\n" in str(root.resolve())
    return [one for one in results if above or "\n" in one.path]


def _whole(results: Sequence[Found], root: Path) -> list[str]:
    folder = root.resolve()
    return [str(folder / one.path) for one in results]


_NAME, _SUFFIX = 255, 16
"""Bytes that the name of a file may have, and characters of it that say what kind it is of."""

FILES: dict[str, Callable[[Sequence[Found], Path], str | bytes]] = {
    "csv": lambda results, root: to_csv(results),
    "json": to_json,
    "paths": to_paths,
    "paths0": to_paths0,
    "parquet": lambda results, root: tables.to_parquet(Found, results),
}


def _copy(root: Path, path: str, target: Path) -> None:
    with open_inside(root, path) as source, target.open("xb") as copy:
        shutil.copyfileobj(source, copy)
        status = os.fstat(source.fileno())
    target.chmod(stat.S_IMODE(status.st_mode))
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


FOLDERS: dict[str, Callable[[Path, str, Path], None]] = {
    "copies": _copy,
    "links": lambda root, path, target: target.symlink_to(root.resolve() / path),
}
"""What can be written, by name: files of text, and folders of pictures."""


def write(kind: str, results: Sequence[Found], root: Path, out: Path) -> list[Found]:
    """Write results to a file, or to a folder that is new or empty. Returns what is ``left_out``.

    A table or a list may replace an older one, but no picture and nothing of a collection.
    """
    if kind in FILES:
        check_file(out, [one.path for one in results], root)
        write_whole(out, FILES[kind](results, root))
        return left_out(kind, results, root)
    if kind not in FOLDERS:
        raise ValueError(f"format must be one of {', '.join([*FILES, *FOLDERS])}, got {kind!r}")
    check_folder(out, [one.path for one in results], root)
    out.mkdir(parents=True, exist_ok=True)
    for one in results:
        FOLDERS[kind](root, one.path, out / file_name(one, len(results)))
    return []


def check_file(out: Path, paths: Sequence[str], root: Path) -> None:
    """Refuse to replace a picture, one of these above all, or to write into a collection."""
    _not_in_a_collection(out)
    if out.is_file() and _is_picture(out, paths, root):
        raise ValueError(f"out must not replace a picture, but {str(out)!r} is one")


def check_folder(out: Path, paths: Sequence[str], root: Path) -> None:
    """Refuse a folder that has something in it, and pictures that are not there."""
    _not_in_a_collection(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"out must be a new or an empty folder, got {str(out)!r}")
    missing = [path for path in paths if not _is_there(root, path)]
    if missing:
        raise ValueError(f"{len(missing)} pictures are not where they were: {missing[0]!r}, …")


def _not_in_a_collection(out: Path) -> None:
    store = Store.around(out)
    if store is not None:
        raise ValueError(f"out must not lie in the collection {store.folder}, got {str(out)!r}")


def _is_picture(out: Path, paths: Sequence[str], root: Path) -> bool:
    """Whether there is a picture already: by what it is, whatever it is called."""
    known = out.stat()
    for path in paths:
        with suppress(OSError):  # it may have gone
            if os.path.samestat((root / path).stat(), known):
                return True
    try:
        with pictures.quietly(), out.open("rb") as file:
            return bool(pictures.kind(file))
    except UnreadableError:
        return False


def _is_there(root: Path, path: str) -> bool:
    try:
        open_inside(root, path).close()
    except OSError:
        return False
    return True


def file_name(one: Found, count: int) -> str:
    """A name among ``count``: the rank keeps those of the same name apart, and in order."""
    return numbered(one.rank, count, one.path)


def numbered(number: int, most: int, path: str, ending: str | None = None) -> str:
    """A name with a number before it, and with another ending if one is given."""
    name = PurePosixPath(path)
    suffix = name.suffix if len(name.suffix) <= _SUFFIX else ""
    suffix = suffix if ending is None else ending
    stem = f"{number:0{len(str(most))}}-{name.stem}".encode()
    return f"{stem[: _NAME - len(suffix.encode())].decode(errors='ignore')}{suffix}"
