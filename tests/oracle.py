"""The paper's equations, (3) to (11), written out literally and slowly with SciPy.

Nothing here is shared with the package: the kernel matrix is the whole one of eq. (4), every
probability is a multivariate normal distribution function from SciPy, and a posterior is a process
that is fitted anew to the extended labels. The bounds at the end are those of samples, by binomial
coefficients in whole numbers and by the Beta distribution.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import product
from math import comb, log

import numpy as np
from scipy.stats import beta, multivariate_normal, norm

SMALL = 1e-12


@dataclass
class Model:
    """A Gaussian process over all images, fitted to labels of some of them."""

    features: np.ndarray
    labels: dict[int, float]
    length_scale: float
    variance: float
    noise: float
    kernel: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.features)
        self.kernel = np.empty((n, n))
        for i in range(n):
            for j in range(n):
                distance = np.sum((self.features[i] - self.features[j]) ** 2)
                self.kernel[i, j] = self.variance * np.exp(-distance / (2 * self.length_scale**2))

    def updated(self, labels: dict[int, float]) -> Model:
        model = object.__new__(Model)
        model.__dict__.update(self.__dict__)
        model.labels = {**self.labels, **labels}
        return model

    def predict(self, batch: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Predictive mean and joint covariance of section 3.2 (Rasmussen and Williams, ch. 2)."""
        labelled = list(self.labels)
        y = np.array([self.labels[i] for i in labelled], dtype=float)
        k = self.kernel[np.ix_(labelled, labelled)] + self.noise * np.eye(len(labelled))
        cross = self.kernel[np.ix_(labelled, batch)]
        mean = cross.T @ np.linalg.solve(k, y)
        cov = self.kernel[np.ix_(batch, batch)] - cross.T @ np.linalg.solve(k, cross)
        return mean, (cov + cov.T) / 2


def sign_probability(
    mean: np.ndarray, cov: np.ndarray, r: tuple[int, ...], points: int = 20_000
) -> float:
    """Eq. (5) with the limits of eq. (6): P(r_i y_i > 0 for all i).

    By so many ``points`` at most; more would change what is compared by less than is allowed.
    """
    if len(r) == 1:
        return float(norm.cdf(r[0] * mean[0] / np.sqrt(max(cov[0, 0], 1e-300))))
    return _orthant(mean.tobytes(), cov.tobytes(), r, points)


@cache
def _orthant(mean: bytes, cov: bytes, r: tuple[int, ...], points: int) -> float:
    """Remembered, as equations and users that are compared ask for the same ones."""
    s = np.array(r, dtype=float)
    covariance = np.frombuffer(cov).reshape(len(s), len(s))
    return float(
        multivariate_normal.cdf(
            np.zeros(len(s)),
            mean=-s * np.frombuffer(mean),
            cov=covariance * np.outer(s, s),
            allow_singular=True,
            maxpts=points,
            abseps=1e-7,
            releps=1e-6,
            rng=np.random.default_rng(0),
        )
    )


def relevance_probability(model: Model, batch: list[int], r: tuple[int, ...]) -> float:
    """Eq. (10): the probability of a configuration depends on the batch alone."""
    return sign_probability(*model.predict(batch), r)


def answer_probability(
    f: tuple[int, ...], r: tuple[int, ...], p_label: float, p_mistake: float
) -> float:
    """Eq. (7) with eq. (8) for images of the batch."""
    probability = 1.0
    for fi, ri in zip(f, r, strict=True):
        if fi == 0:
            probability *= 1 - p_label
        elif fi != ri:
            probability *= p_label * p_mistake
        else:
            probability *= p_label * (1 - p_mistake)
    return probability


def mutual_information(
    model: Model, batch: list[int], p_label: float = 1.0, p_mistake: float = 0.0
) -> float:
    """Eq. (11) without its constant factor, P(R | F) being the updated process.

    With p_label = 1 and p_mistake = 0 all terms vanish but those of eq. (9).
    """
    k = len(batch)
    prior = {r: relevance_probability(model, batch, r) for r in product((-1, 1), repeat=k)}
    total = 0.0
    for f in product((-1, 0, 1), repeat=k):
        answered = {i: float(fi) for i, fi in zip(batch, f, strict=True) if fi != 0}
        predicted = None
        for r in product((-1, 1), repeat=k):
            weight = prior[r] * answer_probability(f, r, p_label, p_mistake)
            if weight > 0:
                if predicted is None:
                    predicted = model.updated(answered).predict(batch)
                posterior = sign_probability(*predicted, r)
                total += weight * (log(posterior + SMALL) - log(prior[r] + SMALL))
    return total


def exact_information(
    model: Model, batch: list[int], p_label: float = 1.0, p_mistake: float = 0.0
) -> float:
    """Eq. (3) over the batch with P(R | F) by Bayes' rule."""
    k = len(batch)
    prior = {r: relevance_probability(model, batch, r) for r in product((-1, 1), repeat=k)}
    total = 0.0
    for f in product((-1, 0, 1), repeat=k):
        evidence = sum(
            answer_probability(f, r, p_label, p_mistake) * prior[r]
            for r in product((-1, 1), repeat=k)
        )
        for r in product((-1, 1), repeat=k):
            likelihood = answer_probability(f, r, p_label, p_mistake)
            joint = likelihood * prior[r]
            if joint > 0:
                total += joint * log(likelihood / evidence)
    return total


def entropy(model: Model, batch: list[int]) -> float:
    """The joint entropy H(R_u) of section 4.2."""
    total = 0.0
    for r in product((-1, 1), repeat=len(batch)):
        p = relevance_probability(model, batch, r)
        if p > 0:
            total -= p * log(p)
    return total


def hits_probability(hits: int, draws: int, size: int, relevant: int) -> Fraction:
    """Of so many relevant images among those drawn from a set: the hypergeometric distribution."""
    ways = comb(relevant, hits) * comb(size - relevant, draws - hits)
    return Fraction(ways, comb(size, draws))


def possible_numbers(hits: int, draws: int, size: int, chance: float) -> tuple[list[int], ...]:
    """Numbers of relevant images with at least this chance of so many hits, or more; or fewer."""
    least = Fraction(chance) * Fraction(10**9 - 1, 10**9)
    chances = {
        number: [hits_probability(one, draws, size, number) for one in range(draws + 1)]
        for number in range(size + 1)
    }
    return (
        [number for number, of in chances.items() if sum(of[hits:]) >= least],
        [number for number, of in chances.items() if sum(of[: hits + 1]) >= least],
    )


def clopper_pearson(hits: int, draws: int, chance: float) -> tuple[float, float]:
    """The same for the part that is relevant of an endless set."""
    low = beta.ppf(chance, hits, draws - hits + 1) if hits else 0.0
    high = beta.isf(chance, hits + 1, draws - hits) if hits < draws else 1.0
    return float(low), float(high)
