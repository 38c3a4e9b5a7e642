"""How searches grow: with the images, over a Ray cluster, and over files that are mapped.

    python benchmarks/scale.py --out build/scale.json

Rounds are those of `context`: `suggest(4)` and `answer`. All figures are ratios within one run, and
what is compared is timed in turns, after a pause.

(a) rounds over 512 dimensions in float32 at growing sizes against four passes `X @ x` over the same
    matrix, and the power of the size that time grows with;
(b) rounds over the largest of these on Ray with two actors, against the same on threads;
(c) images of 128 dimensions in float16 in a file that is mapped: seconds until they are open and
    until a search can begin, a round against four passes over the file (blocks converted to
    float32, one product each, on all threads), and memory beyond the file's pages with 41 labels;
(d) what a round costs as a sum of what it reads and computes: constants are fitted to some sizes,
    and foretell others.
"""

from __future__ import annotations

import sys

sys.path.pop(0)  # beside this file lies one that is named like the standard library's `select`

import argparse
import gc
import json
import statistics
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import optimize

import ital
from ital.engine import Engine, at_work, block_rows, for_blocks
from ital.pool import Pool

sys.path.insert(0, str(Path(__file__).parent))
from pools import clustered, rested, seconds

sys.path.pop(0)  # the processes that Ray starts are not to find it, either

BATCH = 4
ROUNDS = 10
QUERY = 17
BLOCK = 4096


def begun(pool: Pool) -> ital.Search:
    search = ital.Search(pool, "context", seed=0)
    search.query(relevant=[QUERY])
    return search


def one_round(search: ital.Search, cluster: npt.NDArray[np.int64]) -> None:
    ids = search.suggest(BATCH)
    search.answer({int(i): bool(cluster[i] == cluster[QUERY]) for i in ids})


def passes(features: npt.NDArray[Any]) -> Callable[[], None]:
    """Four passes over features, each of them a product with a vector."""
    vector = np.asarray(features[0], dtype=np.float32)

    def multiply() -> None:
        for _ in range(BATCH):
            if features.dtype == np.float32:
                features @ vector  # on all threads of BLAS
                continue
            out = np.empty(len(features), dtype=np.float32)

            def one_block(lo: int, hi: int, out: npt.NDArray[np.float32] = out) -> None:
                np.matmul(features[lo:hi].astype(np.float32), vector, out=out[lo:hi])

            for_blocks(one_block, len(features), BLOCK)

    return multiply


def against_passes(
    features: npt.NDArray[Any], cluster: npt.NDArray[np.int64], pool: Pool, rounds: int
) -> dict[str, float]:
    """Medians over the rounds of one search, in turns with passes."""
    search, multiply = begun(pool), passes(features)
    took, compared = [], []
    for _ in range(rounds):
        compared.append(rested(multiply))
        took.append(rested(lambda: one_round(search, cluster)))
    return {
        "round_s": statistics.median(took),
        "four_passes_s": statistics.median(compared),
        "ratio": statistics.median(a / b for a, b in zip(took, compared, strict=True)),
        "labels": len(search.labels),
    }


def growth(sizes: list[int], dimension: int, rounds: int) -> dict[str, Any]:
    """(a)."""
    features, cluster = clustered(max(sizes), dimension)
    found = {
        size: against_passes(features[:size], cluster, Pool(features[:size]), rounds)
        for size in sorted(sizes)
    }
    logs = np.log([[size, one["round_s"]] for size, one in found.items()])
    power = float(np.polyfit(*logs.T, 1)[0]) if len(sizes) > 1 else None
    for size, one in found.items():
        print(
            f"(a) {size:,} x {dimension}: a round is {one['ratio']:.2f}x four passes "
            f"({one['round_s'] * 1e3:.0f} / {one['four_passes_s'] * 1e3:.0f} ms)"
        )
    if power is not None:
        print(f"(a) time grows with the size to the power of {power:.3f}")
    return {"sizes": found, "power": power}


