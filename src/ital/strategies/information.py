"""ITAL and joint entropy: the strategies of Barz, Kaeding and Denzler (GCPR 2018)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self, get_args

import numpy as np

from ital import gaussian
from ital.candidates import Candidates
from ital.checks import IntArray
from ital.gaussian import FloatArray
from ital.model import RelevanceModel
from ital.strategies import greedy
from ital.strategies.base import Strategy, by_place
from ital.strategies.measures import Objective, PaperInformation, information
from ital.strategies.registry import register
from ital.strategies.sampling import SampledBatch
from ital.user import UserModel

Posterior = Literal["paper", "exact"]


class InformationStrategy(Strategy):
    """Batches built greedily for the greatest value of an objective in nats."""

    largest_batch = 32

    def objective(self, model: RelevanceModel) -> Objective:
        """What is to be made as large as possible; the joint entropy H(R_u) by default."""
        return Objective(UserModel())

    def select(
        self, model: RelevanceModel, candidates: Candidates, k: int, rng: np.random.Generator
    ) -> IntArray:
        return greedy.select(model, candidates, self.objective(model), k)

    def select_with_utilities(
        self, model: RelevanceModel, candidates: Candidates, k: int, rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """Utilities are the objective's values; all of them, where ``select`` is lazy."""
        batch = self.select(model, candidates, k, rng)
        everything = np.asarray(candidates)
        selection = greedy.Greedy(model, everything, self.objective(model))
        values = [selection.values_after(batch[:place]) for place in range(len(batch))]
        return batch, by_place(np.stack(values), np.searchsorted(everything, batch))

    def score(self, model: RelevanceModel, batch: IntArray) -> float:
        """The objective's value in nats; sampled for batches of more than six images."""
        objective, head = self.objective(model), batch[: gaussian.MAX_DIMENSIONS]
        mean, cov = model.joint(head)
        table = gaussian.sign_probabilities(mean[None], cov[None])
        if len(batch) == len(head):
            return float(objective.values(mean[None], cov[None], table)[0])
        # The chain rule: what each further image adds to the information of those before it.
        told = float(information(table, len(head), objective.channel)[0])
        value = told
        for size in range(len(head), len(batch)):
            sampled = SampledBatch(model, batch[:size].tolist(), objective)
            values, gains = sampled.values(batch[[size]])
            value, told = told + float(values[0]), told + float(gains[0])
        return value


@register
@dataclass(frozen=True)
class Entropy(InformationStrategy):
    """The batch of the greatest joint entropy H(R_u) (section 4.2): ITAL's first term alone."""

    name = "entropy"
    summary = "The batch whose relevance is most uncertain as a whole."


@register
@dataclass(frozen=True)
class ITAL(InformationStrategy):
    """Information-Theoretic Active Learning: the greatest mutual information of relevance and
    answers, eq. (11), under a model of the user.

    ``posterior="paper"`` is eq. (11) with the process updated by the answers, eq. (9) for a perfect
    user. ``posterior="exact"`` is the mutual information by Bayes' rule, H(F) - sum_i H(F_i | R_i).
    ``user`` is that of the search if none is given.
    """

    user: UserModel | None = None
    posterior: Posterior = "paper"

    name = "ital"
    summary = (
        "The batch whose answers tell most about which pictures are relevant, for users "
        "who may skip or err."
    )

    def __post_init__(self) -> None:
        if self.posterior not in get_args(Posterior):
            raise ValueError(f"posterior must be 'paper' or 'exact', got {self.posterior!r}")
        if not isinstance(self.user, UserModel | None):
            raise TypeError(f"user must be a UserModel, got {self.user!r}")

    def for_user(self, user: UserModel) -> Self:
        return replace(self, user=user) if self.user is None else self

    def objective(self, model: RelevanceModel) -> Objective:
        user = self.user or UserModel()
        if self.posterior == "exact":
            return Objective(user)
        # H(R_u), which a perfect user tells, bounds the paper's form.
        return Objective(UserModel(), PaperInformation(user, model.noise))
