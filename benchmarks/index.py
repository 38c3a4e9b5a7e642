"""How much of ONNX Runtime's speed indexing keeps, and what a second run costs.

    python benchmarks/index.py FOLDER --out build/index.json

Copies the pictures of FOLDER and indexes them, several times in turn with ONNX Runtime alone: the
same network on all cores, fed with arrays that are ready in memory. Printed is the ratio of
pictures per second, and the time of a second run over the unchanged folder as a part of the first.
Both runs are in one process, without the seconds that Python takes to load its libraries.
"""

from __future__ import annotations

import sys

sys.path.pop(0)  # beside this file lies one that is named like the standard library's `select`

import argparse
import json
import shutil
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from ital.collection import describe, index
from ital.collection.encoder import Encoder
from ital.collection.indexer import BATCH
from ital.engine import cores

READY = 256
"""Pictures that are held as arrays."""


def network_alone(encoders: list[Encoder], ready: npt.NDArray[np.generic], count: int) -> float:
    """Pictures per second of ONNX Runtime: the better of one session and of one for each core."""

    def rate(encoder: Encoder, threads: int) -> float:
        def run(start: int) -> None:
            place = start % (len(ready) - BATCH + 1)
            encoder.run(ready[place : place + BATCH], encoder.model.output)

        with ThreadPoolExecutor(threads) as pool:
            begun = time.perf_counter()
            list(pool.map(run, range(0, count, BATCH)))
            return count / (time.perf_counter() - begun)

    together, apart = encoders
    return max(rate(together, 1), rate(apart, cores()))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="lite0")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, help="where to write JSON")
    arguments = parser.parse_args()
    model = describe(arguments.model)
    encoders = [Encoder(model), Encoder(model, threads=1)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "pictures"
        shutil.copytree(arguments.folder, folder, ignore=shutil.ignore_patterns(".ital"))
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        ready = []
        for path in files[:READY]:
            with Image.open(path) as image:
                ready.append(encoders[0].prepare(image.convert("RGB")))
        arrays = np.stack(ready)
        results = []
        for number in range(arguments.repeats):
            alone = [network_alone(encoders, arrays, len(files))]
            store = Path(name) / f"store-{number}"
            begun = time.perf_counter()
            done = index(folder, store, model)
            first = time.perf_counter() - begun
            begun = time.perf_counter()
            index(folder, store, model)
            second = time.perf_counter() - begun
            # Before and after, because the machine may be shared with others.
            alone.append(network_alone(encoders, arrays, len(files)))
            rate = statistics.mean(alone)
            results.append(
                {
                    "network": rate,
                    "index": done.embedded / first,
                    "ratio": done.embedded / first / rate,
                    "again": second / first,
                }
            )
            print(
                f"indexing {results[-1]['index']:6.1f} pictures/s, the network alone {rate:6.1f}: "
                f"{results[-1]['ratio']:.1%}; a second run {second / first:.2%} of the first"
            )
    medians = {key: statistics.median(one[key] for one in results) for key in results[0]}
    print(
        f"medians: {medians['ratio']:.1%} of the network's speed, "
        f"a second run {medians['again']:.2%} of the first"
    )
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps({"medians": medians, "runs": results}, indent=1))


if __name__ == "__main__":
    main()
