"""What many labels at once cost, against the same labels one after the other.

    python benchmarks/labels.py --out build/labels.json

A search over clustered images in single precision learns 500 answers at once, and takes them back.
Another learns the same answers one after the other. Seconds are those of the clock, and those that
processors were at it, which say more where others use them as well. How far apart predictive means
and variances are in the end is told, and how much memory the answers took beyond their rows of V.
"""

from __future__ import annotations

import sys

sys.path.pop(0)  # beside this file lies one that is named like the standard library's `select`

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import ital

sys.path.insert(0, str(Path(__file__).parent))
from pools import clustered


def timed(work: Callable[[], object]) -> dict[str, float]:
    """Seconds of the clock and of processors."""
    clock, processors = time.perf_counter(), time.process_time()
    work()
    return {
        "clock": time.perf_counter() - clock,
        "processors": time.process_time() - processors,
    }


def resident(what: str) -> int:
    """Bytes of memory that this process has (``VmRSS``) or had at most (``VmHWM``), on Linux."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split(f"{what}:")[1].split()[0])


def measured(images: int, dimension: int, count: int) -> dict[str, dict[str, float]]:
    features, cluster = clustered(images, dimension)
    chosen = np.random.default_rng(1).choice(np.arange(1, images), count, replace=False)
    answers = {int(one): bool(cluster[one] == cluster[0]) for one in chosen}
    search = ital.Search(features, seed=0)
    search.query(relevant=[0])
    Path("/proc/self/clear_refs").write_text("5")  # what it had at most is forgotten
    before = resident("VmRSS")
    at_once = timed(lambda: search.answer(answers))
    memory = resident("VmHWM") - before
    moments = search.model.moments()
    undo = timed(search.undo)

    def one_by_one() -> None:
        for image, label in answers.items():
            search.answer({image: label})

    singly = timed(one_by_one)
    means, variances = np.abs(search.model.moments() - moments).max(axis=1).tolist()
    return {
        "at once": at_once,
        "undo": undo,
        "one by one": singly,
        "ratio": {name: singly[name] / at_once[name] for name in singly},
        "apart": {"means": means, "variances": variances},
        "memory": {"taken": memory, "rows": 8 * images * count},
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=200_000)
    parser.add_argument("--dimension", type=int, default=512)
    parser.add_argument("--labels", type=int, default=500)
    parser.add_argument("--out", type=Path, help="where to write JSON")
    arguments = parser.parse_args()
    report = measured(arguments.images, arguments.dimension, arguments.labels)
    for what in ("at once", "undo", "one by one"):
        seconds = report[what]
        print(f"{what}: {seconds['clock']:.2f} s, processors {seconds['processors']:.2f} s")
    ratio, apart, memory = report["ratio"], report["apart"], report["memory"]
    print(
        f"one by one takes {ratio['clock']:.1f} times as long, of processors "
        f"{ratio['processors']:.1f} times; means are {apart['means']:.1e} apart, variances "
        f"{apart['variances']:.1e}"
    )
    print(f"{memory['taken'] / 1e6:.0f} MB were taken, of which rows {memory['rows'] / 1e6:.0f} MB")
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
