"""Sign patterns of Gaussian vectors: their probabilities and entropies.

The relevance of an image is the sign of a Gaussian variable, so all that the paper asks of a batch,
eq. (5) and (6), are probabilities of orthants. A table of them has one axis of length two for each
dimension: index 0 is the negative sign, 1 the positive one.

Two dimensions have a closed form in Owen's T function (Owen 1956). More are reached one dimension
at a time by Plackett's identity (Plackett 1954). Scale the correlations r_jn of the last dimension n
by t; then, with h the standardised means and s the signs,

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

FloatArray = npt.NDArray[np.float64]

MAX_DIMENSIONS = 6
"""Tables of more dimensions are refused: the cost grows about tenfold with each."""

_FAR = 40.0
"""Phi(-40) underflows: a standardised mean beyond it is a sign that is certain."""

_CERTAIN = 9.0
"""Phi(-9) = 1e-19 is nothing beside 1: such a dimension cannot interact with another."""

_LEAST_VARIANCE = 1e-14
"""Conditional variances below this (of 1) are the rounding error of the conditioning."""

_CHUNK = 1 << 14
"""Elements in a temporary array, few enough to stay in the processor's cache."""


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


_RULES = (_gauss_rule(0.6, 12), _gauss_rule(0.12, 24), _graded_rule(10, 13, 4.0))


def bivariate(h: npt.ArrayLike, k: npt.ArrayLike, rho: npt.ArrayLike) -> FloatArray:
    """P(X <= h, Y <= k) for standard normal X and Y with correlation rho, element by element.

    The absolute error is below 1e-12 up to |rho| = 1 - 1e-12; at |rho| = 1 the limit is taken.
    """
    limits = np.broadcast_arrays(
        np.clip(np.asarray(h, dtype=float), -_FAR, _FAR),
        np.clip(np.asarray(k, dtype=float), -_FAR, _FAR),
        np.clip(np.asarray(rho, dtype=float), -1.0, 1.0),
    )
    flat_h, flat_k, flat_rho = (array.ravel() for array in limits)
    value = np.empty_like(flat_h)
    for lo in range(0, value.size, _CHUNK):
        part = slice(lo, lo + _CHUNK)
        value[part] = _bivariate(flat_h[part], flat_k[part], flat_rho[part])
    return value.reshape(limits[0].shape)


