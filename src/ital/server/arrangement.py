"""Which results are looked at, and in which order."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal

import numpy as np

from ital.checks import IntArray
from ital.collection import Collection
from ital.ranking import Ranking

Sort = Literal["probability", "taken", "name"]


@dataclass(frozen=True)
class Arrangement:
    """What is asked of results: as they are, if nothing is."""

    sort: Sort = "probability"
    threshold: float | None = None
    """The least probability."""
    folder: str | None = None
    """Where pictures are, or in a folder within; its path from that of the collection on."""
    first: date | None = None
    last: date | None = None
    """The days on which pictures were taken."""

    def places(self, ranking: Ranking, collection: Collection) -> IntArray:
        """Which places of the ranking are shown, in the order in which they are."""
        places = np.arange(len(ranking.rows))
        if self.threshold is not None:
            places = places[: ranking.above(self.threshold)]
        if self.folder:
            within = f"{self.folder.rstrip('/')}/"
            paths = (collection.paths[row] for row in ranking.rows[places].tolist())
            places = places[[path.startswith(within) for path in paths]]
        if self.first is not None or self.last is not None:
            taken = collection.taken[ranking.rows[places]]
            known = taken >= 0
            if self.first is not None:
                known &= taken >= _nanoseconds(self.first)
            if self.last is not None:
                known &= taken < _nanoseconds(self.last + timedelta(days=1))
            places = places[known]
        if self.sort == "taken":  # the latest first, and of the same moment the more likely
            latest = np.argsort(-collection.taken[ranking.rows[places]], kind="stable")
            return places[latest]
        if self.sort == "name":
            names = [collection.paths[row] for row in ranking.rows[places].tolist()]
            return places[sorted(range(len(names)), key=names.__getitem__)]
        return places


def _nanoseconds(day: date) -> int:
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return int(midnight.timestamp()) * 10**9
