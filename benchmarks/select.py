"""How fast and how large: selection and learning against passes over the features.

All figures are ratios taken within one run, because times on a shared machine mean little alone.
What is compared is timed alike: once, after a pause, as an answer finds the machine. (Memory that
was not read for a while is read at half the speed or less, by a round as by a plain pass.)

a. `suggest(4)` against the literal oracle of the tests, on 1,000 images of 50 dimensions;
b. a whole round, `suggest(4)` and `answer`, against four passes `X @ x` over the same matrix, for
   the strategies `context` and `ital`;
c. peak memory beyond the features with 41 labels;
d. how many candidates `ital` evaluated at each step;
e. what the base rate adds: a round with it against a round of the paper's prior, search by search,
   and the average over the pool that it needs once, against the four passes;
f. what is told after a round (count, thresholds, what the next batch is likely to change), against
   the round.

    python benchmarks/select.py --out build/select.json

The features are clustered: 100 centres are drawn from a normal distribution, each image is a random
centre plus noise of 0.7 times that distribution's deviations, scaled to unit length, as float32.
Relevant are the images of the query's cluster. The deviation of dimension j is j^-0.5, which is how
the principal components of learned image features fall off; `--spectrum flat` makes all of them
equal. That is the hard case: in 512 equal dimensions all images of different clusters are at nearly
the same distance, so that nearly all candidates tie in the first round.
"""

from __future__ import annotations

import sys

# The oracle is to be found, and this file is not to be taken for the standard library's `select`.
sys.path[0] += "/../tests"

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import ital
import oracle
from ital import insight
from ital.baserate import BaseRate
from ital.kernel import Kernel
from ital.model import RelevanceModel
from ital.pool import Pool
from ital.prior import Conditioned
from ital.strategies.greedy import Greedy
from ital.strategies.information import ITAL

sys.path.insert(0, str(Path(__file__).parent))
from pools import clustered, rested, seconds

ROUNDS = 10
BATCH = 4
STRATEGIES = ("context", "ital")


