"""How well a strategy does: the retrieval protocol of the paper, and its measures."""

from ital.evaluation.metrics import area_under_curve, average_precision, published_area
from ital.evaluation.protocol import Round, feedback_rounds

__all__ = [
    "Round",
    "area_under_curve",
    "average_precision",
    "feedback_rounds",
    "published_area",
]
