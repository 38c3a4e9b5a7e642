"""The queries and answers of a search, in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ital.checks import Identifier
from ital.gaussian import FloatArray
from ital.pool import Pool
from ital.user import UserModel

_GIVEN = 8
"""Questions that count as answered, all of them rightly, before anything is known of a user."""


@dataclass(frozen=True)
class Event:
    """One query or one round of answers, which ``undo`` takes back as a whole."""

    kind: Literal["query", "answer"]
    labels: dict[Identifier, int]
    """1, -1, or 0 for unnameable, by what images are called."""
    vectors: dict[Identifier, FloatArray] = field(default_factory=dict)
    """The vectors from outside."""


def outside(number: int) -> Identifier:
    """The name of a vector from outside: -1 for number 0, -2 for 1, and so on."""
    return Identifier(-1 - number)


def labels_of(answers: Any, pool: Pool) -> dict[Identifier, int]:
    """What a user says of images of a pool, by their names: 1, -1, or 0 for cannot say."""
    if not isinstance(answers, Mapping):
        raise TypeError(f"answers must be a mapping from index to answer, got {answers!r}")
    return {
        pool.identifier(image, "image"): _label(image, answer) for image, answer in answers.items()
    }


def _label(image: Any, answer: Any) -> int:
    """1, -1 or 0. ``False`` is irrelevant while 0 is cannot say, so the type comes first."""
    if answer is None:
        return 0
    if isinstance(answer, (bool, np.bool_)):
        return 1 if answer else -1
    if isinstance(answer, (int, float, np.integer, np.floating)) and answer in (-1, 0, 1):
        return int(answer)
    raise ValueError(
        f"the answer to image {image} must be True, False or None (or 1, -1, 0), got {answer!r}"
    )


@dataclass
class History:
    """Events, and what they amount to."""

    events: list[Event] = field(default_factory=list)

    @property
    def labels(self) -> dict[Identifier, int]:
        """The latest label of every image, in the order in which images came to have one."""
        labels: dict[Identifier, int] = {}
        for event in self.events:
            for image, label in event.labels.items():
                if not labels.get(image):
                    labels.pop(image, None)  # what could not be judged before comes as if new
                labels[image] = label
        return labels

    @property
    def vectors(self) -> dict[Identifier, FloatArray]:
        """All vectors from outside, by name."""
        return {name: vector for event in self.events for name, vector in event.vectors.items()}

    @property
    def examples(self) -> set[Identifier]:
        """Images whose label is the person's own choice, and no answer to a question.

        An answer that says the same of an example once more leaves it one.
        """
        chosen: dict[Identifier, int] = {}
        for event in self.events:
            for image, label in event.labels.items():
                if event.kind == "query":
                    chosen[image] = label
                elif chosen.get(image) != label:
                    chosen.pop(image, None)
        return set(chosen)

    def next_name(self, taken: Mapping[Identifier, FloatArray]) -> Identifier:
        """The name for the next vector from outside."""
        names = [*taken, *self.vectors]
        return Identifier(min(names, default=outside(-1)) - 1)

    def user(self, contradictions: int = 0) -> UserModel:
        """A user who skips and errs as often as this one did so far.

        Mistakes are answers that were corrected later, and ``contradictions`` that still stand. At
        most every second answer is taken for one.
        """
        said: dict[Identifier, int] = {}
        answers = skips = corrections = 0
        for event in self.events:
            if event.kind == "answer":
                for image, label in event.labels.items():
                    corrections += said.get(image, label) * label == -1
                    skips += label == 0
                    answers += 1
            said |= event.labels
        given = answers - skips + _GIVEN
        mistakes = corrections + contradictions
        return UserModel(given / (answers + _GIVEN), min(0.5, mistakes / given))
