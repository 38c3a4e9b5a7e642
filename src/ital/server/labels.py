"""Labels that people bring in a file: they teach a search, or begin one."""

from __future__ import annotations

import hashlib
import threading
from typing import IO

from ital.answers import Answer
from ital.collection import labels
from ital.server import schemas
from ital.server.config import MEGABYTE
from ital.server.problems import RefusedError
from ital.server.searches import Searches, learn
from ital.server.served import ServedCollection

MOST_BYTES = 16 * MEGABYTE
"""Of a file. What it says takes several times as much while it is read."""

MOST_LABELS = 2000
"""As many pictures as a search can be begun with: each takes a row of numbers over all pictures."""


class Labels:
    """Files of paths or identifiers and labels, read as a whole or not at all."""

    def __init__(self, searches: Searches) -> None:
        self._searches = searches
        # Small files can be large tables. Many at once take memory, and no less time.
        self._turn = threading.Lock()

    def teach(
        self, search: str, name: str, file: IO[bytes], request: schemas.Change
    ) -> schemas.SearchState:
        """Add what a file says to a search, as one step: as examples, in the place of answers."""
        served = self._searches.memory.served(self._searches.collection_of(search))
        said, digest = self._read(served, name, file)
        return self._searches.change(
            search,
            request,
            f"labels {digest}",
            lambda session, row: learn(session, row, said, {}, "query"),
        )

    def begin(
        self, served: ServedCollection, name: str, file: IO[bytes], key: str | None
    ) -> schemas.SearchState:
        """A new search, named like the file, that begins with what that says."""
        said, digest = self._read(served, name, file)
        if not any(said.values()):
            raise RefusedError(f"{name!r} must have a yes or a no to begin a search with")
        title = name.rpartition(".")[0].strip()[:200] or None
        return self._searches.begin_with(served.id, title, said, key, digest)

    def _read(
        self, served: ServedCollection, name: str, file: IO[bytes]
    ) -> tuple[dict[str, int], str]:
        """What a file says of pictures, and its digest."""
        with self._turn:
            digest = hashlib.sha256(file.read()).hexdigest()
            file.seek(0)
            try:
                said = labels.parse(served.collection, name, file)
            except ValueError as error:
                raise RefusedError(str(error)) from error
        if len(said) > MOST_LABELS:
            raise RefusedError(
                f"{name!r} may say something of {MOST_LABELS} pictures at the most, "
                f"but does of {len(said)}"
            )
        return {str(image): Answer.of(answer).number for image, answer in said.items()}, digest
