"""tcal against its formula: k-means in the kernel's space, and the middle of each cluster."""

from __future__ import annotations

from itertools import product
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from literal import chosen, fitted, single, small_problems

from generators import Problem
from ital.strategies import TCAL


def uncertain(process, candidates, count):
    return sorted(candidates, key=lambda i: abs(single(process, i)[0]))[:count]


def distance(process, i, j):
    k = process.kernel
    return sqrt(max(k[i, i] + k[j, j] - 2 * k[i, j], 0.0))


def spread(process, cluster):
    """The sum of squared distances to the cluster's mean in the kernel's space."""
    return sum(distance(process, i, j) ** 2 for i in cluster for j in cluster) / (2 * len(cluster))


def best_partition(process, images, k):
    partitions = {}
    for labels in product(range(k), repeat=len(images)):
        clusters = [
            tuple(i for i, label in zip(images, labels, strict=True) if label == one)
            for one in range(k)
        ]
        if all(clusters):
            partitions[frozenset(clusters)] = sum(spread(process, one) for one in clusters)
    return min(partitions, key=lambda clusters: partitions[clusters])


def distance_to_mean(process, i, cluster):
    """The squared distance of an image to the mean of a cluster in the kernel's space."""
    k, size = process.kernel, len(cluster)
    to_members = sum(k[i, j] for j in cluster) / size
    between = sum(k[j, m] for j in cluster for m in cluster) / size**2
    return k[i, i] - 2 * to_members + between


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("seed", range(10))
def test_literal(seed, k):
    rng = np.random.default_rng(seed)
    problem = Problem(rng.standard_normal((14, 2)), {0: 1, 1: -1, 2: 1}, 0.7, 1.0, 1e-3)
    model, process = fitted(problem)
    factor = 2 if k == 3 else 3
    batch, utilities = chosen(TCAL(factor), model, problem.candidates, k)
    clusters = [[i for i, utility in row.items() if np.isfinite(utility)] for row in utilities]
    images = uncertain(process, problem.candidates, factor * k)
    assert sorted(i for cluster in clusters for i in cluster) == sorted(images)
    for cluster in clusters:
        # k-means has converged: no image is nearer to another cluster's mean.
        for i in cluster:
            own = distance_to_mean(process, i, cluster)
            assert all(own <= distance_to_mean(process, i, other) + 1e-9 for other in clusters)
    found, best = (
        sum(spread(process, cluster) for cluster in some)
        for some in (clusters, best_partition(process, images, k))
    )
    assert best - 1e-9 <= found <= 1.1 * best
    for image, cluster, row in zip(batch, clusters, utilities, strict=True):
        means = {
            i: sum(distance(process, i, j) for j in cluster) / max(1, len(cluster) - 1)
            for i in cluster
        }
        assert means[image] == pytest.approx(min(means.values()), abs=1e-6)
        assert {i: -row[i] for i in cluster} == pytest.approx(means, abs=1e-6)


@settings(max_examples=60)
@given(small_problems)
def test_batches_come_from_the_most_uncertain(problem):
    model, process = fitted(problem)
    batch, _ = chosen("tcal", model, problem.candidates, 2)
    images = uncertain(process, problem.candidates, 8)
    border = abs(single(process, images[-1])[0])
    assert len(set(batch)) == 2
    assert all(abs(single(process, i)[0]) <= border + 1e-6 for i in batch)


def test_refuses():
    with pytest.raises(ValueError, match="factor must be a whole number of at least 1, got 0"):
        TCAL(factor=0)
