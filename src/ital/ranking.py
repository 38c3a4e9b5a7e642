"""The largest values, with ties to the lower index."""

from __future__ import annotations

import numpy as np

from ital.checks import IntArray
from ital.gaussian import FloatArray


def largest(values: FloatArray, count: int | None = None) -> IntArray:
    """Indices of the ``count`` largest values, or of all, in falling order."""
    if count is None or 8 * count >= len(values):
        order: IntArray = np.argsort(-values, kind="stable")[:count]
        return order
    threshold = np.partition(values, len(values) - count)[len(values) - count]
    above = np.flatnonzero(values > threshold)
    equal = np.flatnonzero(values == threshold)[: count - above.size]
    return np.append(above[np.argsort(-values[above], kind="stable")], equal)
