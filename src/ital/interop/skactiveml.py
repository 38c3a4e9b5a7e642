"""Every strategy of ours as a query strategy of scikit-activeml. Needs ``ital[skactiveml]``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ital import strategies
from ital.baserate import BaseRate, prior_of
from ital.checks import IntArray, Row
from ital.extras import needed_for
from ital.gaussian import FloatArray
from ital.kernel import Kernel
from ital.model import RelevanceModel
from ital.pool import Pool
from ital.strategies import Strategy
from ital.user import UserModel

with needed_for("ital.interop.skactiveml"):
    from skactiveml.base import SingleAnnotatorPoolQueryStrategy
    from skactiveml.utils import MISSING_LABEL, is_labeled


class RelevanceQueryStrategy(SingleAnnotatorPoolQueryStrategy):  # type: ignore[misc]
    """Asks about the samples that a strategy of ours chooses, under our model of relevance.

    Args:
        strategy: a name out of ``ital.strategies.names()``, a pair of a name and parameters, or an
            instance.
        user: how the annotator answers, for the strategies that model it.
        length_scale: the kernel's length scale; the median distance of two samples if ``None``.
        variance: the kernel's variance.
        noise: the variance of the noise on labels.
        base_rate: how many of all samples are relevant, as in ``ital.Search``.
        classes: the irrelevant and the relevant class. If ``None``, those of ``y`` in their order;
            a single one is the relevant one.
        missing_label: what stands in ``y`` for a label that is not known.
        random_state: for strategies that draw at random.

    """

    def __init__(
        self,
        strategy: str | tuple[str, Mapping[str, Any]] | Strategy = strategies.DEFAULT,
        user: UserModel | None = None,
        length_scale: float | None = None,
        variance: float = 1.0,
        noise: float = 1e-6,
        base_rate: BaseRate = "learn",
        classes: npt.ArrayLike | None = None,
        missing_label: Any = MISSING_LABEL,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(missing_label=missing_label, random_state=random_state)
        self.strategy = strategy
        self.user = user
        self.length_scale = length_scale
        self.variance = variance
        self.noise = noise
        self.base_rate = base_rate
        self.classes = classes

    def query(
        self,
        X: npt.ArrayLike,  # noqa: N803
        y: npt.ArrayLike,
        candidates: npt.ArrayLike | None = None,
        batch_size: int = 1,
        return_utilities: bool = False,
    ) -> IntArray | tuple[IntArray, FloatArray]:
        """Indices of the samples in ``X`` to ask about, the first the most wanted.

        Candidates are given by index, or are all unlabelled samples. They are what a strategy takes
        for the unlabelled samples, also where its formula speaks of all of these. Utilities have
        the shape (batch, samples) and are NaN for samples that are no candidates, were chosen
        before, or were not looked at by a strategy that takes a random sample.
        """
        features, labels, chosen_from, k, return_utilities = self._validate_data(
            X, y, candidates, batch_size, return_utilities, check_X_dict={}
        )
        _, mapping = self._transform_candidates(
            chosen_from, features, labels, enforce_mapping=True, allow_only_unlabeled=True
        )
        if self.user is not None and not isinstance(self.user, UserModel):
            raise TypeError(f"user must be a UserModel, got {self.user!r}")
        strategy = strategies.create(self.strategy).for_user(self.user or UserModel())
        model = self._model(features, labels)
        # Negative indices count from the end.
        indices = np.unique(mapping % len(features))
        k = min(k, len(indices))
        strategy.check_size(k, "batch_size")
        rng = np.random.default_rng(self.random_state_.randint(2**31, size=4))
        utilities = np.full((k, len(features)), np.nan)
        if not k:
            batch = np.empty(0, dtype=np.int64)
        elif return_utilities:
            batch, utilities[:, indices] = strategy.select_with_utilities(model, indices, k, rng)
        else:
            batch = strategy.select(model, indices, k, rng)
        return (batch, utilities) if return_utilities else batch

    def _model(self, features: npt.NDArray[Any], y: npt.NDArray[Any]) -> RelevanceModel:
        """The relevance model, fitted to the labels that there are."""
        pool = Pool(features.astype(float) if features.dtype.kind == "b" else features)
        kernel = Kernel.over(pool, self.length_scale, self.variance, self.noise)
        model = RelevanceModel(pool, kernel, prior_of(self.base_rate))
        labelled = np.flatnonzero(is_labeled(y, self.missing_label_))
        found = np.unique(y[labelled])
        classes = found if self.classes is None else np.asarray(self.classes)
        fit = classes.ndim == 1 and len(classes) == len(np.unique(classes)) <= 2
        if not fit or not np.isin(found, classes).all():
            raise ValueError(
                "classes must be the irrelevant and the relevant class, with no other in y; got "
                f"{classes.tolist()!r}, and {found.tolist()!r} in y"
            )
        if labelled.size:
            # In the order of a search: what is looked for comes first, and the rest are answers.
            relevant = y[labelled] == classes[-1]
            first = Row(int(labelled[np.argmax(relevant)]))
            order = [first, *(Row(int(i)) for i in labelled if i != first)]
            labels = dict(zip(labelled.tolist(), np.where(relevant, 1, -1).tolist(), strict=True))
            model.update({i: labels[i] for i in order}, examples=[first])
        return model
