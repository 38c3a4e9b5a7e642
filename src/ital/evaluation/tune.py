"""The kernel's parameters by cross-validation, section 4.3."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ital.checks import IntArray
from ital.durable import write_whole
from ital.evaluation.datasets import Dataset, Task
from ital.evaluation.metrics import average_precision
from ital.gaussian import FloatArray
from ital.kernel import Kernel
from ital.pool import Pool

FACTORS = (0.25, 0.5, 2**-0.5, 1.0, 2**0.5, 2.0, 4.0)
"""What length scale and variance are multiplied by."""

NOISES = (1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)


@dataclass(frozen=True)
class Trial:
    """A kernel and the mean average precision of it in cross-validation."""

    kernel: Kernel
    precision: float


@dataclass(frozen=True)
class Fold:
    """Images to learn from and images to rank, as indices into a training set."""

    known: IntArray
    ranked: IntArray


def folds(task: Task, relevance: IntArray, count: int, shots: int | None, seed: int) -> list[Fold]:
    """Tenfold, say: every image is ranked once by a model that learnt from the other folds.

    With ``shots``, from so many relevant images of each class only, drawn from the other folds: the
    plight of a search that has just begun.
    """
    rng = np.random.default_rng(seed)
    parts = np.array_split(rng.permutation(len(task.train)), count)
    result = []
    for part in parts:
        known = np.setdiff1d(np.arange(len(task.train)), part)
        if shots is not None:
            drawn = [
                rng.permutation(known[relevance[row, known] == 1])[:shots]
                for row in range(len(relevance))
            ]
            known = np.unique(np.concatenate(drawn))
        result.append(Fold(known, np.sort(part)))
    return result


def precision(pool: Pool, relevance: IntArray, folds: list[Fold], kernel: Kernel) -> float:
    """Mean average precision over classes and folds."""
    found = []
    for fold in folds:
        known = pool.vectors(fold.known)
        among = kernel(pool.distances_between(known, known))
        among[np.diag_indices(len(among))] += kernel.least_noise
        across = pool.squared_distances(known, fold.ranked, kernel)
        for truth, scores in zip(
            relevance[:, fold.ranked], _scores(among, across, relevance[:, fold.known]), strict=True
        ):
            named = truth != 0
            if (truth == 1).any():
                found.append(average_precision(truth[named] == 1, scores[named]))
    return float(np.mean(found))


def _scores(among: FloatArray, across: FloatArray, labels: IntArray) -> FloatArray:
    """Predictive means, a row for each class, from labels of 1, -1, or 0 for no label."""
    scores = np.empty((len(labels), across.shape[1]))
    # Classes that have the same images labelled, mostly all of them, have one factor.
    named, group = np.unique(labels != 0, axis=0, return_inverse=True)
    for number, mask in enumerate(named):
        classes = np.flatnonzero(group.ravel() == number)
        factor = cho_factor(among[np.ix_(mask, mask)], lower=True)
        weights = cho_solve(factor, labels[np.ix_(classes, mask)].T.astype(float))
        scores[classes] = weights.T @ across[mask]
    return scores


def median_kernel(dataset: Dataset) -> Kernel:
    """The choice that needs no labels: the median distance of two images."""
    return Kernel(Pool(dataset.tasks[0].train).median_distance())


def tune(
    dataset: Dataset,
    count: int = 10,
    shots: int | None = None,
    seed: int = 0,
    report: Callable[[Trial], None] = lambda trial: None,
) -> tuple[Trial, Trial]:
    """The best kernel found by alternating optimisation, and the trial of the median heuristic.

    One parameter at a time is set to the best of several values, in turn, until no turn changes
    any. Only the ratio of noise and variance matters to a ranking, hence variance comes last.
    """
    task = dataset.tasks[0]
    if any(other.train is not task.train for other in dataset.tasks):
        raise ValueError(f"data must have one training set for all classes, {dataset.name} has not")
    relevance = np.stack([one.train_relevance for one in dataset.tasks])
    pool = Pool(task.train)
    chosen = folds(task, relevance, count, shots, seed)
    tried: dict[Kernel, Trial] = {}

    def trial(kernel: Kernel) -> Trial:
        if kernel not in tried:
            value = precision(pool, relevance, chosen, kernel)
            tried[kernel] = Trial(kernel, value)
            report(tried[kernel])
        return tried[kernel]

    best = start = trial(median_kernel(dataset))
    unchanged = 0
    for name in itertools.cycle(("length_scale", "noise", "variance")):
        before = best
        for kernel in _neighbours(best.kernel, name):
            best = max(best, trial(kernel), key=lambda one: one.precision)
        unchanged = unchanged + 1 if best is before else 0
        if unchanged == 3:
            return best, start
    raise AssertionError("the cycle does not end by itself")


def _neighbours(kernel: Kernel, name: str) -> Iterator[Kernel]:
    """The kernel with other values of one parameter."""
    given = {one: getattr(kernel, one) for one in ("length_scale", "variance", "noise")}
    values = NOISES if name == "noise" else [given[name] * factor for factor in FACTORS]
    for value in values:
        yield Kernel(**{**given, name: value})


def write(kernel: Kernel, path: Path) -> None:
    """Write a kernel for ``read``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(asdict(kernel), indent=1) + "\n")


def read(path: Path) -> dict[str, float]:
    """The settings of a kernel that ``write`` wrote."""
    try:
        return asdict(Kernel(**json.loads(path.read_text())))
    except FileNotFoundError:
        raise ValueError(f"kernel must be a file that 'ital tune' wrote, not {path}") from None
    except (ValueError, TypeError, OSError) as error:
        message = f"kernel must be a file that 'ital tune' wrote, but {path} is not: {error}"
        raise ValueError(message) from error
