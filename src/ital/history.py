"""The queries and answers of a search, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ital.answers import Answer
from ital.checks import Identifier
from ital.gaussian import FloatArray
from ital.pool import Pool
from ital.user import UserModel

_GIVEN = 8
"""Questions that count as answered, all of them rightly, before anything is known of a user."""


@dataclass(frozen=True)
class Asked:
    """How it came to an answer."""

    strategy: str | None
    """What chose the question; ``None`` if nobody asked."""
    probability: float | None
    """P(R = 1) when it was asked, or said unasked; ``None`` if that is not known."""


UNKNOWN = Asked(None, None)
"""Of queries, and of answers in files that did not tell."""


@dataclass(frozen=True)
class Event:
    """One query or one round of answers, which ``undo`` takes back as a whole."""

    kind: Literal["query", "answer"]
    labels: dict[Identifier, int]
    """1, -1, or 0 for unnameable, by what images are called."""
    vectors: dict[Identifier, FloatArray] = field(default_factory=dict)
    """The vectors from outside."""
    asked: dict[Identifier, Asked] = field(default_factory=dict)
    """How it came to answers, where that is known."""


def joined(answers: Sequence[Event]) -> Event:
    """Answers that were given one by one, as the round that they belong to."""
    labels: dict[Identifier, int] = {}
    asked: dict[Identifier, Asked] = {}
    for event in answers:
        labels |= event.labels
        asked |= event.asked
    return Event("answer", labels, asked=asked)


def outside(number: int) -> Identifier:
    """The name of a vector from outside: -1 for number 0, -2 for 1, and so on."""
    return Identifier(-1 - number)


def labels_of(answers: Any, pool: Pool) -> dict[Identifier, int]:
    """What a user says of images of a pool, by their names: 1, -1, or 0 for unsure."""
    if not isinstance(answers, Mapping):
        raise TypeError(f"answers must be a mapping from index to answer, got {answers!r}")
    return {
        pool.identifier(image, "image"): Answer.of(said, f"the answer to image {image}").number
        for image, said in answers.items()
    }


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