def on_ray(size: int, dimension: int, rounds: int, shards: int) -> dict[str, float]:
    """(b)."""
    features, cluster = clustered(size, dimension)
    engines: dict[str, Engine] = {
        "threads": ital.ThreadEngine(),
        "ray": ital.RayEngine("local", shards),
    }
    searches = {name: begun(Pool(features, engine=one)) for name, one in engines.items()}
    took: dict[str, list[float]] = {name: [] for name in searches}
    for _ in range(rounds):
        for name, search in searches.items():
            took[name].append(rested(lambda search=search: one_round(search, cluster)))
    ids = [search.results(100).ids.tolist() for search in searches.values()]
    ratio = statistics.median(a / b for a, b in zip(took["ray"], took["threads"], strict=True))
    medians = {f"{name}_s": statistics.median(all_) for name, all_ in took.items()}
    print(
        f"(b) {size:,} x {dimension}, {shards} actors: {ratio:.2f}x the round on threads "
        f"({medians['ray_s'] * 1e3:.0f} / {medians['threads_s'] * 1e3:.0f} ms); the best hundred "
        f"{'are the same' if ids[0] == ids[1] else 'DIFFER'}"
    )
    return {**medians, "ratio": ratio, "shards": shards}


@contextmanager
def memory() -> Iterator[list[float]]:
    """What this process has in memory beyond files' pages, and had not before: the most, in MB."""

    def resident() -> float:
        status = Path("/proc/self/status").read_text()
        return int(status.split("RssAnon:")[1].split()[0]) / 1024

    gc.collect()  # what other parts have left
    before, largest, done = resident(), [0.0], threading.Event()

    def look() -> None:
        while not done.wait(0.02):
            largest[0] = max(largest[0], resident() - before)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield largest
    finally:
        done.set()
        watcher.join()


def mapped(size: int, dimension: int, folder: Path) -> dict[str, Any]:
    """(c)."""
    path = folder / f"{size}x{dimension}.npy"
    clusters = path.with_suffix(".clusters.npy")
    if not clusters.exists():
        file = np.lib.format.open_memmap(path, "w+", np.float16, (size, dimension))
        np.save(clusters, clustered(size, dimension, out=file)[1])
        del file
    cluster = np.load(clusters)
    with memory() as most:
        pools: list[Pool] = []
        opened = seconds(lambda: pools.append(Pool(np.load(path, mmap_mode="r"))))
        searches: list[ital.Search] = []
        first = seconds(lambda: searches.append(begun(pools[0])))
        multiply, search = passes(pools[0].features), searches[0]
        took, compared = [], []
        for number in range(ROUNDS):
            took.append(rested(lambda: one_round(search, cluster)))
            if number % 3 == 0:
                compared.append(rested(multiply))
    four = statistics.median(compared)
    ratios = [one / four for one in took]
    print(
        f"(c) {size:,} x {dimension} float16, mapped: open after {opened:.1f} s, a search begins "
        f"after {first:.1f} s more; rounds are {min(ratios):.2f} to {max(ratios):.2f}x four passes "
        f"(median {statistics.median(took):.2f} s / {four:.2f} s); {most[0]:,.0f} MB beyond the "
        f"file's pages, {len(search.labels)} labels"
    )
    return {
        "opened_s": opened,
        "first_search_s": first,
        "rounds_s": took,
        "four_passes_s": four,
        "ratios": ratios,
        "memory_mb": most[0],
        "labels": len(search.labels),
    }


Size = tuple[int, int, int]
"""Images, dimensions and labels before the round."""


def terms(size: Size) -> list[float]:
    """What a thread does in a round: at all, features read, rows of V read, images looked at."""
    n, d, labels = size
    share = n / at_work(n, block_rows(n))
    return [1.0, share * d, BATCH * share * labels, share]


