"""How often the intervals of an audit hold the truth, and how wide they are.

    ITAL_DATA=FOLDER python benchmarks/audit.py --out build/audit.json

Needs `scenes13.npz`, `corel1k.npz` and `butterflies.npz` in the folder that ITAL_DATA names. Each
search begins with a random image of a random class, asks a few rounds of four questions, which are
answered by the truth, and is then audited where precision and recall are in balance. At least 90 %
of the intervals for that level should hold the truth, whatever the model believes.
"""

from __future__ import annotations

import sys

sys.path.pop(0)  # beside this file lies one that is named like the standard library's `select`

import argparse
import json
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track

import ital
from ital import insight
from ital.evaluation import datasets, feedback_rounds
from ital.intervals import Estimate
from ital.pool import Pool

FIGURES = ("precision", "missed", "recall")


def audited(pool: Pool, relevant: np.ndarray, rounds: int, answers: int, seed: int) -> dict:
    """One search with its audit: what it found, and whether that holds the truth."""
    rng = np.random.default_rng(seed)
    search = ital.Search(pool, "context", seed=seed)
    query = int(rng.choice(np.flatnonzero(relevant)))
    truth = np.where(relevant, 1, -1)
    for _ in feedback_rounds(search, query, truth, lambda search: None, rounds):
        pass
    audit = search.audit(insight.balanced(insight.thresholds(search)).probability, seed)
    ranked, labelled = relevant[search.ranking().rows], len(search.labels)
    asked = audit.ask(answers).tolist()
    audit.answer({image: bool(relevant[image]) for image in asked})
    report = audit.report()
    right, missed = int(ranked[: report.taken].sum()), int(ranked[report.taken :].sum())
    true = {
        "precision": right / report.taken if report.taken else 1.0,
        "missed": missed,
        "recall": right / (right + missed),
    }
    found: dict[str, Estimate] = {name: getattr(report, name) for name in FIGURES}
    return {
        "labelled": labelled,
        "taken": report.taken,
        "near": len(audit.strata[1]),
        "far": len(audit.strata[2]),
        "truth": true,
        "holds": {
            name: one.low - 1e-9 <= true[name] <= one.high + 1e-9 for name, one in found.items()
        },
        "intervals": {name: [one.low, one.value, one.high] for name, one in found.items()},
    }


def summary(searches: list[dict]) -> dict[str, dict[str, float]]:
    """Of each figure the part of searches whose intervals hold the truth, and the median width."""
    return {
        name: {
            "holds": float(np.mean([one["holds"][name] for one in searches])),
            "width": float(np.median([np.ptp(one["intervals"][name]) for one in searches])),
        }
        for name in FIGURES
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="+", default=["scenes13", "corel1k", "butterflies"])
    parser.add_argument("--searches", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--answers", type=int, default=60)
    parser.add_argument("--out", type=Path, help="where to write JSON")
    arguments = parser.parse_args()
    report = {}
    for name in arguments.data:
        tasks = datasets.load(name).tasks
        pool, rng = Pool(tasks[0].train), np.random.default_rng(0)
        chosen = rng.integers(len(tasks), size=arguments.searches).tolist()
        searches = [
            audited(
                pool, tasks[task].train_relevance == 1, arguments.rounds, arguments.answers, seed
            )
            for seed, task in enumerate(
                track(chosen, description=name, console=Console(stderr=True))
            )
        ]
        report[name] = {"images": len(pool), **summary(searches), "searches": searches}
    print(f"{'data':12}{'images':>8}" + "".join(f"{name:>12}{'width':>8}" for name in FIGURES))
    for name, one in report.items():
        columns = "".join(
            f"{one[figure]['holds']:12.1%}{one[figure]['width']:8.2f}" for figure in FIGURES
        )
        print(f"{name:12}{one['images']:8,}{columns}")
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
