"""Everything that was said in a search, and how it came to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ital.answers import Answer
from ital.checks import Identifier
from ital.collection import tables
from ital.collection.collection import Collection
from ital.collection.export import check_file
from ital.durable import write_whole
from ital.history import UNKNOWN
from ital.search import Search


@dataclass(frozen=True)
class Said:
    """One answer, or one example of a query."""

    round: int
    """0 for what the search began with."""
    kind: str
    """``query`` or ``answer``."""
    id: int | None
    """``None`` for a picture from outside."""
    path: str | None
    """From the folder of the collection on; ``None`` for pictures that are not in it."""
    label: str
    """The word of an ``Answer``."""
    holds: bool
    """Whether nothing else was said of the picture later."""
    strategy: str | None
    """What asked about it; ``None`` if nobody did, or if that is not known."""
    probability_then: float | None
    """P(R = 1) when it was asked."""
    probability_now: float | None


def said(collection: Collection, search: Search) -> list[Said]:
    """All that was said and not undone, in order."""
    pool = search.model.pool
    chances = search.model.told() if search.model.is_informed else None
    last = {image: number for number, one in enumerate(search.events) for image in one.labels}
    rows, rounds = [], 0
    for number, event in enumerate(search.events):
        rounds += event.kind == "answer"
        for image, label in event.labels.items():
            row = None if image < 0 else pool.row(Identifier(image))
            how = event.asked.get(image, UNKNOWN)
            rows.append(
                Said(
                    rounds,
                    event.kind,
                    None if image < 0 else image,
                    None if row is None else collection.paths[row],
                    Answer.of(label).value,
                    last[image] == number,
                    how.strategy,
                    how.probability,
                    None if row is None or chances is None else float(chances[row]),
                )
            )
    return rows


FILES: dict[str, Callable[[Sequence[Said], Path], str | bytes]] = {
    "csv": lambda rows, root: tables.to_csv(Said, rows),
    "json": lambda rows, root: tables.to_json("answers", rows, root),
    "parquet": lambda rows, root: tables.to_parquet(Said, rows),
}
"""In which files it can be written, by name."""


def write(kind: str, rows: Sequence[Said], root: Path, out: Path) -> None:
    """Write it to a file, which may replace an older one, but no picture."""
    if kind not in FILES:
        raise ValueError(f"format must be one of {', '.join(FILES)}, got {kind!r}")
    check_file(out, [one.path for one in rows if one.path is not None], root)
    write_whole(out, FILES[kind](rows, root))