def _bivariate(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    value = special.ndtr(h) * special.ndtr(k)
    for rule, rows in _rows_by_rule((1.0 - rho) * (1.0 + rho)):
        if rule.least_residual > 0:
            value[rows] += _bivariate_interaction(h[rows], k[rows], rho[rows], rule)
        else:
            value[rows] = _owen(h[rows], k[rows], rho[rows])
    return np.clip(value, 0.0, 1.0)


def _bivariate_interaction(
    h: FloatArray, k: FloatArray, rho: FloatArray, rule: _Rule
) -> FloatArray:
    """Phi2(h, k; rho) - Phi(h) Phi(k): Plackett's identity for the smallest case."""
    product, squares = h * k, (h * h + k * k) / 2
    total = np.zeros_like(h)
    for sin, cos, weight in zip(rule.sin, rule.cos, rule.weights, strict=True):
        r = rho * sin
        own = 1.0 - r * r
        total += weight * cos * np.exp((r * product - squares) / own) / np.sqrt(own)
    result: FloatArray = total * rho / (2 * np.pi)
    return result


def _owen(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    """Phi2 = (Phi(h) + Phi(k)) / 2 - T(h, a_h) - T(k, a_k) - [h and k on two sides of 0] / 2.

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
    a_h = np.where(origin, at_origin, np.nan_to_num(a_h, nan=0.0, posinf=np.inf, neginf=-np.inf))
    a_k = np.where(origin, at_origin, np.nan_to_num(a_k, nan=0.0, posinf=np.inf, neginf=-np.inf))
    opposite = (h * k < 0) | ((h * k == 0) & (h + k < 0))
    value: FloatArray = (
        0.5 * (special.ndtr(h) + special.ndtr(k))
        - special.owens_t(h, a_h)
        - special.owens_t(k, a_k)
        - 0.5 * opposite
    )
    return value


def positive_probability(mean: npt.ArrayLike, variance: npt.ArrayLike) -> FloatArray:
    """P(y > 0) of y ~ N(mean, variance), element by element; the limit where it has no variance."""
    h = _standard(np.asarray(mean, dtype=float), np.asarray(variance, dtype=float))
    result: FloatArray = special.ndtr(h)
    return result


def pair_probabilities(
    mean: FloatArray,
    other_mean: FloatArray,
    variance: FloatArray,
    other_variance: FloatArray,
    covariance: FloatArray,
) -> FloatArray:
    """Tables of pairs, shape (..., 2, 2): ``sign_probabilities`` for two dimensions at less cost."""
    h, k = _standard(mean, variance), _standard(other_mean, other_variance)
    scale = np.sqrt(np.maximum(variance * other_variance, 0.0))
    rho = np.divide(covariance, scale, out=np.zeros_like(covariance), where=scale > 0)
    return _pair_table(*np.broadcast_arrays(h, k, rho))


def sign_probabilities(
    mean: npt.ArrayLike, cov: npt.ArrayLike, head: FloatArray | None = None
) -> FloatArray:
    """P(sign(y) = s) of y ~ N(mean, cov) for all sign patterns s, eq. (5), row by row.

    ``mean`` has the shape (..., d) and ``cov`` (..., d, d), with d from 1 to 6; the result has the
    shape (..., 2, ..., 2). ``head`` is the table of the first d - 1 dimensions where it is known.
    A dimension without variance has the sign of its mean, and either sign alike for a mean of 0.
    """
    mean, cov = np.asarray(mean, dtype=float), np.asarray(cov, dtype=float)
    d = mean.shape[-1]
    if not 1 <= d <= MAX_DIMENSIONS:
        raise ValueError(f"mean must have 1 to {MAX_DIMENSIONS} dimensions, got {d}")
    if cov.shape != (*mean.shape, d):
        raise ValueError(f"cov must have the shape {(*mean.shape, d)}, got {cov.shape}")
    shape = mean.shape[:-1]
    h, corr = _standardise(mean.reshape(-1, d), cov.reshape(-1, d, d))
    if head is not None:
        head = np.broadcast_to(head, (*shape, *(2,) * (d - 1))).reshape(-1, *(2,) * (d - 1))
    return _table(h, corr, head).reshape(*shape, *(2,) * d)


def entropy(probabilities: FloatArray, dimensions: int = 1) -> FloatArray:
    """Entropy in nats of tables that fill the last ``dimensions`` axes."""
    axes = tuple(range(-dimensions, 0))
    result: FloatArray = special.entr(np.maximum(probabilities, 0.0)).sum(axis=axes)
    return result


def _standardise(mean: FloatArray, cov: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means over standard deviations, and correlations; no variance means no correlation."""
    variance = np.diagonal(cov, axis1=1, axis2=2)
    deviation = np.sqrt(np.maximum(variance, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        corr = cov / deviation[:, :, None] / deviation[:, None, :]
    return _standard(mean, variance), _as_correlation(np.where(np.isfinite(corr), corr, 0.0))


def _standard(mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Means over standard deviations, with the limit where there is no variance."""
    with np.errstate(divide="ignore", invalid="ignore"):
        h = np.where(mean == 0, 0.0, mean / np.sqrt(np.maximum(variance, 0.0)))
    return np.clip(h, -_FAR, _FAR)


def _as_correlation(corr: FloatArray) -> FloatArray:
    corr = np.clip(corr, -1.0, 1.0)
    np.einsum("rii->ri", corr)[...] = 1.0
    return corr


def _table(h: FloatArray, corr: FloatArray, head: FloatArray | None = None) -> FloatArray:
    """The table of standardised rows: h (rows, d), corr (rows, d, d)."""
    d = h.shape[1]
    if d == 1:
        return np.stack([special.ndtr(-h[:, 0]), special.ndtr(h[:, 0])], axis=-1)
    certain = np.flatnonzero((np.abs(h) > _CERTAIN).all(axis=0)) if len(h) else []
    if len(certain):
        return _table_beside(int(certain[0]), h, corr)
    if d == 2:
        return _pair_table(h[:, 0], h[:, 1], corr[:, 0, 1])
    if head is None:
        head = _table(h[:, :-1], corr[:, :-1, :-1])
    interaction = np.empty_like(head)
    for rule, rows in _rows_by_rule(_last_pivot(corr)):
        step = max(1, _CHUNK // rule.sin.size)
        for part in (rows[lo : lo + step] for lo in range(0, rows.size, step)):
            interaction[part] = _interaction(h[part], corr[part], rule)
    last = h[:, -1].reshape(-1, *(1,) * (d - 1))
    plus = head * special.ndtr(last) + interaction
    return np.clip(np.stack([head - plus, plus], axis=-1), 0.0, 1.0)


def _table_beside(certain: int, h: FloatArray, corr: FloatArray) -> FloatArray:
    """The table where one dimension's sign is certain in every row: that factor stands alone."""
    others = [j for j in range(h.shape[1]) if j != certain]
    rest = _table(h[:, others], corr[:, others][:, :, others])
    own = _table(h[:, [certain]], corr[:, [certain]][:, :, [certain]])
    return np.expand_dims(rest, 1 + certain) * _along(own, certain, h.shape[1])


def _pair_table(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    both = bivariate(h, k, rho)
    only_h = special.ndtr(h) - both
    only_k = special.ndtr(k) - both
    neither = special.ndtr(-h) - only_k
    table = np.stack([neither, only_k, only_h, both], axis=-1).reshape(-1, 2, 2)
    return np.maximum(table, 0.0)


def _interaction(h: FloatArray, corr: FloatArray, rule: _Rule) -> FloatArray:
    """P(signs of the others, last positive) - P(signs of the others) P(last positive)."""
    rows, d = h.shape
    last = d - 1
    total = np.zeros((rows, *(2,) * last))
    for j in range(last):
        others = [i for i in range(last) if i != j]
        r_jn = corr[:, j, last, None]
        r = r_jn * rule.sin
        # 1 - r^2 without cancellation where r_jn and sin(theta) are close to 1.
        own = (1.0 - r_jn) * (1.0 + r_jn) + (r_jn * rule.cos) ** 2
        beyond = h[:, last, None] - r * h[:, j, None]
        density = np.exp(-0.5 * (h[:, j, None] ** 2 + beyond**2 / own)) / np.sqrt(own)
        density *= r_jn * rule.cos * rule.weights / (2 * np.pi)
        # The others given y_j = 0 first, then given y_n = 0: the partial covariances are small
        # where the variances are, so that nothing cancels.
        given_j = corr[:, others, j]
        partial = corr[:, others, last] - r_jn * given_j
        tilt = partial[:, None, :] * rule.sin[:, None]
        mean = (h[:, others] - given_j * h[:, j, None])[:, None, :] - tilt * (beyond / own)[
            :, :, None
        ]
        cov = corr[:, others][:, :, others] - given_j[:, :, None] * given_j[:, None, :]
        cov = cov[:, None] - tilt[..., :, None] * tilt[..., None, :] / own[:, :, None, None]
        table = _conditional_table(mean, cov)
        weighted = np.einsum("rq,rq...->r...", density, table)
        sign = np.array([[-1.0, 1.0]])
        total += np.expand_dims(weighted, 1 + j) * _along(sign, j, last)
    return total


def _conditional_table(mean: FloatArray, cov: FloatArray) -> FloatArray:
    rows, nodes, d = mean.shape
    variance = np.maximum(np.diagonal(cov, axis1=2, axis2=3), _LEAST_VARIANCE)
    deviation = np.sqrt(variance)
    h = np.clip(mean / deviation, -_FAR, _FAR).reshape(-1, d)
    corr = cov / deviation[..., :, None] / deviation[..., None, :]
    # Where a variance was raised to the least one, its diagonal element is not 1 by itself.
    corr = _as_correlation(corr.reshape(-1, d, d))
    return _table(h, corr).reshape(rows, nodes, *(2,) * d)


def _last_pivot(corr: FloatArray) -> FloatArray:
    """Share of the last dimension's variance that the others do not explain."""
    rest = corr.copy()
    for j in range(corr.shape[1] - 1):
        pivot = np.maximum(rest[:, j, j], _LEAST_VARIANCE)
        column = rest[:, :, j] / pivot[:, None]
        rest -= column[:, :, None] * rest[:, None, j, :]
    return rest[:, -1, -1]


def _rows_by_rule(residual: FloatArray) -> Iterator[tuple[_Rule, npt.NDArray[np.intp]]]:
    above = np.inf
    for rule in _RULES:
        rows = np.flatnonzero((residual >= rule.least_residual) & (residual < above))
        if rule.least_residual == 0:  # rounding may have left a residual below 0
            rows = np.flatnonzero(~(residual >= above))
        above = rule.least_residual
        if rows.size:
            yield rule, rows


def _along(factors: FloatArray, axis: int, dimensions: int) -> FloatArray:
    """Factors (rows, 2) shaped to multiply a table's given axis."""
    shape = [len(factors)] + [1] * dimensions
    shape[1 + axis] = 2
    return factors.reshape(shape)
