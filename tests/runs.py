"""What runs of the evaluation leave on disk."""

from __future__ import annotations

from pathlib import Path


def files(folder: Path) -> dict[str, bytes]:
    """All that a run keeps, but for seconds."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.parent.name != "seconds"
    }


def count(folder: Path) -> int:
    """Queries that are finished."""
    return sum(path.read_bytes().count(b"\n") for path in (folder / "results").glob("*.jsonl"))
