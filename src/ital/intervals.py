"""What is expected, from where to where it may be, and exact bounds from a sample."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

_ROUNDING = 1e-9
"""By which part of itself a probability may be off. What lies within it of the border counts as
possible, so that no rounding makes an interval too short."""


@dataclass(frozen=True)
class Estimate:
    """What is expected, and from where to where it may be."""

    value: float
    low: float
    high: float

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(self.value + other.value, self.low + other.low, self.high + other.high)

    @property
    def width(self) -> float:
        return self.high - self.low

    def over(self, count: int) -> Estimate:
        """A number out of so many, as a part of them; all, out of none."""
        if not count:
            return EVERYTHING
        return Estimate(self.value / count, self.low / count, self.high / count)


EVERYTHING = Estimate(1.0, 1.0, 1.0)
"""The part that all are of all, and nothing of nothing."""


def most(hits: int, draws: int, size: int, chance: float) -> int:
    """How many of a set of ``size`` may be relevant, if ``hits`` of ``draws`` from it were.

    That is the greatest number under which so few hits, or fewer, have at least this chance by the
    hypergeometric distribution. Whatever the true number is, it exceeds this with no more than that
    chance: where it does, the draw was one of those that have less.
    """
    from scipy.stats import hypergeom  # takes a second to import, and only audits need it

    threshold = chance * (1 - _ROUNDING)
    # From one number to the next the chance of so few hits only falls.
    possible = range(hits + 1, size - draws + hits + 1)
    return hits + bisect_left(
        possible, True, key=lambda number: hypergeom.cdf(hits, size, number, draws) < threshold
    )


def least(hits: int, draws: int, size: int, chance: float) -> int:
    """How many must be relevant: all but those that may be irrelevant, by the same."""
    return size - most(draws - hits, draws, size, chance)


def shared(chance: float, part: float) -> float:
    """The chance of an error that is left to one of several independent parts (Šidák).

    1 - (1 - chance)^part. Where the parts add up to 1, an error in any of them has this chance; by
    Bonferroni each would be left a little less.
    """
    return -math.expm1(part * math.log1p(-chance))
