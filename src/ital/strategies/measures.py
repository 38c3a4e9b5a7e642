"""What the answers to a batch tell: eq. (11) in the paper's form and in the exact one.

Both start from the batch's table of sign-pattern probabilities P(R_u = r). The factor 2^(n-k) of
eq. (11) is the same for all batches and left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from ital import gaussian
from ital.gaussian import FloatArray
from ital.user import ANSWERS, UserModel

SMALL = 1e-12
"""Stands inside every logarithm of the paper's form, as in the published code."""

TIE = 1e-9
"""Values closer than this, in nats, count as equal: the lower index wins."""

_NEGLIGIBLE = 1e-12
"""Nats by which a value may be off where bounds stand for probabilities."""

_CHUNK = 1 << 17
"""Elements of a table over rows, answers and signs at a time."""


def information(table: FloatArray, dimensions: int, user: UserModel) -> FloatArray:
    """I(R; F) = H(F) - sum_i H(F_i | R_i), row by row.

    This is the exact mutual information: P(R | F) is Bayes' rule and needs no update of the
    process. It is H(R) for a perfect user and 0 for one who answers at random.
    """
    if user.is_perfect:
        return gaussian.entropy(table, dimensions)
    for axis in range(table.ndim - dimensions, table.ndim):
        table = np.moveaxis(np.tensordot(table, user.channel, axes=(axis, 1)), -1, axis)
    # Both columns of the channel hold the same three numbers, so the noise does not depend on R.
    noise = dimensions * gaussian.entropy(user.channel[:, 0])
    return gaussian.entropy(table, dimensions) - noise


