"""Batches too large for a table of all sign patterns: the batch so far is sampled.

What one more image i tells beside a batch A is an expectation over the answers F_A, or in the
paper's form over signs R_A and answers F_A. It is taken over draws from the model. For each draw
the latent vector y_A that goes with it is a set of weighted nodes from sequential conditioning (the
GHK simulator of Geweke, Hajivassiliou and Keane); given y_A the sign of image i is one univariate
probability. All candidates share the draws and nodes, so that their differences are far more exact
than the values themselves, and the draws are the same in every call.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from ital import gaussian
from ital.checks import IntArray
from ital.gaussian import FloatArray
from ital.model import RelevanceModel
from ital.strategies.measures import SMALL, Objective, PaperInformation, information
from ital.user import ANSWERS, UserModel

DRAWS = 256
"""Draws of answers. The standard error of a gain is at most log(2) / 2 / sqrt(DRAWS) = 0.022."""

NODES = 64
"""Latent vectors for each draw."""

_CHUNK = 1 << 20
"""Elements of a table over candidates, draws and nodes at a time."""

_JITTER = 1e-10
"""Least eigenvalue of a covariance, as a share of the largest."""

_UNANSWERED = 1e12
"""Noise, in units of the variance, that makes an answer say nothing."""

_LARGEST_EXPONENT = 500.0
"""Weights beyond its exponential would overflow; what they weigh is capped at 1 anyway."""

_SIGNS = UserModel()
"""Through its channel an answer is the sign itself."""


class SampledBatch:
    """Draws and nodes for one batch, which serve every candidate for the next place in it."""

    information = 0.0
    """Values and gains are those beyond the batch's own information, which is not computed."""

    def __init__(self, model: RelevanceModel, members: list[int], objective: Objective) -> None:
        self._model, self._members = model, np.array(members, dtype=np.int64)
        mean, cov = model.joint(self._members)
        m = len(mean)
        rng = np.random.default_rng(m)
        factor = _factor(cov)
        self._mean, self._cov, self._objective = mean, cov, objective
        self._precision = np.linalg.inv(factor @ factor.T)
        drawn = mean + rng.standard_normal((DRAWS, m)) @ factor.T
        signs = np.where(drawn > 0, 1, -1)
        user = objective.channel
        told = signs if user.is_perfect else _answers(signs, user, rng)
        likelihood = user.channel[told + 1]
        self._latent, weights = _ghk(mean, factor, likelihood, rng)
        # Among images that determine each other no node may fit a draw; the draw itself does.
        lost = weights.sum(axis=1) == 0
        self._latent[lost, 0], weights[lost, 0] = drawn[lost], 1.0
        self._weights = weights / weights.sum(axis=1, keepdims=True)
        if objective.paper is not None:
            self._prepare_paper(signs, objective.paper, rng)

    def values(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Values and gains of information, beyond those of the batch, of images put after it."""
        mean, variance = self._model.moments(rows)
        covariances = self._model.covariances(self._members, rows).T
        gains, values = np.empty(len(mean)), np.empty(len(mean))
        step = max(1, _CHUNK // (DRAWS * NODES))
        for part in (slice(lo, lo + step) for lo in range(0, len(mean), step)):
            shared = covariances[part]
            slope = shared @ self._precision
            own = np.maximum(variance[part] - np.einsum("ij,ij->i", slope, shared), 0.0)
            given = _given(self._latent, self._mean, mean[part], slope)
            positive = gaussian.positive_probability(given, own[:, None, None])
            probability = np.einsum("cdn,dn->cd", positive, self._weights)
            table = np.stack([1 - probability, probability], axis=-1)
            gains[part] = information(table, 1, self._objective.channel).mean(axis=1)
            values[part] = gains[part]
            if self._objective.paper is not None:
                values[part] += self._paper_term(
                    mean[part], shared, variance[part], slope, own, table
                )
        return values, gains

    def _prepare_paper(
        self, signs: npt.NDArray[np.int64], paper: PaperInformation, rng: np.random.Generator
    ) -> None:
        """Nodes for the signs under the process that was updated with the answers."""
        answers = _answers(signs, paper.user, rng)
        answered = answers != 0
        noise = np.where(answered, paper.noise, _UNANSWERED * self._cov.diagonal().max())
        noises = noise[:, :, None] * np.eye(len(self._mean))
        self._signs = signs
        self._answer_precision = np.linalg.inv(self._cov + noises)
        surprise = np.where(answered, answers - self._mean, 0.0)
        self._tilt = np.einsum("dij,dj->di", self._answer_precision, surprise)
        self._after_mean = self._mean + self._tilt @ self._cov
        gain = self._cov @ self._answer_precision
        after = self._cov - gain @ self._cov
        # As in `measures.posterior`: the answered columns without the cancellation.
        after = np.where(answered[:, None, :], paper.noise * gain, after)
        after = np.where(answered[:, :, None], paper.noise * gain.swapaxes(1, 2), after)
        self._after_variance = np.maximum(np.einsum("dii->di", after), 0.0)
        self._after_latent, self._after_weights = _ghk(
            self._after_mean,
            _factor((after + after.swapaxes(1, 2)) / 2),
            _SIGNS.channel[signs + 1],
            rng,
        )

    def _paper_term(
        self,
        mean: FloatArray,
        shared: FloatArray,
        variance: FloatArray,
        slope: FloatArray,
        own: FloatArray,
        table: FloatArray,
    ) -> FloatArray:
        """The expectation of log P(R_A, R_i | F_A, F_i) over all that is drawn or enumerated."""
        paper = self._objective.paper
        assert paper is not None
        given = _given(self._after_latent, self._mean, mean, slope)
        own, noise = own[:, None, None], paper.noise
        # The image and its covariances with the batch after the answers to the batch.
        expected = mean[:, None] + shared @ self._tilt.T
        known = np.einsum("dij,cj->cdi", self._answer_precision, shared)
        spread = np.maximum(variance[:, None] - np.einsum("ci,cdi->cd", shared, known), 0.0)
        linked = shared[:, None] - known @ self._cov
        total = np.zeros(len(mean))
        for row, answer in enumerate(ANSWERS):
            weights, latent, left = self._after_weights / NODES, given, own
            after = _After(expected, spread, self._after_mean[None], self._after_variance[None])
            if answer:
                # p(f_i | y_A) / p(f_i | f_A) weighs the nodes; then y_i given y_A and f_i.
                ratio = _log_density(answer - given, own + noise)
                ratio -= _log_density(answer - expected, spread + noise)[:, :, None]
                weights = weights * np.exp(np.minimum(ratio, _LARGEST_EXPONENT))
                latent = given + own / (own + noise) * (answer - given)
                left = own * noise / (own + noise)
                after = after.told(answer, linked, noise)
            for column, sign in enumerate((-1, 1)):
                share = paper.user.channel[row, column]
                if share > 0:
                    right = gaussian.positive_probability(sign * latent, left)
                    joint = (weights * right).sum(axis=2)
                    # Among images that determine each other the nodes miss what is certain.
                    joint = np.clip(joint, *after.limits(self._signs, sign))
                    total += (share * table[:, :, column] * np.log(joint + SMALL)).mean(axis=1)
        return total


@dataclass(frozen=True)
class _After:
    """Means and variances after answers, for candidates and draws: of the image, of the batch."""

    mean: FloatArray
    variance: FloatArray
    batch_mean: FloatArray
    batch_variance: FloatArray

    def told(self, answer: int, linked: FloatArray, noise: float) -> _After:
        """The same after one more answer, to the image; ``linked`` is its covariance with all."""
        gain = 1 / (self.variance + noise)
        surprise = (answer - self.mean) * gain
        return _After(
            self.mean + self.variance * surprise,
            self.variance * noise * gain,
            self.batch_mean + linked * surprise[:, :, None],
            np.maximum(self.batch_variance - linked**2 * gain[:, :, None], 0.0),
        )

    def limits(self, signs: npt.NDArray[np.int64], sign: int) -> tuple[FloatArray, FloatArray]:
        """What the single signs leave for the probability of all of them: least and greatest."""
        own = gaussian.positive_probability(sign * self.mean, self.variance)
        others = gaussian.positive_probability(signs * self.batch_mean, self.batch_variance)
        greatest = np.minimum(own, others.min(axis=2))
        least = np.maximum(own - (1 - others).sum(axis=2), 0.0)
        return least, np.maximum(greatest, least)


def _given(
    latent: FloatArray, mean: FloatArray, own_mean: FloatArray, slope: FloatArray
) -> FloatArray:
    """E(y_i | y_A) at every node, shape (candidates, draws, nodes)."""
    result: FloatArray = np.einsum("ci,dni->cdn", slope, latent - mean, optimize=True)
    result += own_mean[:, None, None]
    return result


def _log_density(distance: FloatArray, variance: FloatArray) -> FloatArray:
    """Of a normal distribution, up to a constant."""
    result: FloatArray = -0.5 * (distance**2 / variance + np.log(variance))
    return result


def _factor(cov: FloatArray) -> FloatArray:
    """A lower triangle whose square is the covariance, or the nearest one that has such a root.

    Rounding makes the covariance of images that determine each other indefinite, so that its
    eigenvalues are raised to a least one; QR turns any root of the result into a triangle.
    """
    values, vectors = np.linalg.eigh(cov)
    least = _JITTER * values[..., -1:] + np.finfo(float).tiny
    root = vectors * np.sqrt(np.maximum(values, least))[..., None, :]
    triangle: FloatArray = np.linalg.qr(root.swapaxes(-1, -2)).R.swapaxes(-1, -2)
    # Columns may come with either sign.
    signs = np.where(np.einsum("...ii->...i", triangle) < 0, -1.0, 1.0)
    result: FloatArray = triangle * signs[..., None, :]
    return result


def _answers(
    signs: npt.NDArray[np.int64], user: UserModel, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Answers drawn from the channel, given the signs."""
    below = np.cumsum(user.channel, axis=0)[:, (signs + 1) // 2]
    answers: npt.NDArray[np.int64] = (rng.random(signs.shape) >= below[:2]).sum(axis=0) - 1
    return answers


def _ghk(
    mean: FloatArray, factor: FloatArray, likelihood: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Weighted nodes of y ~ N(mean, factor factor') given answers, one dimension after the other.

    ``likelihood`` (draws, m, 2) is P(answer | sign) for a negative and a positive sign. The mean
    weight of a draw's nodes estimates the probability of its answers.
    """
    draws, m = likelihood.shape[:2]
    factor = np.broadcast_to(factor, (draws, m, m))
    mean = np.broadcast_to(mean, (draws, m))
    innovations = np.zeros((draws, NODES, m))
    weights = np.ones((draws, NODES))
    for j in range(m):
        before = np.einsum("dni,di->dn", innovations[:, :, :j], factor[:, j, :j])
        scaled = (mean[:, j, None] + before) / factor[:, j, j, None]
        # The probabilities of both signs, as the answer leaves them.
        minus, plus = special.ndtr(-scaled), special.ndtr(scaled)
        told_minus, told_plus = minus * likelihood[:, j, :1], plus * likelihood[:, j, 1:]
        weights *= told_minus + told_plus
        positive = rng.random(weights.shape) * (told_minus + told_plus) < told_plus
        tail = rng.random(weights.shape) * np.where(positive, plus, minus)
        quantile = special.ndtri(np.maximum(tail, np.finfo(float).tiny))
        innovations[:, :, j] = np.where(positive, -quantile, quantile)
    return mean[:, None] + np.einsum("dni,dji->dnj", innovations, factor, optimize=True), weights
