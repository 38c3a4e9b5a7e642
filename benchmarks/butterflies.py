"""The paper's Butterflies experiment: learning curves of the strategies.

    ITAL_DATA=FOLDER python benchmarks/butterflies.py --queries 50 --strategies all

Needs `butterflies.npz` in the folder that ITAL_DATA names. The protocol is that of section 4:
random queries of each class, ten rounds of four questions to a perfect user, average precision on
the test set before the first round and after each. The kernel has a length scale of 2.5, a variance
of 1 and a noise of 1e-6, over features that are scaled jointly to [0, 1]. Published areas are those
of Tables 1 and 2, divided by 11 points instead of 10 rounds.
"""

from __future__ import annotations

import sys

sys.path.pop(0)  # beside this file lies one that is named like the standard library's `select`

import argparse
import json
import os
from pathlib import Path

import numpy as np
from rich.progress import track

from ital import strategies
from ital.evaluation import area_under_curve, average_precision, feedback_rounds, published_area
from ital.pool import Pool
from ital.search import Search

PUBLISHED = {
    "random": 0.7316,
    "topscoring": 0.5991,
    "var": 0.6800,
    "border": 0.7434,
    "border_div": 0.7456,
    "unc": 0.7373,
    "emoc": 0.7561,
    "sud": 0.3887,
    "tcal": 0.7720,
    "rbmal": 0.6023,
    "entropy": 0.7512,
    "ital": 0.7511,
    "mcmi": 0.6846,
    "adaptal": 0.7716,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=50, help="queries of each class")
    parser.add_argument("--strategies", nargs="+", default=["ital", "entropy"], help="or all")
    parser.add_argument("--repeats", type=int, default=1, help="runs with chance of their own")
    parser.add_argument("--out", type=Path, help="where to write JSON")
    arguments = parser.parse_args()
    if "ITAL_DATA" not in os.environ:
        sys.exit("ITAL_DATA must name the folder that holds butterflies.npz")
    with np.load(Path(os.environ["ITAL_DATA"]) / "butterflies.npz") as data:
        train, test, classes, truth = (
            data[name] for name in ("X_train", "X_test", "y_train", "y_test")
        )
    low, high = train.min(), train.max()
    train, test = (train - low) / (high - low), (test - low) / (high - low)
    pool = Pool(train)
    queries: list[tuple[int, int]] = []
    for one in np.unique(classes):
        np.random.seed(0)  # noqa: NPY002 - the paper's queries come from this generator
        drawn = np.random.choice(  # noqa: NPY002
            np.flatnonzero(classes == one), (arguments.queries, 1), replace=False
        )
        queries += [(int(query), int(one)) for query in drawn[:, 0]]

    report = {}
    chosen = strategies.names() if "all" in arguments.strategies else arguments.strategies
    for strategy in chosen:
        runs, seconds = [], []
        for repeat in range(arguments.repeats):
            curves = []
            for query, one in track(queries, description=strategy):
                search = Search(pool, strategy, length_scale=2.5, seed=query + repeat * len(pool))
                rounds = list(
                    feedback_rounds(
                        search,
                        query,
                        np.where(classes == one, 1, -1),
                        lambda search, one=one: average_precision(
                            truth == one, search.predict(test)
                        ),
                    )
                )
                curves.append([state.quality for state in rounds])
                seconds += [state.seconds for state in rounds[1:]]
            runs.append(np.mean(curves, axis=0))
        curve = np.mean(runs, axis=0)
        areas = [published_area(run) for run in runs]
        report[strategy] = {
            "curve": curve.tolist(),
            "area": area_under_curve(curve),
            "published_area": published_area(curve),
            "published_area_of_runs": areas,
            "published_area_in_the_paper": PUBLISHED.get(strategy),
            "seconds_per_batch": float(np.median(seconds)),
        }
        print(
            f"{strategy}: {' '.join(f'{value:.3f}' for value in curve)}  area "
            f"{area_under_curve(curve):.4f}, as published {published_area(curve):.4f} "
            f"(paper {PUBLISHED.get(strategy)}), runs {min(areas):.4f} to {max(areas):.4f}, "
            f"{np.median(seconds):.4f} s a batch"
        )
    if {"ital", "entropy"} <= report.keys():
        curves = np.array([report[name]["curve"] for name in ("ital", "entropy")])
        print(f"largest difference of ital and entropy: {np.abs(curves[0] - curves[1]).max():.5f}")
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
