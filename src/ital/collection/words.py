"""What is looked for, in words: phrases that pictures should fit, and phrases that they should not.

The score of a picture is the mean of its likenesses to the former less the mean of those to the
latter. Models are taught by likenesses, which are log-odds but for a factor. So sums of them are
odds that a picture fits "a street" and "in the rain" and does not fit "at night". A sum of products
is a product with a sum: whatever is said, it is one direction in the space of the pictures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ital.collection.encoder import Vectors
from ital.gaussian import FloatArray

MOST = 16
"""Phrases at a time."""

_NOT = re.compile(r"not\s+(\S.*)", re.IGNORECASE | re.DOTALL)

_ROWS = 4096
"""Pictures that are compared with words at a time."""

Text = str | Sequence[str]
"""Phrases, or a line of them with commas in between."""


@dataclass(frozen=True)
class Words:
    """What pictures should fit, and what they should not."""

    wanted: tuple[str, ...]
    unwanted: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: Text) -> Words:
        """Of phrases, in which those that begin with "not" are what is not wanted.

        In a line, phrases have commas in between: ``"a street in the rain, not at night"``.
        """
        parts = text.split(",") if isinstance(text, str) else text
        if not isinstance(parts, Sequence) or not all(isinstance(one, str) for one in parts):
            raise TypeError(f"text must be a phrase, or several, got {text!r}")
        phrases = [" ".join(one.split()) for one in parts]
        phrases = [one for one in phrases if one]
        if not 1 <= len(phrases) <= MOST:
            raise ValueError(f"text must be 1 to {MOST} phrases, got {len(phrases)}")
        unwanted = [found[1] for one in phrases if (found := _NOT.fullmatch(one))]
        return cls(tuple(one for one in phrases if not _NOT.fullmatch(one)), tuple(unwanted))

    @property
    def phrases(self) -> tuple[str, ...]:
        """All of them, as they are given."""
        return (*self.wanted, *(f"not {one}" for one in self.unwanted))

    def direction(self, embed: Callable[[Sequence[str]], Vectors]) -> FloatArray:
        """Where pictures fit best, in the space of what makes vectors of phrases."""
        vectors = embed([*self.wanted, *self.unwanted]).astype(float)
        direction: FloatArray = np.zeros(vectors.shape[1])
        wanted, unwanted = np.split(vectors, [len(self.wanted)])
        if len(wanted):
            direction += wanted.mean(axis=0)
        if len(unwanted):
            direction -= unwanted.mean(axis=0)
        return direction


def likeness(features: Vectors, direction: FloatArray) -> FloatArray:
    """How far each vector reaches in a direction, a few at a time: they may be on disk."""
    result = np.empty(len(features))
    for start in range(0, len(features), _ROWS):
        result[start : start + _ROWS] = features[start : start + _ROWS].astype(float) @ direction
    return result
