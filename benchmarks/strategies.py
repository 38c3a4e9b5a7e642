"""What each strategy costs on USPS: seconds and memory for a batch of four.

    ITAL_DATA=FOLDER python benchmarks/strategies.py --out build/strategies.json

Needs `usps.npz` (7,291 images of 256 dimensions) in the folder that ITAL_DATA names. Ten rounds of
four questions are answered by a perfect user. The time of a batch is given in seconds and, because
seconds on a shared machine mean little alone, as the number of passes over the features that took
as long: distances of one vector to all images, measured in the same run. Memory is what NumPy and
Python allocated beyond the features: at its peak, and what search and strategy keep after the last
round. It is measured in a run of its own, because that slows things down.
"""

from __future__ import annotations

import sys

sys.path.pop(0)  # beside this file lies one that is named like the standard library's `select`

import argparse
import json
import os
import statistics
import time
import tracemalloc
from pathlib import Path

import numpy as np
import numpy.typing as npt

import ital
from ital.evaluation import feedback_rounds
from ital.pool import Pool

MEGABYTE = 1 << 20


def seconds_of_batches(
    features: npt.NDArray[np.float32], classes: npt.NDArray[np.int64], strategy: str, rounds: int
) -> list[float]:
    search = ital.Search(Pool(features), strategy, length_scale=3.0, seed=0)
    truth = np.where(classes == classes[0], 1, -1)
    states = list(feedback_rounds(search, 0, truth, lambda search: 0.0, rounds))
    return [state.seconds for state in states[1:]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--strategies", nargs="+", default=ital.strategies.names())
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--out", type=Path, help="where to write JSON")
    arguments = parser.parse_args()
    if "ITAL_DATA" not in os.environ:
        sys.exit("ITAL_DATA must name the folder that holds usps.npz")
    with np.load(Path(os.environ["ITAL_DATA"]) / "usps.npz") as data:
        features, classes = data["X_train"].astype(np.float32), data["y_train"]
    low, high = features.min(), features.max()
    features = (features - low) / (high - low)
    pool = Pool(features)

    report = {}
    for strategy in arguments.strategies:
        passes = []
        for _ in range(20):
            start = time.perf_counter()
            pool.squared_distances(pool.vectors(np.array([0])))
            passes.append(time.perf_counter() - start)
        # The first call of some imports a library, which is not the price of a batch.
        seconds_of_batches(features[:50], classes[:50], strategy, 1)
        seconds = seconds_of_batches(features, classes, strategy, arguments.rounds)

        tracemalloc.start()
        truth = np.where(classes == classes[0], 1, -1)
        search = ital.Search(Pool(features), strategy, length_scale=3.0, seed=0)
        for _ in feedback_rounds(search, 0, truth, lambda search: 0.0, arguments.rounds):
            pass
        kept, peak = (size / MEGABYTE for size in tracemalloc.get_traced_memory())
        tracemalloc.stop()
        del search

        report[strategy] = {
            "median_seconds": statistics.median(seconds),
            "most_seconds": max(seconds),
            "median_passes": statistics.median(seconds) / statistics.median(passes),
            "kept_megabytes": kept,
            "peak_megabytes": peak,
        }
        print(
            f"{strategy:10}  a batch {statistics.median(seconds):.4f} s (at most "
            f"{max(seconds):.4f} s), {report[strategy]['median_passes']:8.1f} passes; "
            f"{kept:.0f} MB kept, {peak:.0f} MB at its peak"
        )
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
