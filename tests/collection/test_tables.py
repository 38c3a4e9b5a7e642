from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass

import pandas
import pyarrow as pa
from pyarrow import parquet

from ital.collection import tables


@dataclass(frozen=True)
class Row:
    id: int
    path: str | None
    probability: float | None
    holds: bool


ROWS = [Row(1, 'a,"ü".png', 0.1 + 0.2, True), Row(2, None, None, False)]


def test_csv():
    text = tables.to_csv(Row, ROWS)
    first, second = csv.DictReader(io.StringIO(text, newline=""))
    assert first == {
        "id": "1",
        "path": 'a,"ü".png',
        "probability": repr(0.1 + 0.2),
        "holds": "True",
    }
    assert second == {"id": "2", "path": "", "probability": "", "holds": "False"}
    assert tables.to_csv(Row, []) == "id,path,probability,holds\n"


def test_parquet_keeps_types_also_of_what_nobody_knows():
    for rows in (ROWS, ROWS[1:], []):
        table = parquet.read_table(io.BytesIO(tables.to_parquet(Row, rows)))
        assert table.schema.types == [pa.int64(), pa.string(), pa.float64(), pa.bool_()]
        assert [Row(**row) for row in table.to_pylist()] == rows
    frame = pandas.read_parquet(io.BytesIO(tables.to_parquet(Row, ROWS)))
    assert frame.path.isna().tolist() == [False, True]


def test_json(tmp_path):
    content = json.loads(tables.to_json("rows", ROWS, tmp_path))
    assert content == {"root": str(tmp_path), "rows": [vars(row) for row in ROWS]}
