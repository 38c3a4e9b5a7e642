"""The images of a ranking in three strata, and draws from them one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ital.checks import IntArray
from ital.gaussian import FloatArray
from ital.ranking import Ranking


@dataclass(frozen=True)
class Stratum:
    """Images that follow each other in a ranking, but for those that are known."""

    rows: IntArray
    expected: float
    """How many of them are relevant by what is believed: the sum of P(R = 1)."""

    def __len__(self) -> int:
        return len(self.rows)


def cut(ranking: Ranking, taken: int, known: npt.NDArray[np.bool_]) -> tuple[Stratum, ...]:
    """Three strata: the images that are taken, near misses, and all that is further below.

    Near misses are the first images below those that are taken, as many as it takes to hold half of
    what is believed to be missed. ``known`` says of each place in the ranking whether its image is
    known already, and hence in none of the strata.
    """
    unknown = np.flatnonzero(~known)
    above, below = np.split(unknown, [np.searchsorted(unknown, taken)])
    near, far = np.split(below, [_half(ranking.probabilities[below])])
    return tuple(
        Stratum(ranking.rows[places], float(ranking.probabilities[places].sum()))
        for places in (above, near, far)
    )


def _half(worth: FloatArray) -> int:
    """How many of the first hold half of the worth of all; half of them, where none has any."""
    reached = np.cumsum(np.maximum(worth, np.finfo(float).tiny))
    return int(np.searchsorted(reached, reached[-1] / 2)) + 1 if len(worth) else 0


def draws(strata: Sequence[Stratum], seed: int) -> Iterator[tuple[int, int]]:
    """The number of a stratum and one of its rows, again and again until no row is left.

    The strata take turns, whatever comes of it: those with nothing left are passed over.
    """
    turns = {
        number: _shuffled(stratum.rows, np.random.default_rng([seed, number]))
        for number, stratum in enumerate(strata)
    }
    while turns:
        for number, rows in list(turns.items()):
            row = next(rows, None)
            if row is None:
                del turns[number]
            else:
                yield number, row


def _shuffled(rows: IntArray, rng: np.random.Generator) -> Iterator[int]:
    """All rows in random order: the shuffle of Fisher and Yates, from which one may stop early.

    Only what has been moved is kept, so that a few draws from millions of rows cost no more.
    """
    moved: dict[int, int] = {}
    for place in range(len(rows)):
        other = int(rng.integers(place, len(rows)))
        yield int(rows[moved.get(other, other)])
        moved[other] = moved.pop(place, place)


def evenly_shared(total: int, sizes: Sequence[int]) -> list[int]:
    """How many of so many draws each of some sets gets, if they take turns until they are empty."""
    shares = list(sizes)
    for done, number in enumerate(sorted(range(len(sizes)), key=lambda one: sizes[one])):
        shares[number] = min(sizes[number], total // (len(sizes) - done))
        total -= shares[number]
    return shares
