"""Sign patterns of Gaussian vectors: their probabilities and entropies.

The relevance of an image is the sign of a Gaussian variable, so all that the paper asks of a batch,
eq. (5) and (6), are probabilities of orthants. A table of them has one axis of length two for each
dimension: index 0 is the negative sign, 1 the positive one.

Two dimensions have a closed form in Owen's T function (Owen 1956). More are reached one dimension
at a time by Plackett's identity (Plackett 1954). Scale the correlations r_jn of the last dimension,
n, by t; then, with h the standardised means and s the signs,

    dP/dt = sum_j s_j s_n r_jn phi2(h_j, h_n; t r_jn) P(the other signs | y_j = y_n = 0),

where the probability on the right has two dimensions fewer, and P is a product at t = 0. With
t = sin(theta) the integrand is analytic but for a layer at theta = pi/2, as thin as the last
dimension is close to a function of the others. Gauss-Legendre nodes reach rounding error where the
layer is thick; where it is thin, panels graded towards pi/2 follow it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from ital.checks import FloatArray as FloatArray

MAX_DIMENSIONS = 6
"""Tables of more dimensions are refused: the cost grows about tenfold with each."""

ENTROPY_RATE = 1 / (np.pi * np.log(2))
"""Gives ``sign_entropy`` the curvature of the entropy at 0."""

_FAR = 40.0
"""Phi(-40) underflows: a standardised mean beyond it is a sign that is certain."""

_CERTAIN = 9.0
"""Phi(-9) = 1e-19 is nothing beside 1: such a dimension cannot interact with another."""

_LEAST_VARIANCE = 1e-14
"""Conditional variances below this (of 1) are the rounding error of the conditioning."""

_COPY = 1e-11
"""Dimensions whose correlation is this close to 1 or -1 are one: that is off by 1e-6 at the most.

