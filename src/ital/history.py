"""The queries and answers of a search, in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ital.gaussian import FloatArray


@dataclass(frozen=True)
class Event:
    """One query or one round of answers, which ``undo`` takes back as a whole."""

    kind: Literal["query", "answer"]
    labels: dict[int, int]
    """1, -1, or 0 for unnameable, by index; by a negative number for a vector from outside."""
    vectors: dict[int, FloatArray] = field(default_factory=dict)
    """The vectors from outside."""


@dataclass
class History:
    """Events, and the labels that they amount to."""

    events: list[Event] = field(default_factory=list)

    @property
    def labels(self) -> dict[int, int]:
        """The latest label of every image."""
        labels: dict[int, int] = {}
        for event in self.events:
            labels.update(event.labels)
        return labels

    def next_name(self, taken: Mapping[int, FloatArray]) -> int:
        """The negative number for the next vector from outside."""
        return -1 - len(taken) - sum(len(event.vectors) for event in self.events)
