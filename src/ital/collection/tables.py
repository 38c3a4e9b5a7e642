"""Rows of one kind as a table for other programs: CSV, JSON and Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pyarrow as pa
from pyarrow import parquet

_TYPES = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}


def to_csv(kind: type, rows: Sequence[Any]) -> str:
    """A line for each row, under the names of the fields of its class; blanks for ``None``."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(field.name for field in fields(kind))
    writer.writerows([_plain(value) for value in vars(one).values()] for one in rows)
    return stream.getvalue()


def to_json(name: str, rows: Sequence[Any], root: Path) -> str:
    """A list of objects, with the folder from which their paths go on."""
    return json.dumps({"root": str(root.resolve()), name: [vars(one) for one in rows]})


def to_parquet(kind: type, rows: Sequence[Any]) -> bytes:
    """A column for each field, in its own type, also where all of it is unknown."""
    schema = pa.schema([(name, _type(hint)) for name, hint in get_type_hints(kind).items()])
    stream = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist([vars(one) for one in rows], schema), stream)
    return stream.getvalue()


def _plain(value: Any) -> Any:
    """A text that begins like a formula would be taken for one by spreadsheets."""
    formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"./{value}" if formula else value


def _type(hint: Any) -> pa.DataType:
    """Of ``int``, or of ``int | None``, and so on."""
    (kind,) = [one for one in getattr(hint, "__args__", (hint,)) if one is not type(None)]
    return _TYPES[kind]
