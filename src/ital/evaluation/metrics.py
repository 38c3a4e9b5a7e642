"""Measures of retrieval and of probabilities, and the area under a curve of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.metrics import average_precision_score, ndcg_score

_LEAST = 1e-15
"""Probability, so that one that is wrong and sure of it costs 34.5 nats and not everything."""


def average_precision(relevant: npt.ArrayLike, scores: npt.ArrayLike) -> float:
    """Average precision of a ranking by falling scores."""
    return float(average_precision_score(np.asarray(relevant, dtype=bool), scores))


def ndcg(relevant: npt.ArrayLike, scores: npt.ArrayLike) -> float:
    """Normalised discounted cumulative gain of a whole ranking by falling scores."""
    return float(ndcg_score(np.asarray([relevant], dtype=float), np.asarray([scores])))


def brier(relevant: npt.ArrayLike, probabilities: npt.ArrayLike) -> float:
    """The mean of (p - r)^2, with r whether an image is relevant; 0 of no images."""
    errors = np.asarray(probabilities, dtype=float) - np.asarray(relevant, dtype=float)
    return float(errors @ errors / max(errors.size, 1))


def log_loss(relevant: npt.ArrayLike, probabilities: npt.ArrayLike) -> float:
    """The mean of -log of what the truth was given, 1e-15 at the least; 0 of no images."""
    chances = np.asarray(probabilities, dtype=float).clip(_LEAST, 1 - _LEAST)
    given = np.where(np.asarray(relevant, dtype=bool), chances, 1 - chances)
    return float(-np.log(given).sum() / max(given.size, 1))


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
