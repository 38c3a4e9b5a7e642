"""The relevance model as a classifier for scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ital.baserate import BaseRate, prior_of
from ital.checks import Row
from ital.gaussian import FloatArray, positive_probability
from ital.kernel import Kernel
from ital.model import RelevanceModel
from ital.pool import Pool


class RelevanceClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The Gaussian process of section 3.2 as a classifier of two classes, or of one.

    The second of the sorted classes is the relevant one: 1 out of (-1, 1) or (0, 1), True out of
    (False, True). Where there is but one class, that one is.

    Args:
        length_scale: the kernel's length scale; the median distance of two images if ``None``.
        variance: the kernel's variance.
        noise: the variance of the noise on labels.
        base_rate: how many of all images are relevant, as in ``ital.Search``: a part of them,
            ``"learn"``, or ``None`` if relevant ones are as common as others. The images to learn
            from stand for all.

    """

    def __init__(
        self,
        length_scale: float | None = None,
        variance: float = 1.0,
        noise: float = 1e-6,
        base_rate: BaseRate = None,
    ) -> None:
        self.length_scale = length_scale
        self.base_rate = base_rate
        self.variance = variance
        self.noise = noise

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:  # noqa: N803
        features, labels = validate_data(self, X, y)
        check_classification_targets(labels)
        self.classes_, number = np.unique(labels, return_inverse=True)
        if len(self.classes_) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"y must hold one or two classes, got {len(self.classes_)}"
            )
        pool = Pool(features.astype(float))
        kernel = Kernel.over(pool, self.length_scale, self.variance, self.noise)
        self.model_ = RelevanceModel(pool, kernel, prior_of(self.base_rate))
        relevant = number == len(self.classes_) - 1
        self.model_.update({Row(i): 1.0 if one else -1.0 for i, one in enumerate(relevant)})
        return self

    def decision_function(self, X: npt.ArrayLike) -> FloatArray:  # noqa: N803
        """Predictive means of relevance."""
        return self._predict(X)[0]

    def predict_proba(self, X: npt.ArrayLike) -> FloatArray:  # noqa: N803
        """P(R = 1), eq. (5), in the last column; of a single class, 1."""
        relevant = positive_probability(*self._predict(X))
        if len(self.classes_) == 1:
            return np.ones((len(relevant), 1))
        return np.column_stack([1 - relevant, relevant])

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:  # noqa: N803
        """The likelier class of each row."""
        relevant = self.decision_function(X) > 0
        predicted: npt.NDArray[Any] = self.classes_[np.where(relevant, len(self.classes_) - 1, 0)]
        return predicted

    def _predict(self, vectors: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        check_is_fitted(self)
        features: npt.NDArray[Any] = validate_data(self, vectors, reset=False)
        return self.model_.predict(features.astype(float))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
