"""Measures of retrieval: average precision, and the area under a curve of it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.metrics import average_precision_score, ndcg_score


def average_precision(relevant: npt.ArrayLike, scores: npt.ArrayLike) -> float:
    """Average precision of a ranking by falling scores."""
    return float(average_precision_score(np.asarray(relevant, dtype=bool), scores))


def ndcg(relevant: npt.ArrayLike, scores: npt.ArrayLike) -> float:
    """Normalised discounted cumulative gain of a whole ranking by falling scores."""
    return float(ndcg_score(np.asarray([relevant], dtype=float), np.asarray([scores])))


def area_under_curve(curve: npt.ArrayLike) -> float:
    """Area under a learning curve over rounds, between 0 and 1 (section 4.4)."""
    points = np.asarray(curve, dtype=float)
    return float(np.trapezoid(points) / (len(points) - 1))


def published_area(curve: npt.ArrayLike) -> float:
    """The area as the paper's tables have it: divided by the number of points, not of rounds.

    Its greatest possible value for 10 rounds is 10/11 = 0.909.
    """
    points = np.asarray(curve, dtype=float)
    return float(np.trapezoid(points) / len(points))