Conditioning on one of three that are closer would leave the rounding error of the other two."""

_CHUNK = 1 << 16
"""Elements of a temporary array: few enough for the cache, many enough for threads to pay off."""


class _Rule(NamedTuple):
    """Quadrature nodes for theta in [0, pi/2], for rows of at least that residual variance."""

    least_residual: float
    sin: FloatArray
    cos: FloatArray
    weights: FloatArray


def _gauss_rule(least_residual: float, points: int) -> _Rule:
    x, w = np.polynomial.legendre.leggauss(points)
    theta = np.pi / 4 * (1 + x)
    return _Rule(least_residual, np.sin(theta), np.cos(theta), np.pi / 4 * w)


def _graded_rule(points: int, panels: int, ratio: float) -> _Rule:
    """Gauss-Legendre panels that shrink by ``ratio`` towards pi/2, for any residual."""
    x, w = np.polynomial.legendre.leggauss(points)
    ends = np.pi / 2 * np.append(ratio ** -np.arange(panels, dtype=float), 0.0)
    half = -np.diff(ends)[:, None] / 2
    # The distance from pi/2 is the variable, so that cos(theta) = sin(distance) stays exact.
    distance = (ends[1:, None] + half * (1 + x)).ravel()
    return _Rule(0.0, np.cos(distance), np.sin(distance), (half * w).ravel())


_Rules = tuple[_Rule, ...]

FINE: _Rules = (
    _gauss_rule(0.9, 8),
    _gauss_rule(0.6, 12),
    _gauss_rule(0.12, 24),
    _graded_rule(10, 13, 4.0),
)
"""Rounding error where a Gauss rule serves, about 1e-9 where the graded one is needed."""

COARSE: _Rules = (_gauss_rule(0.7, 4), _gauss_rule(0.3, 6), _gauss_rule(0.12, 8), FINE[-1])
"""A third of the cost, for bounds that are raised by ``COARSE_ERROR``."""

COARSE_ERROR = 5e-5
"""Nats; the entropies of up to three dimensions are off by less than half of it."""


def bivariate(h: npt.ArrayLike, k: npt.ArrayLike, rho: npt.ArrayLike) -> FloatArray:
    """P(X <= h, Y <= k) for standard normal X and Y with correlation rho, element by element.

    The absolute error is below 1e-12 up to |rho| = 1 - 1e-12; at |rho| = 1 the limit is taken.
    """
    h, k, rho = np.broadcast_arrays(
        np.clip(np.asarray(h, dtype=float), -_FAR, _FAR),
        np.clip(np.asarray(k, dtype=float), -_FAR, _FAR),
        np.clip(np.asarray(rho, dtype=float), -1.0, 1.0),
    )
    both: FloatArray = _pair_table(h.ravel(), k.ravel(), rho.ravel())[1, 1].reshape(h.shape)
    return both


def positive_probability(mean: npt.ArrayLike, variance: npt.ArrayLike) -> FloatArray:
    """P(y > 0) of y ~ N(mean, variance), element by element; the limit where it has no variance."""
    h = standardised(np.asarray(mean, dtype=float), np.asarray(variance, dtype=float))
    result: FloatArray = special.ndtr(h)
    return result


def sign_probabilities(mean: npt.ArrayLike, cov: npt.ArrayLike) -> FloatArray:
    """P(sign(y) = s) of y ~ N(mean, cov) for all sign patterns s, eq. (5), row by row.

    ``mean`` has the shape (..., d) and ``cov`` (..., d, d), with d from 1 to 6; the result has the
    shape (..., 2, ..., 2).

    A dimension without variance has the sign of its mean, and either sign alike for a mean of 0.
    """
    mean, cov = np.asarray(mean, dtype=float), np.asarray(cov, dtype=float)
    d = mean.shape[-1]
    if not 1 <= d <= MAX_DIMENSIONS:
        raise ValueError(f"mean must have 1 to {MAX_DIMENSIONS} dimensions, got {d}")
    if cov.shape != (*mean.shape, d):
        raise ValueError(f"cov must have the shape {(*mean.shape, d)}, got {cov.shape}")
    shape = mean.shape[:-1]
    # Rows go last from here on: every operation then runs along them.
    columns = np.ascontiguousarray(np.moveaxis(cov.reshape(-1, d, d), 0, -1))
    h, corr = _standardise(np.ascontiguousarray(mean.reshape(-1, d).T), columns)
    return np.moveaxis(_table(h, corr), -1, 0).reshape(*shape, *(2,) * d)


def extended_probabilities(
    mean: FloatArray,
    cov: FloatArray,
    head: FloatArray,
    last_mean: FloatArray,
    last_variance: FloatArray,
    covariances: FloatArray,
    rules: _Rules = FINE,
) -> FloatArray:
    """The tables of one vector of m dimensions with each of many for its last dimension.

    ``mean``, ``cov`` and ``head`` (its table) are those of the vector; the last dimensions have
    means and variances (rows,) and ``covariances`` (m, rows) with it. The result is
    ``sign_probabilities`` of the extended vectors, shape (rows, 2, ..., 2).
    """
    m, rows = covariances.shape
    if m == 1:
        h, k = standardised(mean, cov[0]), standardised(last_mean, last_variance)
        scale = np.sqrt(np.maximum(cov[0], 0.0)) * np.sqrt(np.maximum(last_variance, 0.0))
        rho = covariances[0] / np.maximum(scale, np.finfo(float).tiny)
        rho = np.clip(rho, -1.0, 1.0)
        return np.moveaxis(_pair_table(h, k, rho, rules), -1, 0)
    whole_cov = np.empty((m + 1, m + 1, rows))
    whole_mean = np.empty((m + 1, rows))
    whole_mean[:m], whole_mean[m] = mean[:, None], last_mean
    whole_cov[:m, :m], whole_cov[m, m] = cov[:, :, None], last_variance
    whole_cov[m, :m] = whole_cov[:m, m] = covariances
    h, corr = _standardise(whole_mean, whole_cov)
    return np.moveaxis(_table(h, corr, head[..., None], rules), -1, 0)


def entropy(probabilities: FloatArray, dimensions: int = 1) -> FloatArray:
    """Entropy in nats of tables that fill the last ``dimensions`` axes."""
    axes = tuple(range(-dimensions, 0))
    # p log p is 0 at p = 0; NumPy's logarithm is several times faster than SciPy's `entr`.
    logarithms = np.log(np.maximum(probabilities, np.finfo(float).tiny))
    result: FloatArray = -(probabilities * logarithms).sum(axis=axes)
    return result


def binary_entropy(probability: FloatArray) -> FloatArray:
    """Entropy in nats of events that happen with a probability, element by element."""
    tiny, other = np.finfo(float).tiny, 1 - probability
    # Written out, because NumPy is slow at sums over an axis of two.
    result: FloatArray = -probability * np.log(np.maximum(probability, tiny))
    result -= other * np.log(np.maximum(other, tiny))
    return result


def relevance_entropy(mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Entropy in nats of the sign of Gaussians, element by element."""
    return binary_entropy(positive_probability(mean, variance))


