"""How well a strategy does: the retrieval protocol of the paper, and its measures."""

from ital.evaluation.experiment import Result, Settings
from ital.evaluation.metrics import area_under_curve, average_precision, ndcg, published_area
from ital.evaluation.protocol import Round, feedback_rounds
from ital.evaluation.runner import evaluate

__all__ = [
    "Result",
    "Round",
    "Settings",
    "area_under_curve",
    "average_precision",
    "evaluate",
    "feedback_rounds",
    "ndcg",
    "published_area",
]
