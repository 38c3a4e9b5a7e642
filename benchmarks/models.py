"""How well models describe photographs, and how long they take, in one run.

    python benchmarks/models.py FOLDER --models lite0 lite1 tinyvit-5m.onnx tinyvit-5m.onnx+lite0

FOLDER holds pictures of several kinds, a hundred of each in the order of names, as Corel-1k. Each
is indexed by each model, as `ital index --model` does it. Printed are the dimensions, how many of
the ten nearest pictures are of the same kind in the mean, the area under the learning curve of
`context` with a learnt base rate (75 of each kind are asked about, 25 are ranked), and how long a
picture takes, also as a multiple of the first model's, for the machine may be shared with others.
"""

from __future__ import annotations

import sys

sys.path.pop(0)  # beside this file lies one that is named like the standard library's `select`

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ital.collection import Collection, describe, index
from ital.evaluation.experiment import Settings
from ital.evaluation.journal import Journal
from ital.evaluation.metrics import area_under_curve
from ital.evaluation.runner import run
from ital.evaluation.tables import interval

STRATEGY, NEAREST = "context", 10


def precision_of_nearest(features: npt.NDArray[np.float32], kinds: npt.NDArray[np.int64]) -> float:
    """The share of the nearest pictures that are of a picture's own kind, in the mean."""
    cosines = features.astype(float) @ features.T.astype(float)
    np.fill_diagonal(cosines, -np.inf)
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :NEAREST]
    return float((kinds[nearest] == kinds[:, None]).mean())


def areas(archive: Path, queries: int) -> npt.NDArray[np.float64]:
    """The area of each query."""
    settings = Settings(
        str(archive), (STRATEGY,), queries=queries, base_rate="learn", paper_queries=True
    )
    out = archive.with_suffix(".runs")
    run(settings, out)
    results = sorted(Journal(out).results(STRATEGY), key=lambda one: (one.task, one.place))
    return np.array([area_under_curve(one.precision) for one in results])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", nargs="+", default=["lite0", "lite1"])
    parser.add_argument("--each", type=int, default=100, help="pictures of a kind")
    parser.add_argument("--queries", type=int, default=10, help="of each kind")
    parser.add_argument("--out", type=Path, help="where to write JSON")
    arguments = parser.parse_args()
    report, first = {}, 0.0
    with tempfile.TemporaryDirectory() as name:
        for number, model in enumerate(arguments.models):
            place = Path(name) / str(number)
            begun = time.perf_counter()
            done = index(arguments.folder, place, describe(model))
            seconds = (time.perf_counter() - begun) / done.embedded
            first = first or seconds
            collection = Collection.open(place)
            order = np.argsort(np.array(list(collection.paths)))
            features = collection.features()[order]
            kinds = np.arange(len(features)) // arguments.each
            archive = place.with_suffix(".npz")
            np.savez(archive, X=features, y=kinds)
            found = areas(archive, arguments.queries)
            width = interval(found)
            report[model] = {
                "dimensions": features.shape[1],
                "nearest": precision_of_nearest(features, kinds),
                "area": float(found.mean()),
                "interval": None if width is None else [float(one) for one in np.ravel(width)],
                "areas": found.tolist(),
                "seconds": seconds,
            }
            print(
                f"{Path(model).name:30} {features.shape[1]:5} dimensions, nearest "
                f"{report[model]['nearest']:.4f}, area {found.mean():.4f}, "
                f"{1000 * seconds:6.1f} ms a picture, {seconds / first:.2f} times",
                flush=True,
            )
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