def resident_peak(reset: bool = False) -> float:
    """Peak resident memory of this process in MB, on Linux; since the last reset."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def against_oracle(size: int, sample: int) -> dict[str, float]:
    features, _ = clustered(size, 50)
    search = ital.Search(features, "ital", base_rate=None)
    search.query(relevant=[0])
    fast = statistics.median(seconds(lambda: search.suggest(BATCH)) for _ in range(5))
    candidates = np.arange(1, size)
    kernel = search.model.kernel
    model = oracle.Model(
        features.astype(float), {0: 1}, kernel.length_scale, kernel.variance, kernel.noise
    )
    slow = 0.0
    batch: list[int] = []
    chosen = search.suggest(BATCH)
    for step in range(BATCH):
        tried = np.random.default_rng(step).choice(np.setdiff1d(candidates, batch), sample)
        for i in tried:
            slow += seconds(lambda u=[*batch, int(i)]: oracle.mutual_information(model, u)) * (
                (size - 1 - step) / sample
            )
        batch.append(int(chosen[step]))
    return {"suggest_s": fast, "oracle_s": slow, "ratio": slow / fast, "sampled_candidates": sample}


def evaluated_candidates(search: ital.Search) -> list[int]:
    """How many candidates each step of the next `suggest` evaluates, on a copy of the model."""
    model = RelevanceModel(search.model.pool, search.model.kernel, search.model.prior)
    model.update(search.model.labels)
    candidates = np.delete(np.arange(len(search)), list(search.labels))
    greedy = Greedy(model, candidates, ITAL().objective(model))
    greedy.select(BATCH)
    return greedy.evaluated


def tell(search: ital.Search, batch: npt.NDArray[np.int64]) -> None:
    """All that the page says of a search."""
    insight.relevant(search)
    insight.thresholds(search)
    insight.outlook(search, batch)


def rounds(
    features: npt.NDArray[np.float32], cluster: npt.NDArray[np.int64], strategy: str, repeats: int
) -> dict[str, Any]:
    """Rounds 1, 2 and 10 of some searches with a strategy."""
    vector = features[0].copy()
    numbers = (1, 2, 10)
    ratios: dict[int, list[float]] = {number: [] for number in numbers}
    added: dict[int, list[float]] = {number: [] for number in numbers}
    told: dict[int, list[float]] = {number: [] for number in numbers}
    last: dict[int, tuple[float, float]] = {}
    before = resident_peak(reset=True)
    pool = Pool(features)
    kernel = Kernel.over(pool)
    average = seconds(lambda: Conditioned.of(pool, kernel))

    def searching(query: int, base_rate: BaseRate = "learn") -> ital.Search:
        settings = {"base_rate": base_rate, "length_scale": kernel.length_scale}
        search = ital.Search(pool, strategy, **settings)
        search.query(relevant=[query])
        return search

    def one_round(search: ital.Search, query: int) -> None:
        ids = search.suggest(BATCH)
        search.answer({int(i): bool(cluster[i] == cluster[query]) for i in ids})

    alone = searching(17)
    for _ in range(ROUNDS):
        one_round(alone, 17)
    memory, labels = resident_peak() - before, len(alone.labels)
    del alone
    for repeat in range(repeats):
        query = 17 + repeat
        searches = [searching(query), searching(query, None)]
        for number in range(1, ROUNDS + 1):
            passes = [rested(lambda: [features @ vector for _ in range(BATCH)]) for _ in range(5)]
            took = [rested(lambda one=one, query=query: one_round(one, query)) for one in searches]
            if number in numbers:
                ratios[number].append(took[0] / statistics.median(passes))
                added[number].append(took[0] / took[1])
                asked = searches[0].suggest(BATCH)
                told[number].append(rested(lambda a=asked, s=searches[0]: tell(s, a)) / took[0])
                last[number] = took[0], statistics.median(passes)
    return {
        **{
            f"round_{number}": {
                "ratio": statistics.median(ratios[number]),
                "ratios": ratios[number],
                "against_the_papers_prior": statistics.median(added[number]),
                "told_against_the_round": statistics.median(told[number]),
                "last_round_s": last[number][0],
                "last_four_passes_s": last[number][1],
            }
            for number in ratios
        },
        "labels": labels,
        "average_s": average,
        "average_ratio": average / last[10][1],
        "memory_beyond_features_mb": memory,
    }


def evaluated_in_rounds(
    features: npt.NDArray[np.float32], cluster: npt.NDArray[np.int64]
) -> list[list[int]]:
    """How many candidates `ital` evaluated at each step of each round."""
    search = ital.Search(features, "ital")
    search.query(relevant=[17])
    evaluated = []
    for _ in range(ROUNDS):
        evaluated.append(evaluated_candidates(search))
        ids = search.suggest(BATCH)
        search.answer({int(i): bool(cluster[i] == cluster[17]) for i in ids})
    return evaluated


def show(n: int, strategy: str, measured: dict[str, Any]) -> None:
    for number in (1, 2, 10):
        one = measured[f"round_{number}"]
        print(
            f"(b) {strategy}, {n:,} x 512, round {number}: {one['ratio']:.2f}x four passes "
            f"({one['last_round_s'] * 1e3:.1f} ms / {one['last_four_passes_s'] * 1e3:.1f} ms; "
            f"all {', '.join(f'{r:.2f}' for r in one['ratios'])})"
        )
        print(f"(e) against the paper's prior: {one['against_the_papers_prior']:.2f}x")
        print(f"(f) what is told / the round: {one['told_against_the_round']:.2f}x")
    print(
        f"(e) the average over the pool, once: {measured['average_s']:.2f} s, "
        f"{measured['average_ratio']:.1f}x four passes"
    )
    print(
        f"(c) memory beyond the features, {measured['labels']} labels: "
        f"{measured['memory_beyond_features_mb']:,.0f} MB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--out", type=Path, default=Path("build/select.json"), help="where to write JSON"
    )
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[20_000, 1_000_000], help="pool sizes"
    )
    parser.add_argument("--spectrum", choices=["falling", "flat"], default="falling")
    parser.add_argument("--repeats", type=int, default=5, help="searches for each size")
    parser.add_argument("--oracle-size", type=int, default=1000, help="images for the oracle")
    parser.add_argument("--oracle-sample", type=int, default=3, help="candidates for the oracle")
    arguments = parser.parse_args()
    report: dict[str, Any] = {}
    if arguments.oracle_sample:
        size = arguments.oracle_size
        found = report["against_oracle"] = against_oracle(size, arguments.oracle_sample)
        print(f"(a) oracle / suggest(4) on {size:,} x 50: {found['ratio']:,.0f}x")
    for n in arguments.sizes:
        features, cluster = clustered(n, 512, arguments.spectrum)
        report[f"{n}x512"] = {}
        for strategy in STRATEGIES:
            measured = rounds(features, cluster, strategy, arguments.repeats)
            report[f"{n}x512"][strategy] = measured
            show(n, strategy, measured)
        evaluated = report[f"{n}x512"]["evaluated_candidates"] = evaluated_in_rounds(
            features, cluster
        )
        for number, counts in enumerate(evaluated, 1):
            print(f"(d) round {number}: candidates evaluated at each step {counts}")
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
