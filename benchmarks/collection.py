"""What it takes to open a collection, and to look up a thumbnail in it.

    python benchmarks/collection.py --out build/collection.json

(a) Opening: seconds until pictures and embeddings can be used, and resident memory that this takes,
    each time in a process of its own; mapped into memory as `ital index` leaves them, and read from
    the table as where nothing can be written, in turns. Medians.
(b) A thumbnail by the identifier of its picture: at its address, which opening finds; by the index
    of identifiers; and by a pass over the table, as without either. Medians of one process.
(c) Bytes that the embedding of a picture takes in memory, and seconds from answers to the next
    batch of `context`, with all dimensions and with 128, in float32 and in float16; in turns,
    medians.
"""

from __future__ import annotations

import sys

sys.path.pop(0)  # beside this file lies one that is named like the standard library's `select`

import argparse
import json
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from filelock import FileLock

import ital
from ital.collection.store import Store

sys.path.insert(0, str(Path(__file__).parent))
from serve import make_collection  # takes the folder out of the path again

OPEN = """
import json, sys, time
from ital.collection import Collection
def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024
memory, begun = resident(), time.perf_counter()
collection = Collection.open(sys.argv[1])
collection.features()
print(json.dumps({"seconds": time.perf_counter() - begun, "megabytes": resident() - memory}))
"""


def opened(folder: Path) -> dict[str, float]:
    """What it takes to open a collection."""
    command = [sys.executable, "-c", OPEN, folder]
    measured = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    result: dict[str, float] = json.loads(measured)
    return result


def read(folder: Path) -> dict[str, float]:
    """The same without files to map."""
    for place in (folder / ".ital").glob("mapped-*"):
        shutil.rmtree(place)
    with FileLock(folder / ".ital" / "lock"):  # nor may any be made
        return opened(folder)


def mapped(folder: Path) -> dict[str, float]:
    ital.Collection.open(folder).features()  # makes the files
    return opened(folder)


def thumbnails(folder: Path, repeats: int) -> dict[str, float]:
    """Milliseconds for one, by the way in which it is looked up."""
    collection = ital.Collection.open(folder)
    table = Store.find(folder).table("synthetic")
    assert table is not None
    chosen = np.random.default_rng(0).choice(collection.ids, repeats).tolist()

    def median(look: Callable[[int], object]) -> float:
        look(chosen[0])
        taken = []
        for one in chosen:
            begun = time.perf_counter()
            look(one)
            taken.append(1000 * (time.perf_counter() - begun))
        return statistics.median(taken)

    found = {"address": median(collection.thumbnail), "index": median(table.thumbnail)}
    table._table.drop_index("id_idx")
    found["pass"] = median(table.thumbnail)
    return found


def rounds(size: int, dimension: int, count: int) -> dict[str, dict[str, float]]:
    """What a round of a search takes, by the kind of the embeddings."""
    rng = np.random.default_rng(0)
    spectrum = (1 / np.sqrt(np.arange(1, dimension + 1))).astype(np.float32)
    whole = rng.standard_normal((size, dimension), np.float32) * spectrum
    kinds = {}
    # The principal components of such vectors are the first axes.
    for name, vectors in (("all", whole), ("128", whole[:, :128])):
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        kinds |= {f"{name} float32": unit, f"{name} float16": unit.astype(np.float16)}
    relevant = kinds["all float32"] @ kinds["all float32"][0] > 0.3
    searches = {kind: ital.Search(features, seed=0) for kind, features in kinds.items()}
    taken: dict[str, list[float]] = {kind: [] for kind in kinds}
    for search in searches.values():
        search.query(relevant=[0])
    batches = {kind: search.suggest(4) for kind, search in searches.items()}
    for _ in range(count):
        for kind, search in searches.items():
            begun = time.perf_counter()
            search.answer({int(one): bool(relevant[one]) for one in batches[kind]})
            batches[kind] = search.suggest(4)
            taken[kind].append(time.perf_counter() - begun)
    return {
        kind: {"bytes": features[0].nbytes, "seconds": statistics.median(taken[kind])}
        for kind, features in kinds.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=200_000)
    parser.add_argument("--dimension", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, help="where to write JSON")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "pictures"
        make_collection(folder, arguments.size, arguments.dimension)
        ways = {"mapped": mapped, "read": read}
        runs = [{way: take(folder) for way, take in ways.items()} for _ in range(arguments.repeats)]
        opening = {
            way: {key: statistics.median(run[way][key] for run in runs) for key in runs[0][way]}
            for way in ways
        }
        looking = thumbnails(folder, 20 * arguments.repeats)
    searching = rounds(arguments.size, arguments.dimension, 2 * arguments.repeats)
    for way, one in opening.items():
        print(f"(a) {way:6} {1000 * one['seconds']:7.0f} ms, {one['megabytes']:6.0f} MB resident")
    ratio = opening["read"]["seconds"] / opening["mapped"]["seconds"]
    print(f"(a) mapped files open {ratio:.0f} times as fast")
    for way, taken in looking.items():
        print(f"(b) by {way:8} {taken:6.2f} ms, {looking['pass'] / taken:.1f} times as fast")
    for kind, one in searching.items():
        times = searching["all float32"]["seconds"] / one["seconds"]
        size, milliseconds = one["bytes"], 1000 * one["seconds"]
        print(
            f"(c) {kind:12} {size:5} bytes a picture, {milliseconds:6.0f} ms a round, "
            f"{times:.1f} times as fast"
        )
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        report = {"opening": opening, "ratio": ratio, "thumbnails": looking, "rounds": searching}
        arguments.out.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
