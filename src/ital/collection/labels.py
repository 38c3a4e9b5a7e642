"""Labels from elsewhere: tables of paths or identifiers, and folders of examples."""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import parquet

from ital.answers import Answer
from ital.checks import Identifier
from ital.collection.paths import inside
from ital.collection.scan import scan
from ital.search import Search

if TYPE_CHECKING:
    from ital.collection.collection import Collection

PATHS = ("path", "file", "filename", "file_name", "image")
IDS = ("id", "identifier")
KEYS = ("key", *IDS)
LABELS = ("label", "answer")
"""Names of columns that are looked for, in this order. Identifiers count where there is no path;
keys, where pictures have them, before paths."""

_HOLDS = "holds"
"""The column of a table of all that was said, in which some was said anew since, and some of
pictures that are not in the collection."""

MOST_ROWS = 1_000_000
"""Of a file."""

_MOST_BYTES, _ROWS_AT_ONCE = 1 << 28, 4096
"""Of a Parquet file that is not compressed any more, and what is read of it at a time."""

Rows = Iterator[tuple[str, Mapping[str, Any]]]
"""Rows by name of column, each with where it is in its file."""


def read(collection: Collection, file: Path) -> dict[int, Answer]:
    """What a file says of pictures of a collection, by identifier.

    Rows without a label say nothing. A file with anything wrong in it is refused as a whole.
    """
    _check_kind(str(file))
    if not file.is_file():
        raise ValueError(f"labels must be a file that is there, but {str(file)!r} is not")
    with file.open("rb") as opened:
        return parse(collection, str(file), opened)


def parse(collection: Collection, file: str, content: IO[bytes]) -> dict[int, Answer]:
    """What the content of a file says, of a kind that the end of its name tells."""
    kind = _check_kind(file)
    said: dict[int, tuple[str, Answer]] = {}
    place = ""
    try:
        rows = list(itertools.islice(_KINDS[kind](content), MOST_ROWS + 1))
        if len(rows) > MOST_ROWS:
            raise ValueError(f"it may have {MOST_ROWS:,} rows at the most")
        identify = _identifying(collection, [row for _, row in rows])
        for place, row in rows:
            if _HOLDS in row and (row[_HOLDS] in (False, "False") or not _path(row)):
                continue
            label = _value(row, LABELS, "a label")
            if label is None or label == "":
                continue
            answer, image = Answer.of(label, "label"), identify(row)
            where, before = said.setdefault(image, (place, answer))
            if before is not answer:
                raise ValueError(
                    f"the same picture is a {answer.value} here and a {before.value} in {where}"
                )
    except (ValueError, csv.Error, pa.ArrowException) as error:
        # What is wrong with the file as a whole is in no place of it.
        raise ValueError(f"{file!r}{place and f', {place}'}: {error}") from error
    if not said:
        raise ValueError(f"{file!r} must say something of pictures, but no row has a label")
    return {image: answer for image, (_, answer) in said.items()}


def _check_kind(file: str) -> str:
    kind = next((kind for kind in _KINDS if file.lower().endswith(kind)), None)
    if kind is None:
        raise ValueError(f"labels must end in {', '.join(_KINDS)}, got {file!r}")
    return kind


def pictures_in(folder: Path, name: str) -> list[Path]:
    """The files of a folder of examples, and of those below it."""
    if not folder.is_dir():
        raise ValueError(f"{name} must be a folder of pictures, got {str(folder)!r}")
    files = [folder / file.path for file in scan(folder)[0]]
    if not files:
        raise ValueError(f"{name} must be a folder of pictures, but {str(folder)!r} is empty")
    return files


def teach(
    search: Search, labels: Mapping[int, Answer], yes: Sequence[Any] = (), no: Sequence[Any] = ()
) -> None:
    """Add labels to a search, as examples that somebody chose, and further examples.

    They are not answers to questions, from which a search learns how rare relevant images are.
    """
    named = {answer: [i for i, one in labels.items() if one is answer] for answer in Answer}
    relevant, irrelevant = [*named[Answer.YES], *yes], [*named[Answer.NO], *no]
    if not search.events and not relevant and not irrelevant:
        raise ValueError("labels must have a yes or a no to begin a search with, but have none")
    before = search.events
    try:
        if relevant or irrelevant:
            search.query(relevant, irrelevant)
        search.answer(dict.fromkeys(named[Answer.UNSURE], Answer.UNSURE))
    except BaseException:
        search.replay(before)
        raise