def sign_entropy(mean: npt.ArrayLike, variance: npt.ArrayLike) -> FloatArray:
    """About the entropy of the sign of Gaussians, in nats: log(2) exp(-rate mean^2 / variance).

    It is off by at most 0.0028 log(2); ``binary_entropy`` takes many times as long.
    """
    with np.errstate(over="ignore"):
        squared = np.square(mean) / np.maximum(variance, np.finfo(float).tiny)
        entropy: FloatArray = np.log(2) * np.exp(-ENTROPY_RATE * squared)
    return entropy


def standardised(mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Means over standard deviations, with the limit where there is no variance."""
    with np.errstate(divide="ignore", invalid="ignore"):
        h = np.where(mean == 0, 0.0, mean / np.sqrt(np.maximum(variance, 0.0)))
    return np.clip(h, -_FAR, _FAR)


def _standardise(mean: FloatArray, cov: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Standardised means and correlations; no variance means no correlation."""
    variance = np.einsum("iir->ir", cov)
    deviation = np.sqrt(np.maximum(variance, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        corr = cov / deviation[:, None] / deviation[None, :]
    return standardised(mean, variance), np.clip(np.where(np.isfinite(corr), corr, 0.0), -1.0, 1.0)


def _table(
    h: FloatArray, corr: FloatArray, head: FloatArray | None = None, rules: _Rules = FINE
) -> FloatArray:
    """Tables, shape (2, ..., 2, rows), of standardised means (d, rows), correlations (d, d, rows).

    Only correlations of different dimensions are looked at.
    """
    d = len(h)
    if d == 1:
        return np.stack([special.ndtr(-h[0]), special.ndtr(h[0])])
    certain = np.flatnonzero((np.abs(h) > _CERTAIN).all(axis=1))
    if certain.size and h.size:
        return _table_beside(int(certain[0]), h, corr, rules)
    if d == 2:
        return _pair_table(h[0], h[1], corr[0, 1], rules)
    copies = _first_copies(corr)
    if copies is not None:
        j, k, rows = copies
        table = np.empty((*(2,) * d, h.shape[1]))
        table[..., rows] = _table_of_copies(j, k, h[:, rows], corr[:, :, rows], rules)
        if head is not None:
            head = np.broadcast_to(head, (*head.shape[:-1], rows.size))[..., ~rows]
        table[..., ~rows] = _table(h[:, ~rows], corr[:, :, ~rows], head, rules)
        return table
    if head is None:
        head = _table(h[:-1], corr[:-1, :-1], None, rules)
    interaction = np.empty((*(2,) * (d - 1), h.shape[1]))
    for rule, chosen in _rows_by_rule(_residual(corr), rules):
        step = max(1, _CHUNK // rule.sin.size)
        for part in (chosen[lo : lo + step] for lo in range(0, chosen.size, step)):
            interaction[..., part] = _interaction(h[:, part], corr[:, :, part], rule, rules)
    # Kept between 0 and the head, both halves add up to it whatever the rounding.
    plus = np.clip(head * special.ndtr(h[-1]) + interaction, 0.0, head)
    return np.stack([head - plus, plus], axis=-2)


def _table_beside(certain: int, h: FloatArray, corr: FloatArray, rules: _Rules) -> FloatArray:
    """The table where one dimension's sign is certain in every row: that factor stands alone."""
    others = [j for j in range(len(h)) if j != certain]
    rest = _table(h[others], corr[others][:, others], None, rules)
    own = _table(h[[certain]], corr[[certain]][:, [certain]])
    return np.expand_dims(rest, certain) * _along(own, certain, len(h))


def _first_copies(corr: FloatArray) -> tuple[int, int, npt.NDArray[np.bool_]] | None:
    """The first two dimensions that are copies of each other in any row, and these rows."""
    for k in range(1, len(corr)):
        for j in range(k):
            rows = np.abs(corr[j, k]) > 1.0 - _COPY
            if rows.any():
                return j, k, rows
    return None


def _table_of_copies(j: int, k: int, h: FloatArray, corr: FloatArray, rules: _Rules) -> FloatArray:
    """The table where dimensions j and k are one variable (or its negative) with two thresholds."""
    others = [i for i in range(len(h)) if i != k]
    place = others.index(j)
    flipped = corr[j, k] < 0
    own = h[j], np.where(flipped, -h[k], h[k])
    tables = []
    for threshold in (np.minimum(*own), np.maximum(*own)):
        moved = h[others]
        moved[place] = threshold
        tables.append(_table(moved, corr[others][:, others], None, rules))
    lower, upper = (np.moveaxis(table, place, 0) for table in tables)
    between = np.maximum(upper[1] - lower[1], 0.0)
    first = own[0] > own[1]  # between the thresholds the sign of j is positive, or that of k is
    both = np.zeros((2, 2, *between.shape))
    both[1, 1], both[0, 0] = lower[1], upper[0]
    both[1, 0], both[0, 1] = np.where(first, between, 0.0), np.where(first, 0.0, between)
    both = np.where(flipped, both[:, ::-1], both)
    return np.moveaxis(both, (0, 1), (j, k))


def _pair_table(h: FloatArray, k: FloatArray, rho: FloatArray, rules: _Rules = FINE) -> FloatArray:
    """Tables, shape (2, 2, rows), of pairs. ``h`` may be one for all rows."""
    alone_h_all = np.broadcast_to(special.ndtr(h), rho.shape)
    h = np.broadcast_to(h, rho.shape)
    table = np.empty((2, 2, rho.size))
    for lo in range(0, rho.size, _CHUNK):
        part = slice(lo, lo + _CHUNK)
        alone_h, alone_k = alone_h_all[part], special.ndtr(k[part])
        both = alone_h * alone_k
        for rule, rows in _rows_by_rule((1.0 - rho[part]) * (1.0 + rho[part]), rules):
            given = h[part][rows], k[part][rows], rho[part][rows]
            if rule.least_residual > 0:
                both[rows] += _pair_interaction(*given, rule)
            else:
                both[rows] = (alone_h[rows] + alone_k[rows]) / 2 - _owen(*given)
        both = np.clip(both, np.maximum(alone_h + alone_k - 1.0, 0.0), np.minimum(alone_h, alone_k))
        table[1, 1, part] = both
        table[1, 0, part] = alone_h - both
        table[0, 1, part] = alone_k - both
        table[0, 0, part] = (1.0 - alone_h) - table[0, 1, part]
    return np.maximum(table, 0.0, out=table)


def _pair_interaction(h: FloatArray, k: FloatArray, rho: FloatArray, rule: _Rule) -> FloatArray:
    """Phi2(h, k; rho) - Phi(h) Phi(k): Plackett's identity in its smallest case."""
    product, squares = h * k, (h * h + k * k) / 2
    total = np.zeros_like(h)
    for sin, scale in zip(rule.sin, rule.weights * rule.cos / (2 * np.pi), strict=True):
        r = rho * sin
        own = 1.0 - r * r
        r *= product
        r -= squares
        r /= own
        np.exp(r, out=r)
        r *= scale
        r /= np.sqrt(own, out=own)
        total += r
    total *= rho
    return total


def _owen(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    """(Phi(h) + Phi(k)) / 2 - Phi2(h, k; rho) = T(h, a_h) + T(k, a_k) + [h, k on two sides] / 2.

    a_h = (k - rho h) / (h sqrt(1 - rho^2)), written with 1 - |rho|, which is exact near |rho| = 1.
    """
    sign = np.where(rho < 0, -1.0, 1.0)
    near, wide = 1.0 - np.abs(rho), 1.0 + np.abs(rho)
    root = np.sqrt(near * wide)
    k_less_h = (k - sign * h) + sign * near * h
    h_less_k = (h - sign * k) + sign * near * k
    with np.errstate(divide="ignore", invalid="ignore"):
        a_h, a_k = k_less_h / (h * root), h_less_k / (k * root)
        at_origin = np.where(rho < 0, np.sqrt(wide / near), np.sqrt(near / wide))
    # 0/0 is the origin, approached along h = k, or |rho| = 1 with h = sign k, where T(h, 0) = 0.
    origin = (h == 0) & (k == 0)
    a_h = np.where(origin, at_origin, np.where(np.isnan(a_h), 0.0, a_h))
    a_k = np.where(origin, at_origin, np.where(np.isnan(a_k), 0.0, a_k))
    sides = np.sign(h), np.sign(k)  # their product cannot underflow
    opposite = (sides[0] * sides[1] < 0) | ((sides[0] * sides[1] == 0) & (sides[0] + sides[1] < 0))
    result: FloatArray = special.owens_t(h, a_h) + special.owens_t(k, a_k) + 0.5 * opposite
    return result


def _interaction(h: FloatArray, corr: FloatArray, rule: _Rule, rules: _Rules) -> FloatArray:
    """P(signs of the others, last positive) - P(signs of the others) P(last positive)."""
    d, rows = h.shape
    last = d - 1
    total = np.zeros((*(2,) * last, rows))
    sin, cos = rule.sin[:, None], rule.cos[:, None]
    scale = (rule.weights * rule.cos / (2 * np.pi))[:, None]
    for j in range(last):
        r_jn = corr[j, last]
        r = r_jn * sin
        # 1 - r^2 without cancellation where r_jn and sin(theta) are close to 1.
        own = (1.0 - r_jn) * (1.0 + r_jn) + (r_jn * cos) ** 2
        beyond = h[last] - r * h[j]
        slope = beyond / own
        density = np.exp(-0.5 * (h[j] ** 2 + beyond * slope))
        density *= scale * r_jn
        density /= np.sqrt(own)
        others = [i for i in range(last) if i != j]
        mean, cov = _given_zero(h, corr, others, j, sin, slope, own)
        weighted = _weighted_table(mean, cov, density, rules)
        total += np.expand_dims(weighted, j) * _along(np.array([[-1.0], [1.0]]), j, last)
    return total


def _given_zero(
    h: FloatArray,
    corr: FloatArray,
    others: list[int],
    j: int,
    sin: FloatArray,
    slope: FloatArray,
    own: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Standardised means and correlations of the others given y_j = 0 and y_n = 0, at all nodes.

    First given y_j, then given y_n: the partial covariances are small where the conditional
    variances are, so that nothing cancels.
    """
    d = len(others)
    mean = np.empty((d, *own.shape))
    cov = np.empty((d, d, *own.shape))
    tilt = np.empty_like(mean)
    scale = np.empty_like(mean)
    for a, k in enumerate(others):
        r_kj = corr[k, j]
        tilt[a] = sin * (corr[k, -1] - corr[j, -1] * r_kj)
        variance = (1.0 - r_kj) * (1.0 + r_kj) - tilt[a] ** 2 / own
        scale[a] = 1.0 / np.sqrt(np.maximum(variance, _LEAST_VARIANCE))
        mean[a] = ((h[k] - r_kj * h[j]) - tilt[a] * slope) * scale[a]
        for b, i in enumerate(others[:a]):
            shared = (corr[k, i] - r_kj * corr[i, j]) - tilt[a] * tilt[b] / own
            cov[a, b] = cov[b, a] = np.clip(shared * scale[a] * scale[b], -1.0, 1.0)
        cov[a, a] = 1.0
    return np.clip(mean, -_FAR, _FAR, out=mean), cov


def _weighted_table(
    h: FloatArray, corr: FloatArray, density: FloatArray, rules: _Rules
) -> FloatArray:
    """Tables at all nodes (their axis is the last but one), summed with the density as weight."""
    d = len(h)
    if d == 1:
        plus = np.einsum("qr,qr->r", density, special.ndtr(h[0]))
        return np.stack([density.sum(axis=0) - plus, plus])
    table = _table(h.reshape(d, -1), corr.reshape(d, d, -1), None, rules)
    table = table.reshape(*(2,) * d, *density.shape)
    result: FloatArray = np.einsum("...qr,qr->...r", table, density)
    return result


def _residual(corr: FloatArray) -> FloatArray:
    """Share of the last dimension's variance that the others do not explain: a Cholesky pivot."""
    d = len(corr)
    rest = corr.copy()
    np.einsum("iir->ir", rest)[...] = 1.0
    for j in range(d - 1):
        pivot = np.maximum(rest[j, j], _LEAST_VARIANCE)
        for i in range(j + 1, d):
            rest[i, j + 1 :] -= rest[i, j] / pivot * rest[j, j + 1 :]
    result: FloatArray = rest[-1, -1]
    return result


def _rows_by_rule(
    residual: FloatArray, rules: _Rules
) -> Iterator[tuple[_Rule, npt.NDArray[np.intp]]]:
    """The cheapest rule that is exact enough for each row."""
    kind = np.zeros(residual.shape, dtype=np.int8)
    for rule in rules[:-1]:
        kind += residual < rule.least_residual
    for number, rule in enumerate(rules):
        rows = np.flatnonzero(kind == number)
        if rows.size:
            yield rule, rows


def _along(factors: FloatArray, axis: int, dimensions: int) -> FloatArray:
    """Factors (2, rows) shaped to multiply a table's given axis."""
    shape = [1] * dimensions + [factors.shape[-1]]
    shape[axis] = 2
    return factors.reshape(shape)
