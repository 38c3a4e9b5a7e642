"""The user model, eq. (7) and (8): how likely an answer is, given the truth.

Given the truth the answers of a batch are independent, eq. (7), so the channel of one answer says
all. An answer is +1 (relevant), -1 (irrelevant) or 0 (none).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ital import checks

FloatArray = npt.NDArray[np.float64]

ANSWERS = (-1, 0, 1)
"""The answers in the order of the channel's rows."""


@dataclass(frozen=True)
class UserModel:
    """A user who answers a share ``p_label`` of the questions, ``p_mistake`` of them wrongly."""

    p_label: float = 1.0
    p_mistake: float = 0.0

    def __post_init__(self) -> None:
        for name in ("p_label", "p_mistake"):
            object.__setattr__(self, name, checks.probability(getattr(self, name), name))

    @property
    def is_perfect(self) -> bool:
        """Answers everything, and always rightly: eq. (9) holds."""
        return self.p_label == 1 and self.p_mistake == 0

    @property
    def channel(self) -> FloatArray:
        """P(F_i = f | R_i = r) of eq. (8): a row for each answer -1, 0, 1, columns r = -1, 1."""
        right = self.p_label * (1 - self.p_mistake)
        wrong = self.p_label * self.p_mistake
        none = 1 - self.p_label
        return np.array([[right, wrong], [none, none], [wrong, right]])


USERS = {
    "perfect": UserModel(),
    "aggressive": UserModel(p_label=1.0, p_mistake=0.5),
    "conservative": UserModel(p_label=0.25, p_mistake=0.0),
    "blend": UserModel(p_label=0.5, p_mistake=0.25),
}
"""The users of section 4.5 by name."""


class SimulatedUser:
    """Answers drawn from a user model with a generator of its own."""

    def __init__(self, model: UserModel, seed: int | None = None) -> None:
        self.model = model
        self._rng = np.random.default_rng(seed)

    def answer(self, relevance: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Answers -1, 0 or 1 to images of a true relevance of -1, 1, or 0 (unnameable)."""
        truth = np.asarray(relevance)
        if not np.isin(truth, ANSWERS).all():
            raise ValueError(f"relevance must consist of -1, 0 and 1, got {relevance!r}")
        labelled = self._rng.random(truth.shape) < self.model.p_label
        mistaken = self._rng.random(truth.shape) < self.model.p_mistake
        return np.where(labelled, np.where(mistaken, -truth, truth), 0).astype(np.int64)
