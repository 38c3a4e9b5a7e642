"""Runs of the indexer: what they leave, and some in processes that may be killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from ital.collection import Model
from ital.collection.store import Store


def rows(folder: Path, model=None):
    """Everything in the table, by identifier."""
    store = Store.find(folder)
    table = store.table(model.fingerprint if model else store.about.current)
    return dict(sorted(table.rows([entry.id for entry in table.entries()]).items()))


def ids(folder: Path, model=None) -> dict[str, int]:
    return {row.path: row.id for row in rows(folder, model).values()}


def same_tables(one: Path, other: Path) -> None:
    """Every column of every row is the same."""
    first, second = rows(one), rows(other)
    assert list(first) == list(second)
    for identifier, row in first.items():
        twin = second[identifier]
        for name in ("path", "hash", "size", "modified"):
            assert getattr(row, name) == getattr(twin, name), (identifier, name)
        assert (row.content.width, row.content.height) == (twin.content.width, twin.content.height)
        assert row.content.thumbnail == twin.content.thumbnail
        np.testing.assert_array_equal(row.content.embedding, twin.content.embedding)


SCRIPT = """
import json, sys
from ital.collection import describe, indexer
indexer._COMMIT_ROWS = 4
indexer.BATCH = 2
folder, to, model, options = sys.argv[1:]
def report(progress):
    print(progress.done, flush=True)
print("ready", flush=True)
done = indexer.index(folder, to, describe(model), report=report, **json.loads(options))
print("end", len(done.skipped), flush=True)
"""


def command(folder: Path, to: Path, model: Model, **options: str) -> list[str]:
    """What indexes in a process of its own, in small steps, and says how far it has come."""
    return [sys.executable, "-c", SCRIPT, str(folder), str(to), model.name, json.dumps(options)]


def run_until(
    done: int, delay: float, folder: Path, to: Path, model: Model, **options: str
) -> bool:
    """Index in a process of its own, and kill that a moment after it has come so far.

    If that is less than nothing, a moment after it begins.
    """
    arguments = command(folder, to, model, **options)
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("end"):
                process.wait()
                assert process.returncode == 0
                return True
            if (line[0].isdigit() and int(line) >= done) or done < 0:
                time.sleep(delay)
                process.send_signal(signal.SIGKILL)
                break
    # It may have come to its end meanwhile; an end of any other kind is a failure.
    assert process.returncode in (0, -signal.SIGKILL)
    return process.returncode == 0
