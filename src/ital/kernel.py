"""The RBF kernel of eq. (4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ital import checks
from ital.gaussian import FloatArray
from ital.pool import Pool

_LEAST_NOISE = 1e-12
"""Noise, in units of the variance, that copies of an image have at the least."""


@dataclass(frozen=True)
class Kernel:
    """The RBF kernel of eq. (4); ``variance`` and ``noise`` are sigma_var^2 and sigma_noise^2."""

    length_scale: float
    variance: float = 1.0
    noise: float = 1e-6

    def __post_init__(self) -> None:
        for name in ("length_scale", "variance", "noise"):
            object.__setattr__(self, name, checks.positive(getattr(self, name), name))

    @classmethod
    def over(
        cls,
        pool: Pool,
        length_scale: float | None = None,
        variance: float = 1.0,
        noise: float = 1e-6,
    ) -> Kernel:
        """For a pool; the length scale is the median distance of two images if ``None``."""
        scale = pool.median_distance() if length_scale is None else length_scale
        return cls(scale, variance, noise)

    @property
    def least_noise(self) -> float:
        """The noise, or what arithmetic can tell from none if that is more."""
        return max(self.noise, _LEAST_NOISE * self.variance)

    def __call__(self, squared_distances: FloatArray) -> FloatArray:
        """Covariances at these distances, without noise. Overwrites its argument."""
        squared_distances *= -0.5 / self.length_scale**2
        np.exp(squared_distances, out=squared_distances)
        squared_distances *= self.variance
        return squared_distances
