"""Relevant images are rare: how rare, and where relevance begins, is learnt from the answers.

Under the prior of `prior.Conditioned` an image far from all labels is relevant with the probability
Phi((-1 - b) / (s deviation)), so that scale and border are the base rate by another name. Their
posterior is a sum over a grid. Its likelihood is that of the answers as each of them was foretold,
Phi(y (mean - b) / (s deviation)) given the labels before it: what labels left out say of each other
(leave-one-out) would be too sure of itself among images that were asked about because they are
uncertain. Its prior is on the number of relevant images: people look for tens or hundreds of them,
in a thousand images and in a million.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
from scipy import optimize, special

from ital import checks
from ital.gaussian import FloatArray
from ital.kernel import Kernel
from ital.pool import Pool
from ital.prior import EXPECTED, PAPER, Belief, Conditioned, Covariance, Evidence, Prior

BaseRate = float | Literal["learn"] | None
"""How many of all images are relevant: a share, what answers tell, or (``None``) not a question."""

SCALES = np.geomspace(0.1, 1.6, 13)
"""Values of s, in units of what makes the mean variance before the first label 1."""

_SMALL = 1e-12
"""Least variance."""

_FIXED = 0.02
"""How far, in logarithms, the number may be from a share that was given."""

_LEAST_OTHERS = 10.0
"""In small pools no more are expected than one in so many."""

_UNLIKELY = 1e-6
"""Weight below which a scale and a border are not worth looking at."""

_CAUTIOUS_PRIOR = 2 / 3
"""Power of the prior in draws: the number of relevant images varies by a fifth more."""

_CAUTIOUS_ANSWERS = 1 / 4
"""Power of the likelihood in draws: four answers, which is a batch, count as one."""

_LEAST_WORTH = 1e-3
"""Of an answer, below which it is hardly believed at all."""


@dataclass(frozen=True)
class Stance:
    """How much is taken for granted, and how much is left to the answers."""

    spread: float
    """The number of relevant images after the query is log-normal around ``EXPECTED``, so wide."""
    borders: FloatArray
    """Values of b: 0 lies half-way between an irrelevant image and a relevant one."""
    border_spread: float
    """The border is normal around 0 with this deviation."""
    least_doubt: float
    """No answer is foretold more surely than that, so that one surprise does not decide all."""
    half_life: float
    """Answers after which one counts half as much."""


ASKED = Stance(
    spread=1.0,
    borders=np.linspace(-0.6, 0.6, 13),
    border_spread=0.25,
    least_doubt=0.01,
    half_life=np.inf,
)
"""What questions go by: tens of images, a border about half-way, and all answers alike."""

TOLD = Stance(
    spread=1.5,
    borders=np.linspace(-0.9, 0.9, 19),
    border_spread=0.58,
    least_doubt=0.05,
    half_life=32.0,
)
"""What people are told: tens or hundreds of images, a border that varies as if it lay anywhere
between the labels alike, and recent answers more, of which none decides much by itself.
"""


def _rare(images: int, rate: float | None, stance: Stance) -> tuple[float, float]:
    """How many images are of the rarer kind, in the median, and the deviation of its logarithm."""
    if rate is None:
        return min(EXPECTED, images / _LEAST_OTHERS), stance.spread
    return images * min(rate, 1 - rate), _FIXED


@lru_cache(maxsize=64)  # until there is another query, it is asked for after every round
def _share(means: bytes, variances: bytes, scales: bytes, borders: bytes) -> FloatArray:
    """The mean over images of P(R = 1), a row for each scale and a column for each border."""
    mean, variance, s, b = (np.frombuffer(one) for one in (means, variances, scales, borders))
    deviations = np.sqrt(np.maximum(variance, _SMALL))
    certain = (mean - b[:, None]) / (s[:, None, None] * deviations)
    share: FloatArray = special.ndtr(certain).mean(axis=2)
    share.flags.writeable = False
    return share


def _recency(answers: int, half_life: float) -> FloatArray:
    """How much each of so many answers counts; their mean is 1."""
    weights: FloatArray = 0.5 ** (np.arange(answers)[::-1] / half_life)
    weights *= answers / max(weights.sum(), 1.0)
    return weights


@dataclass(frozen=True)
class Posterior:
    """Weights of scales and borders, which form a grid."""

    scales: FloatArray
    """Values of s."""
    borders: FloatArray
    """Values of b."""
    prior: FloatArray
    """Logarithms, but for a constant: a row for each scale and a column for each border."""
    likelihood: FloatArray
    """Of the answers, likewise."""

    @staticmethod
    def of(evidence: Evidence, rate: float | None, stance: Stance) -> Posterior:
        """Given the answers; with a ``rate``, the number of relevant images is all but given."""
        scales = SCALES / np.sqrt(max(evidence.prior_variance, _SMALL))
        grid = (evidence.means, evidence.variances, scales, stance.borders)
        share = _share(*(one.tobytes() for one in grid))
        s, b = scales[:, None, None], stance.borders[:, None]
        expected, spread = _rare(evidence.images, rate, stance)
        surprise = np.log(np.maximum(evidence.images * share, 1.0) / max(expected, 1.0)) / spread
        prior = -0.5 * (surprise**2 + (stance.borders / stance.border_spread) ** 2)
        deviations = np.sqrt(np.maximum(evidence.answer_variances, _SMALL))
        certain = evidence.answers * (evidence.answer_means - b) / (s * deviations)
        p = np.clip(evidence.p_mistake, stance.least_doubt, 1 - stance.least_doubt)
        foretold = np.log(p + (1 - 2 * p) * special.ndtr(certain))
        likelihood = foretold @ _recency(len(deviations), stance.half_life)
        return Posterior(scales, stance.borders, prior, likelihood)

    @property
    def weights(self) -> FloatArray:
        """They sum up to 1."""
        weights: FloatArray = special.softmax(self.prior + self.likelihood)
        return weights

    @property
    def cautious_weights(self) -> FloatArray:
        """What to draw from where it is to be told how far off all may be.

        As forecasts, answers are not independent, and no kernel is right: taken at their face
        value, intervals of 80 % would hold the truth in half of all searches.
        """
        weights: FloatArray = special.softmax(
            _CAUTIOUS_PRIOR * self.prior + _CAUTIOUS_ANSWERS * self.likelihood
        )
        return weights

    @property
    def centre(self) -> tuple[float, float]:
        """The geometric mean of s^2, and the mean of b."""
        weights = self.weights
        scale = np.exp(2 * weights.sum(axis=1) @ np.log(self.scales))
        return float(scale), float(weights.sum(axis=0) @ self.borders)


@dataclass(frozen=True)
class Rare(Prior):
    """Mean -1, an average over the pool of -1, and a belief of how rare relevant images are.

    ``rate`` is the part of all images that is relevant; learnt if ``None``.
    """

    rate: float | None = None

    def __post_init__(self) -> None:
        allowed = "'learn', a share between 0 and 1, or None"
        if self.rate is not None:
            rate = checks.number(self.rate, "base_rate", allowed, 0.0, 1.0)
            if not 0 < rate < 1:
                raise ValueError(f"base_rate must be {allowed}, got {self.rate!r}")
            object.__setattr__(self, "rate", rate)

    @property
    def base_rate(self) -> BaseRate:  # type: ignore[override]
        return "learn" if self.rate is None else self.rate

    def covariance(self, pool: Pool, kernel: Kernel) -> Covariance:
        return Conditioned.of(pool, kernel)

    @property
    def mean(self) -> float:  # type: ignore[override]
        """The label of what is common: where most images are relevant, the world is reversed."""
        return 1.0 if self.rate is not None and self.rate > 0.5 else -1.0

    def number(self, images: int) -> tuple[float, float]:
        median, spread = _rare(images, self.rate, ASKED)
        return (median if self.mean < 0 else images - median), spread

    def belief(self, evidence: Evidence) -> Belief:
        sign = -self.mean
        turned = replace(
            evidence,
            means=sign * evidence.means,
            answers=sign * evidence.answers,
            answer_means=sign * evidence.answer_means,
        )
        asked, told = (Posterior.of(turned, self.rate, stance) for stance in (ASKED, TOLD))
        scales, borders = np.meshgrid(asked.scales**2, sign * asked.borders, indexing="ij")
        weights = asked.cautious_weights
        likely = weights > _UNLIKELY
        weights = weights[likely] / weights[likely].sum()
        pairs = (tuple(one.tolist()) for one in (scales[likely], borders[likely], weights))
        (scale, border), (told_scale, told_border) = asked.centre, told.centre
        return Belief(scale, sign * border, told_scale, sign * told_border, *pairs)

    def along_ranking(self, probabilities: FloatArray) -> FloatArray:
        """Never rising: neighbours that disagree with their order share their mean, so that sums
        stay as they are (isotonic regression).
        """
        pooled: FloatArray = optimize.isotonic_regression(probabilities, increasing=False).x
        return pooled

    def reading(self, p_mistake: float, variance: float) -> tuple[float, float]:
        """A wrong answer has the other sign: its mean is (1 - 2 p) r, its variance 4 p (1 - p).

        That is in units of labels, in which the process has about the variance 1.
        """
        worth = 1 - 2 * p_mistake
        worth = np.copysign(max(abs(worth), _LEAST_WORTH), worth)
        return 1 / worth, variance * 4 * p_mistake * (1 - p_mistake) / worth**2


def prior_of(base_rate: BaseRate) -> Prior:
    """The prior for a base rate."""
    if base_rate is None:
        return PAPER
    return Rare() if isinstance(base_rate, str) and base_rate == "learn" else Rare(base_rate)