@dataclass(frozen=True)
class PaperInformation:
    """Eq. (11) as the paper has it: P(R | F) is the process updated with the answers as if true.

    For a perfect user it is eq. (9). It never exceeds H(R_u), and is no mutual information when
    the user errs: an answer that contradicts the truth costs about log(1e-12) nats.
    """

    user: UserModel
    noise: float

    def values(
        self, mean: FloatArray, cov: FloatArray, table: FloatArray, worth: float | None = None
    ) -> FloatArray:
        """Values of batches, row by row.

        If there is a ``worth``, those that exceed neither it nor the best may be upper bounds.
        """
        rows, d = mean.shape
        bounds = np.empty(rows)
        step = max(1, _CHUNK // 4**d)
        for part in (slice(lo, lo + step) for lo in range(0, rows, step)):
            bounds[part] = self._values(mean[part], cov[part], table[part], _least_marginal)
        values = bounds
        # Bounds are close to values: those that come first soon rule out the rest.
        order = np.argsort(-bounds, kind="stable")
        step = max(1, step // 8)
        for best in (order[lo : lo + step] for lo in range(0, rows, step)):
            if worth is not None and bounds[best[0]] <= worth:
                break
            values[best] = self._values(mean[best], cov[best], table[best], _sharpened)
            if worth is not None:
                # What is left a bound must not come out as a tie with the best value.
                worth = max(worth, float(values[best].max()) - 2 * TIE)
        return values

    def _values(
        self, mean: FloatArray, cov: FloatArray, table: FloatArray, probabilities: Probabilities
    ) -> FloatArray:
        rows, d = mean.shape
        prior = table.reshape(rows, 1, -1)
        total: FloatArray = -np.sum(prior * np.log(prior + SMALL), axis=(1, 2))
        for answered, share in self._answered(d):
            after = posterior(mean, cov, answered, self.noise)
            weights = share * prior * self._answer_weights(answered, d)
            total += np.sum(weights * np.log(probabilities(*after, weights) + SMALL), axis=(1, 2))
        return total

    def _answered(self, d: int) -> Iterator[tuple[list[int], float]]:
        """The sets of images that may get an answer, each with its probability if not 0."""
        for count in range(d + 1):
            share = self.user.p_label**count * (1 - self.user.p_label) ** (d - count)
            if share > 0:
                yield from ((list(chosen), share) for chosen in combinations(range(d), count))

    def _answer_weights(self, answered: list[int], d: int) -> FloatArray:
        """P(F = f | R = r, answered), a row for each answer and a column for each sign pattern."""
        mistake = self.user.p_mistake
        agree = np.array(_patterns(len(answered)))[:, None] == np.array(_patterns(d))[:, answered]
        weights: FloatArray = np.where(agree, 1 - mistake, mistake).prod(axis=2)
        return weights


@dataclass(frozen=True)
class Objective:
    """The value of a batch, and the information that bounds it."""

    channel: UserModel
    """The user whose answers' information is the bound, and without ``paper`` the value."""
    paper: PaperInformation | None = None

    def values(self, mean: FloatArray, cov: FloatArray, table: FloatArray) -> FloatArray:
        """Values of batches, row by row."""
        if self.paper is None:
            return information(table, mean.shape[1], self.channel)
        return self.paper.values(mean, cov, table)


Probabilities = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""From posterior means (rows, answers, d), covariances (rows, d, d) and weights of the result."""


def posterior(
    mean: FloatArray, cov: FloatArray, answered: list[int], noise: float
) -> tuple[FloatArray, FloatArray]:
    """The process after each possible answer to some images of the batch, in closed form.

    With S = cov + noise on the answered images: mean' = mean + cov S^-1 (f - mean) and
    cov' = cov - cov S^-1 cov. Means have the shape (rows, answers, d), covariances (rows, d, d).
    """
    if not answered:
        return mean[:, None], cov
    part = cov[:, answered][:, :, answered] + noise * np.eye(len(answered))
    gain = np.linalg.solve(part, cov[:, answered]).swapaxes(1, 2)
    answers = np.array(_patterns(len(answered)), dtype=float)
    surprise = answers[None] - mean[:, None, answered]
    after = cov - gain @ cov[:, answered]
    # cov S^-1 noise is the same number for the answered columns, without the cancellation.
    after[:, :, answered] = noise * gain
    after[:, answered, :] = noise * gain.swapaxes(1, 2)
    return mean[:, None] + surprise @ gain.swapaxes(1, 2), after


def _patterns(d: int) -> list[tuple[int, ...]]:
    """All sign patterns in the order of a table's elements."""
    return list(product((ANSWERS[0], ANSWERS[-1]), repeat=d))


def _marginals(mean: FloatArray, cov: FloatArray) -> Iterator[FloatArray]:
    """P(the sign that each pattern has in one dimension), dimension by dimension."""
    d = mean.shape[-1]
    variance = np.diagonal(cov, axis1=1, axis2=2)[:, None]
    signs = np.array(_patterns(d), dtype=float)
    for j in range(d):
        both = [gaussian.positive_probability(s * mean[..., j], variance[..., j]) for s in (-1, 1)]
        yield np.where(signs[:, j] > 0, both[1][..., None], both[0][..., None])


def _least_marginal(mean: FloatArray, cov: FloatArray, weights: FloatArray) -> FloatArray:
    """The upper bound P(R = r) <= min_i P(R_i = r_i)."""
    least = np.ones(())
    for marginal in _marginals(mean, cov):
        least = np.minimum(least, marginal)
    return least


def _sharpened(mean: FloatArray, cov: FloatArray, weights: FloatArray) -> FloatArray:
    """P(R = r | F = f). Orthants are integrated only where bounds do not decide.

    Where noise is small an answer settles its sign, so that P is between 1 - sum_i P(R_i != r_i)
    and min_i P(R_i = r_i) with nothing in between.
    """
    upper = _least_marginal(mean, cov, weights)
    doubt = np.zeros(())
    for marginal in _marginals(mean, cov):
        doubt = doubt + (1 - marginal)
    lower = np.maximum(1 - doubt, 0.0)
    loss = weights * (np.log(upper + SMALL) - np.log(lower + SMALL))
    rows, answers = np.nonzero(loss.sum(axis=2) > _NEGLIGIBLE)
    if rows.size:
        exact = gaussian.sign_probabilities(mean[rows, answers], cov[rows])
        upper[rows, answers] = exact.reshape(rows.size, -1)
    return upper