def timed_rounds(sizes: list[Size], repeats: int) -> dict[Size, float]:
    """Medians, of all sizes in turns: a shared machine is faster now, and slower then."""
    largest = {d: max(n for n, other, _ in sizes if other == d) for _, d, _ in sizes}
    made = {d: clustered(n, d) for d, n in largest.items()}
    pools = {(n, d): Pool(made[d][0][:n]) for n, d, _ in sizes}
    took: dict[Size, list[float]] = {size: [] for size in sizes}
    for _ in range(repeats):
        for n, d, labels in sizes:
            search, cluster = begun(pools[n, d]), made[d][1]
            while len(search.labels) < labels:
                one_round(search, cluster)
            took[n, d, labels].append(rested(partial(one_round, search, cluster)))
    return {size: statistics.median(each) for size, each in took.items()}


def cost_model(fitted: list[Size], held_back: list[Size], repeats: int) -> dict[str, Any]:
    """(d)."""
    times = timed_rounds([*fitted, *held_back], repeats)
    # Errors count as parts of the time, and no part of the work takes less than nothing.
    rows = np.array([[term / times[size] for term in terms(size)] for size in fitted])
    constants, _ = optimize.nnls(rows / rows.max(axis=0), np.ones(len(rows)))
    constants /= rows.max(axis=0)
    found = []
    for size, took in times.items():
        foretold = float(constants @ terms(size))
        found.append(
            {
                "images": size[0],
                "dimensions": size[1],
                "labels": size[2],
                "seconds": took,
                "foretold_s": foretold,
                "held_back": size in held_back,
            }
        )
        word = "foretold" if size in held_back else "fitted"
        print(
            f"(d) {size[0]:,} x {size[1]}, {size[2]} labels: {took * 1e3:.1f} ms, {word} "
            f"{foretold * 1e3:.1f} ms ({foretold / took - 1:+.0%})"
        )
    names = ("round_s", "feature_s", "row_s", "image_s")
    constant = dict(zip(names, constants.tolist(), strict=True))
    print(
        f"(d) a round {constant['round_s'] * 1e3:.1f} ms, and in nanoseconds of each thread: "
        f"{constant['feature_s'] * 1e9:.3f} a feature, {constant['row_s'] * 1e9:.3f} an element "
        f"of V times a question, {constant['image_s'] * 1e9:.1f} an image"
    )
    return {"constants": constant, "sizes": found}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("build/scale.json"), help="for JSON")
    parser.add_argument("--parts", default="abcd", help="which of (a) to (d)")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[125_000, 250_000, 500_000, 1_000_000]
    )
    parser.add_argument("--dimension", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of each search in (a) and (b)")
    parser.add_argument("--shards", type=int, default=2, help="actors in (b)")
    parser.add_argument("--mapped", type=int, default=10_000_000, help="images in (c)")
    parser.add_argument("--mapped-dimension", type=int, default=128)
    parser.add_argument(
        "--folder", type=Path, help="for the file of (c), which stays there; a temporary one if not"
    )
    parser.add_argument("--repeats", type=int, default=7, help="searches for each size of (d)")
    options = parser.parse_args()
    report: dict[str, Any] = {}
    largest, dimension = max(options.sizes), options.dimension
    if "a" in options.parts:
        report["growth"] = growth(options.sizes, dimension, options.rounds)
    if "b" in options.parts:
        report["ray"] = on_ray(largest, dimension, options.rounds, options.shards)
    if "c" in options.parts:
        with tempfile.TemporaryDirectory() as temporary:
            folder = options.folder or Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            report["mapped"] = mapped(options.mapped, options.mapped_dimension, folder)
    if "d" in options.parts:
        some = [largest // part for part in (64, 16, 8, 2)]
        fitted = [
            (n, d, labels) for n in some for d in (dimension // 4, dimension) for labels in (1, 25)
        ]
        held_back = [
            (largest // 4, dimension // 2, 41),
            (largest, dimension, 13),
            (largest // 32, dimension, 37),
        ]
        report["costs"] = cost_model(fitted, held_back, options.repeats)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
