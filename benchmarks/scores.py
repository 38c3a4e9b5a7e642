"""What a score of the images is worth to a search, by how good the score is.

    ITAL_DATA=FOLDER python benchmarks/scores.py --data scenes13 corel1k butterflies

The score of an image, of the pool and of the test set alike, is whether it is relevant plus normal
noise, so much that a relevant image has the higher score of the two with the probability that is
given (the area under its ROC curve; 0.5 is a useless score). Searches begin with the score alone,
with the score and one picture, and with the picture alone, and ask ten rounds of four questions.
The average precision is that of the test set, whose scores ``predict`` is told.
"""

from __future__ import annotations

import sys

sys.path.pop(0)  # beside this file lies one that is named like the standard library's `select`

import argparse

import numpy as np
import numpy.typing as npt
from scipy import special
from threadpoolctl import threadpool_limits

from ital import Search
from ital.evaluation.datasets import Task, load
from ital.evaluation.experiment import Settings, queries
from ital.evaluation.metrics import area_under_curve, average_precision
from ital.evaluation.protocol import feedback_rounds
from ital.pool import Pool

Array = npt.NDArray[np.float64]


def simulated(relevance: npt.ArrayLike, auc: float, rng: np.random.Generator) -> Array:
    """A score of this quality: two normal distributions, so far apart."""
    relevant = np.asarray(relevance) == 1
    apart = np.sqrt(2) * special.ndtri(auc)
    noise: Array = rng.standard_normal(len(relevant))
    return noise + apart * relevant


class Trial:
    """Searches for one class, which share the pool."""

    def __init__(self, task: Task, kernel: dict[str, float], rounds: int) -> None:
        self._task, self._pool, self._rounds = task, Pool(task.train), rounds
        self._kernel = {"length_scale": self._pool.median_distance(), **kernel}
        named = task.test_relevance != 0
        self._test, self._relevant = task.test[named].astype(float), task.test_relevance[named] == 1

    def curve(self, query: int | None, auc: float | None, seed: list[int]) -> list[float]:
        """The average precision after the query and after each round."""
        scores = told = None
        if auc is not None:
            rng = np.random.default_rng(seed)  # the same noise whatever the quality
            scores = simulated(self._task.train_relevance, auc, rng)
            told = simulated(np.where(self._relevant, 1, -1), auc, rng)
        search = Search(self._pool, seed=0, prior=scores, **self._kernel)

        def quality(search: Search) -> float:
            return average_precision(self._relevant, search.predict(self._test, told))

        truth = self._task.train_relevance
        states = feedback_rounds(search, query, truth, quality, self._rounds)
        return [state.quality for state in states]


def measured(data: str, aucs: list[float], count: int, rounds: int) -> dict[str, list[Array]]:
    """Curves by what a search begins with, all in the same order of queries."""
    dataset = load(data)
    found: dict[str, list[Array]] = {}
    for number, task in enumerate(dataset.tasks):
        trial = Trial(task, dict(dataset.kernel), rounds)
        for place, query in enumerate(queries(task, number, Settings(data, ("context",), count))):
            seed = [number, place]
            found.setdefault("picture", []).append(trial.curve(int(query), None, seed))
            for auc in aucs:
                for name, start in (("score", None), ("both", int(query))):
                    curve = trial.curve(start, auc, seed)
                    found.setdefault(f"{name} {auc}", []).append(curve)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="+", default=["digits"])
    parser.add_argument("--aucs", nargs="+", type=float, default=[0.5, 0.6, 0.8, 0.95])
    parser.add_argument("--queries", type=int, default=3, help="of each class")
    parser.add_argument("--rounds", type=int, default=10)
    arguments = parser.parse_args()
    for data in arguments.data:
        with threadpool_limits(1):
            found = measured(data, arguments.aucs, arguments.queries, arguments.rounds)
        alone = np.array([area_under_curve(curve) for curve in found["picture"]])
        print(f"{data}, {len(alone)} queries: area (what it gains), average precision by rounds")
        for name, curves in found.items():
            areas = np.array([area_under_curve(curve) for curve in curves])
            gain, error = (areas - alone).mean(), (areas - alone).std() / np.sqrt(len(areas))
            by_round = " ".join(f"{one:.3f}" for one in np.mean(curves, axis=0))
            print(f"{name:10} {areas.mean():.3f} ({gain:+.4f} ± {error:.4f})  {by_round}")


if __name__ == "__main__":
    main()