def _identifying(
    collection: Collection, rows: Sequence[Mapping[str, Any]]
) -> Callable[[Mapping[str, Any]], int]:
    """What tells which picture a row is about."""
    if collection.keys is not None and any(name in row for row in rows for name in KEYS):

        def by_key(row: Mapping[str, Any]) -> int:
            key = str(_value(row, KEYS, "a key"))
            if key not in collection.by_key:
                raise ValueError(f"key must be that of a picture of the collection, got {key!r}")
            return collection.by_key[key]

        return by_key
    if any(name in row for row in rows for name in PATHS):
        texts = {_path(row) for row in rows}
        within = {text: inside(collection.root, text) for text in texts if text}
        known = collection.identifiers(path for path in within.values() if path is not None)

        def by_path(row: Mapping[str, Any]) -> int:
            path = _path(row)
            if not path:
                raise ValueError("there is no path")
            own = within[path]
            if own is None or own not in known:
                raise ValueError(f"path must be that of a picture of the collection, got {path!r}")
            return known[own]

        return by_path

    def by_identifier(row: Mapping[str, Any]) -> int:
        value = _value(row, IDS, "a path or an identifier")
        number = int(value) if str(value).strip().isdecimal() else -1
        if Identifier(number) not in collection.pool:
            raise ValueError(f"identifier must be that of a picture, got {value!r}")
        return number

    return by_identifier


def _path(row: Mapping[str, Any]) -> str:
    return str(_value(row, PATHS, "a path") or "")


def _value(row: Mapping[str, Any], names: Sequence[str], what: str) -> Any:
    for name in names:
        if name in row:
            return row[name]
    raise ValueError(f"{what} must be in a column {' or '.join(names)}, got {', '.join(row)}")


def _csv(file: IO[bytes]) -> Rows:
    content = file.read()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"it must be text in UTF-8, but line {line} is not") from error
    header = text.partition("\n")[0]
    mark = next((one for one in ",;\t" if one in header), ",")
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    try:
        names = [name.strip() for name in next(lines, [])]
        if len(names) < 2:
            raise ValueError(f"line 1 must name two columns or more, got {header!r}")
        for row in lines:
            if row and len(row) != len(names):
                raise ValueError(
                    f"line {lines.line_num} must have {len(names)} columns, got {len(row)}"
                )
            if row:
                yield f"line {lines.line_num}", dict(zip(names, row, strict=True))
    except csv.Error as error:
        raise ValueError(f"line {lines.line_num} must be CSV, but: {error}") from error


def _json(file: IO[bytes]) -> Rows:
    try:
        content = json.loads(file.read())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it must be JSON, but: {error}") from error
    if isinstance(content, dict):
        lists = [content[name] for name in ("pictures", "answers") if name in content]
        # Or else paths with their labels.
        content = (
            lists[0]
            if lists
            else [{"path": path, "label": label} for path, label in content.items()]
        )
    if not isinstance(content, list):
        raise ValueError("it must be a list of objects, or paths with labels")
    for number, row in enumerate(content, start=1):
        if not isinstance(row, dict):
            raise ValueError(f"item {number} must be an object, got {row!r}")
        yield f"item {number}", row


def _parquet(file: IO[bytes]) -> Rows:
    wanted = {*PATHS, *IDS, *LABELS, _HOLDS}
    with parquet.ParquetFile(file) as table:
        there = table.schema_arrow.names
        names = [name for name in there if name in wanted] or there[:1]
        described = table.metadata
        parts = [described.row_group(group) for group in range(described.num_row_groups)]
        if sum(part.total_byte_size for part in parts) > _MOST_BYTES:
            raise ValueError(f"it may have {_MOST_BYTES:,} bytes at the most, uncompressed")
    file.seek(0)
    # A text that is there a million times is held once.
    with parquet.ParquetFile(file, read_dictionary=names) as table:
        number = 0
        for batch in table.iter_batches(_ROWS_AT_ONCE, columns=names):
            for values in zip(*(_values(batch.column(name)) for name in names), strict=True):
                number += 1
                yield f"row {number}", dict(zip(names, values, strict=True))


def _values(column: pa.Array) -> list[Any]:
    if not pa.types.is_dictionary(column.type):
        return list(column.to_pylist())
    texts = column.dictionary.to_pylist()
    return [None if place is None else texts[place] for place in column.indices.to_pylist()]


_KINDS: dict[str, Callable[[IO[bytes]], Rows]] = {
    ".csv": _csv,
    ".json": _json,
    ".parquet": _parquet,
}
