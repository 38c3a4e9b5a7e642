"""Hypothesis strategies for all tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from ital.user import USERS, UserModel

signs = st.sampled_from([-1.0, 1.0])
seeds = st.integers(0, 2**32 - 1)

users = st.one_of(
    st.sampled_from(list(USERS.values())),
    st.builds(
        UserModel,
        st.sampled_from([0.0, 0.3, 0.7, 1.0]),
        st.sampled_from([0.0, 0.1, 0.4, 0.5, 1.0]),
    ),
)


@dataclass(frozen=True)
class Gaussian:
    mean: np.ndarray
    cov: np.ndarray
    kind: str

    @property
    def tolerance(self) -> float:
        """What the package promises: copies that are almost exact are taken for exact ones."""
        return 2e-6 if self.kind == "copies" else 2e-8


@st.composite
def gaussians(draw, dimensions):
    """Gaussian vectors: smooth, with near and exact copies, of low rank, with dead dimensions."""
    d = draw(dimensions)
    rng = np.random.default_rng(draw(seeds))
    kind = draw(st.sampled_from(["smooth", "kernel", "copies", "low rank", "no variance"]))
    basis = rng.standard_normal((d, d))
    if kind == "kernel":
        points = rng.standard_normal((d, 3))
        squared = ((points[:, None] - points[None]) ** 2).sum(-1)
        cov = np.exp(-squared / (2 * draw(st.sampled_from([0.3, 1.0, 5.0])) ** 2))
    else:
        if kind == "copies" and d > 1:
            closeness = draw(st.sampled_from([0.0, 1e-8, 1e-6, 1e-5, 1e-4, 1e-2]))
            for copy in range(1, draw(st.integers(1, d - 1)) + 1):
                basis[-copy] = draw(signs) * basis[0] + closeness * rng.standard_normal(d)
        if kind == "low rank" and d > 1:
            basis[:, d // 2 + 1 :] = 0.0
        if kind == "no variance":
            basis[rng.integers(d)] = 0.0
        cov = basis @ basis.T
    mean = rng.standard_normal(d) * draw(st.sampled_from([0.0, 0.1, 1.0, 5.0]))
    if kind == "copies" and draw(st.booleans()):
        mean[-1] = mean[0]
    return Gaussian(mean, cov, kind)


@dataclass(frozen=True)
class Problem:
    """A small pool with labels and a kernel."""

    features: np.ndarray
    labels: dict[int, int]
    length_scale: float
    variance: float
    noise: float

    @property
    def candidates(self) -> list[int]:
        return [i for i in range(len(self.features)) if i not in self.labels]

    @property
    def kernel(self) -> dict[str, float]:
        return {"length_scale": self.length_scale, "variance": self.variance, "noise": self.noise}


_FEW = st.integers(6, 14)


@st.composite
def problems(draw, images=_FEW, noises=(1e-6, 1e-3, 0.05, 0.5)):
    """Pools with clusters, near and exact copies, and labels that may contradict each other."""
    n, d = draw(images), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(seeds))
    features = rng.standard_normal((n, d))
    if draw(st.booleans()):
        features = features[rng.integers(max(1, n // 3), size=n)]
        features += draw(st.sampled_from([0.0, 1e-6, 0.1])) * rng.standard_normal((n, d))
    labelled = rng.choice(n, draw(st.integers(1, 4)), replace=False)
    labels = {int(i): int(rng.choice([-1, 1])) for i in labelled}
    labels[int(labelled[0])] = 1
    return Problem(
        features,
        labels,
        draw(st.sampled_from([0.3, 1.0, 3.0])),
        draw(st.sampled_from([0.5, 1.0, 2.0])),
        draw(st.sampled_from(noises)),
    )
