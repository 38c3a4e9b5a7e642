"""The order of values, and samples along it: pure functions on arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ital.checks import FloatArray, IntArray

_LEAST_WORTH = 1e-9
"""Of an image, so that all have a chance to be in a sample."""

_GROWTH = 4
"""Times as many values are computed each time that those before do not decide."""


def largest(values: FloatArray, count: int | None = None) -> IntArray:
    """Indices of the ``count`` largest values, or of all, in falling order; ties by the index."""
    if count is None or 8 * count >= len(values):
        return _falling(values)[:count]
    threshold = np.partition(values, len(values) - count)[len(values) - count]
    above = np.flatnonzero(values > threshold)
    equal = np.flatnonzero(values == threshold)[: count - above.size]
    return np.append(above[np.argsort(-values[above], kind="stable")], equal)


def largest_within(
    bounds: FloatArray, compute: Callable[[IntArray], FloatArray], count: int
) -> tuple[IntArray, FloatArray]:
    """Indices of the ``count`` largest of values that nobody has yet, and these values.

    None of them exceeds its bound, so that ``compute`` is asked for the values at a few indices
    only: those of the largest bounds, until the next bound is below all values that are taken.
    """
    size = min(4 * count, len(bounds))
    while True:
        tried = np.sort(largest(bounds, size))
        values = compute(tried)
        best = largest(values, count)
        if size == len(bounds) or bounds[tried].min() < values[best[-1]]:
            return tried[best], values[best]
        size = min(_GROWTH * size, len(bounds))


def _falling(values: FloatArray) -> IntArray:
    """All indices in falling order of their values, the lower of two equal ones first.

    NumPy sorts whole numbers four times as fast as it finds the order of values: an index takes the
    place of the last bits of its value, and where that made two values equal, they are put right.
    """
    bits = np.subtract(0.0, values, dtype=float).view(np.int64)  # zero has one sign now
    bits ^= (bits >> 63) & np.iinfo(np.int64).max  # the order of these is that of the values
    last = np.int64((1 << max(len(values) - 1, 0).bit_length()) - 1)
    bits &= ~last
    bits |= np.arange(len(values))
    bits.sort()
    order: IntArray = bits & last
    ordered = values[order]
    if np.any(ordered[1:] > ordered[:-1]):
        bits &= ~last
        again = bits[1:] == bits[:-1]
        # Places with a like one before or behind them, and which of the values each has.
        tied = np.flatnonzero(np.append(again, False) | np.append(False, again))
        value = np.cumsum(np.append(True, ~again))[tied]
        order[tied] = order[tied][np.lexsort((order[tied], -ordered[tied], value))]
    return order


def evenly(worth: FloatArray, count: int) -> tuple[IntArray, FloatArray]:
    """Places of at most ``count`` images, evenly along a ranking, and the chance that each had.

    Chances are in proportion to what an image is ``worth``, at most 1, and 1 for those that are
    worth most, so that sums over these places, divided by their chances, stand for sums over all.
    """
    if len(worth) <= count:
        return np.arange(len(worth)), np.ones(len(worth))
    certain, others = 0, np.maximum(worth, _LEAST_WORTH)
    while True:
        # What those that are in for certain leave is for the others.
        share = (count - certain) / others.sum()
        more = np.flatnonzero(others * share >= 1)
        if not more.size:
            break
        certain += more.size
        others[more] = 0.0
    chances = np.where(others > 0, others * share, 1.0)
    reached = np.floor(np.cumsum(chances) + 0.5)
    places = np.flatnonzero(np.diff(reached, prepend=0.0) > 0)
    return places, chances[places]
