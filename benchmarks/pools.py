"""Made features and stopwatches, for the benchmarks of searches."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

CLUSTERS = 100
PAUSE = 0.1
PART = 10_000


def clustered(
    n: int, d: int, spectrum: str = "falling", out: npt.NDArray[Any] | None = None
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Vectors of unit length in clusters, float32 or in ``out``, and the cluster of each.

    100 centres are drawn from a normal distribution. Each image is a random centre plus noise of
    0.7 times that distribution's deviations.
    """
    rng = np.random.default_rng(0)
    power = -0.5 if spectrum == "falling" else 0.0
    deviations = (np.arange(1, d + 1) ** power).astype(np.float32)
    centres = deviations * rng.standard_normal((CLUSTERS, d), dtype=np.float32)
    cluster = rng.integers(CLUSTERS, size=n)
    features = np.empty((n, d), dtype=np.float32) if out is None else out
    for lo in range(0, n, PART):
        part = slice(lo, lo + PART)
        noise = rng.standard_normal((len(cluster[part]), d), dtype=np.float32)
        block = centres[cluster[part]] + 0.7 * deviations * noise
        features[part] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return features, cluster


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def rested(work: Callable[[], Any]) -> float:
    """Seconds after a pause, which BLAS threads spin through, so that they are in nobody's way."""
    time.sleep(PAUSE)
    return seconds(work)
