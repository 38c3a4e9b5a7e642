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

BORDERS = np.linspace(-0.6, 0.6, 13)
"""Values of b: 0 lies half-way between an irrelevant image and a relevant one."""

_SPREAD = 1.0
"""The number of relevant images after the query is log-normal around ``EXPECTED``, so wide."""

_BORDER_SPREAD = 0.25
"""The border is normal around 0 with this deviation."""

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

_HALF_LIFE = 32.0
"""Answers after which one counts half as much in what is told: eight batches of four."""

_LEAST_DOUBT = 0.01
"""No answer is foretold more surely than that, so that one surprise does not decide all."""

_LEAST_WORTH = 1e-3
"""Of an answer, below which it is hardly believed at all."""


def _rare(images: int, rate: float | None) -> tuple[float, float]:
    """How many images are of the rarer kind, in the median, and the deviation of its logarithm."""
    if rate is None:
        return min(EXPECTED, images / _LEAST_OTHERS), _SPREAD
    return images * min(rate, 1 - rate), _FIXED


@lru_cache(maxsize=64)  # until there is another query, it is asked for after every round
def _share(means: bytes, variances: bytes, scales: bytes) -> FloatArray:
    """The mean over images of P(R = 1), a row for each scale and a column for each border."""
    mean, variance, s = (np.frombuffer(one) for one in (means, variances, scales))
    deviations = np.sqrt(np.maximum(variance, _SMALL))
    certain = (mean - BORDERS[:, None]) / (s[:, None, None] * deviations)
    share: FloatArray = special.ndtr(certain).mean(axis=2)
    share.flags.writeable = False
    return share


def _recency(answers: int) -> FloatArray:
    """How much each of so many answers counts in what is told; their mean is 1."""
    weights: FloatArray = 0.5 ** (np.arange(answers)[::-1] / _HALF_LIFE)
    weights *= answers / max(weights.sum(), 1.0)
    return weights


@dataclass(frozen=True)
class Posterior:
    """Weights of scales and borders, which form a grid."""

    scales: FloatArray
    """Values of s."""
    prior: FloatArray
    """Logarithms, but for a constant: a row for each scale and a column for each border."""
    likelihood: FloatArray
    """Of all answers, likewise."""
    recent: FloatArray
    """The same with answers that count the less the older they are, and as much together."""

    @staticmethod
    def of(evidence: Evidence, rate: float | None) -> Posterior:
        """Given the answers; with a ``rate``, the number of relevant images is all but given."""
        scales = SCALES / np.sqrt(max(evidence.prior_variance, _SMALL))
        share = _share(evidence.means.tobytes(), evidence.variances.tobytes(), scales.tobytes())
        s, b = scales[:, None, None], BORDERS[:, None]
        expected, spread = _rare(evidence.images, rate)
        surprise = np.log(np.maximum(evidence.images * share, 1.0) / max(expected, 1.0)) / spread
        prior = -0.5 * (surprise**2 + (BORDERS / _BORDER_SPREAD) ** 2)
        deviations = np.sqrt(np.maximum(evidence.answer_variances, _SMALL))
        certain = evidence.answers * (evidence.answer_means - b) / (s * deviations)
        p = np.clip(evidence.p_mistake, _LEAST_DOUBT, 1 - _LEAST_DOUBT)
        foretold = np.log(p + (1 - 2 * p) * special.ndtr(certain))
        return Posterior(scales, prior, foretold.sum(axis=2), foretold @ _recency(len(deviations)))

    @property
    def weights(self) -> FloatArray:
        """They sum up to 1."""
        return self._weights(self.likelihood)

    @property
    def recent_weights(self) -> FloatArray:
        """What probabilities are told by.

        The first answers surprise a model that knows next to nothing. What is to be told is how
        sure it is by now, of which the last ones are the better witnesses.
        """
        return self._weights(self.recent)

    @property
    def cautious_weights(self) -> FloatArray:
        """What to draw from where it is to be told how far off all may be.

        As forecasts, answers are not independent, and no kernel is right: taken at their face
        value, intervals of 80 % would hold the truth in half of all searches.
        """
        return self._weights(_CAUTIOUS_ANSWERS * self.likelihood, _CAUTIOUS_PRIOR)

    def _weights(self, likelihood: FloatArray, prior: float = 1.0) -> FloatArray:
        weights: FloatArray = special.softmax(prior * self.prior + likelihood)
        return weights

    def centre(self, weights: FloatArray) -> tuple[float, float]:
        """The geometric mean of s^2, and the mean of b."""
        scale = np.exp(2 * weights.sum(axis=1) @ np.log(self.scales))
        return float(scale), float(weights.sum(axis=0) @ BORDERS)


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
        median, spread = _rare(images, self.rate)
        return (median if self.mean < 0 else images - median), spread

    def belief(self, evidence: Evidence) -> Belief:
        sign = -self.mean
        turned = replace(
            evidence,
            means=sign * evidence.means,
            answers=sign * evidence.answers,
            answer_means=sign * evidence.answer_means,
        )
        posterior = Posterior.of(turned, self.rate)
        scales, borders = np.meshgrid(posterior.scales**2, sign * BORDERS, indexing="ij")
        weights = posterior.cautious_weights
        likely = weights > _UNLIKELY
        weights = weights[likely] / weights[likely].sum()
        pairs = (tuple(one.tolist()) for one in (scales[likely], borders[likely], weights))
        scale, border = posterior.centre(posterior.weights)
        told_scale, told_border = posterior.centre(posterior.recent_weights)
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
