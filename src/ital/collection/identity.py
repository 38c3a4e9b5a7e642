"""Which picture of a collection a file is: what stays, what moved, what is new, what has gone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ital.collection.scan import File


@dataclass(frozen=True, slots=True)
class Entry:
    """What a collection knows of a picture, without the picture."""

    id: int
    path: str
    hash: str
    size: int
    modified: int


@dataclass(frozen=True)
class Unsettled:
    """Files that are not as the collection has them, and entries whose files are not."""

    files: list[File]
    entries: list[Entry]


def unsettled(files: Iterable[File], entries: Sequence[Entry]) -> Unsettled:
    """Leave out all that has not changed: path, size and time are the same."""
    by_path = {file.path: file for file in files}
    left = []
    for entry in sorted(entries, key=lambda entry: entry.id, reverse=True):
        file = by_path.get(entry.path)
        if file is not None and (file.size, file.modified) == (entry.size, entry.modified):
            # Of two entries with one path, the later is of the file that is there: a crash came
            # between it and the entry of the file that was moved away.
            del by_path[entry.path]
        else:
            left.append(entry)
    return Unsettled(list(by_path.values()), left[::-1])


def claims(
    files: Sequence[File],
    hashes: Mapping[str, str],
    entries: Sequence[Entry],
    elsewhere: Sequence[Entry] = (),
    taken: Collection[int] = (),
) -> dict[str, int]:
    """Identifiers for those files that are pictures which the collection knows, by path.

    A file with the content of an entry is that picture, wherever it is now. One with new content
    at the path of an entry is that picture, changed, unless it has moved. ``elsewhere`` are entries
    under other models, whose pictures keep their identifiers under this one if these are not
    ``taken``.
    """
    claimed: dict[str, int] = {}
    free = {entry.id: entry for entry in entries}
    others = {entry.id: entry for entry in elsewhere if entry.id not in free}
    for identifier in taken:
        others.pop(identifier, None)
    for known in (free, others):
        by_content: dict[tuple[str, str], list[int]] = {}
        for entry in known.values():
            by_content.setdefault((entry.hash, entry.path), []).append(entry.id)
            by_content.setdefault((entry.hash, ""), []).append(entry.id)
        for anywhere in (False, True):
            for file in files:
                if file.path in claimed or file.path not in hashes:
                    continue
                key = (hashes[file.path], "" if anywhere else file.path)
                same = [one for one in by_content.get(key, ()) if one in known]
                if same:
                    claimed[file.path] = min(same)
                    del known[min(same)]
        by_path = {entry.path: entry.id for entry in known.values()}
        for file in files:
            if file.path not in claimed and file.path in by_path:
                claimed[file.path] = by_path[file.path]
                del known[by_path[file.path]]
    return claimed
