"""How well models describe photographs, and how long they take.

    python benchmarks/models.py FOLDER --models lite0 lite1 tinyvit-5m.onnx tinyvit-5m.onnx+lite0 \
        --out build/models

FOLDER holds pictures of several kinds, a hundred of each in the order of names, as Corel-1k. They
are indexed by each model, as `ital index --model` does it. Printed are the dimensions, how many of
the ten nearest pictures are of the same kind in the mean, the area under the learning curve of
`context` with a learnt base rate (75 of each kind are asked about, 25 are ranked), and how long a
picture takes: seconds of the processor, for the machine may be shared with others, also as a
multiple of the first model's. What is in the folder --out already is not measured again.
"""

from __future__ import annotations

import sys

sys.path.pop(0)  # beside this file lies one that is named like the standard library's `select`

import argparse
import json
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


def indexed(folder: Path, place: Path, model: str) -> tuple[npt.NDArray[np.float32], float]:
    """What a search sees of the pictures, in the order of their names, and seconds for each."""
    begun = time.process_time()
    done = index(folder, place / "store", describe(model))
    taken = place / "seconds"
    if done.embedded == done.pictures:
        taken.write_text(str((time.process_time() - begun) / done.embedded))
    collection = Collection.open(place / "store")
    order = np.argsort(np.array(list(collection.paths)))
    return collection.features()[order], float(taken.read_text()) if taken.exists() else np.nan


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
    out = archive.with_name(f"runs-{queries}")
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
    parser.add_argument("--queries", type=int, default=5, help="of each kind")
    parser.add_argument("--out", type=Path, default=Path("build/models"), help="a folder")
    arguments = parser.parse_args()
    report = {}
    seen = {}
    for number, model in enumerate(arguments.models):
        place = arguments.out / str(number)
        place.mkdir(parents=True, exist_ok=True)
        seen[model] = indexed(arguments.folder, place, model)
        features = seen[model][0]
        kinds = np.arange(len(features)) // arguments.each
        np.savez(place / "features.npz", X=features, y=kinds)
        nearest = precision_of_nearest(features, kinds)
        report[model] = {"dimensions": features.shape[1], "nearest": nearest}
        report[model] |= {"seconds": seen[model][1]}
        print(f"{Path(model).name}: nearest {nearest:.4f}", flush=True)
    first = report[arguments.models[0]]["seconds"]
    for number, (model, about) in enumerate(report.items()):
        found = areas(arguments.out / str(number) / "features.npz", arguments.queries)
        about |= {"area": float(found.mean()), "areas": found.tolist()}
        width = interval(found)
        print(
            f"{Path(model).name:30} {about['dimensions']:5} dimensions, nearest "
            f"{about['nearest']:.4f}, area {found.mean():.4f} ± {width:.4f}, "
            f"{1000 * about['seconds']:6.1f} ms a picture, {about['seconds'] / first:.2f} times",
            flush=True,
        )
    (arguments.out / "report.json").write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
