"""The experiments of the paper, for all data that are here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ital.evaluation import tune
from ital.evaluation.datasets import MissingDataError, load
from ital.evaluation.experiment import Settings
from ital.evaluation.published import TABLE_1, TABLE_2

QUERIES = {"butterflies": 50, "usps": 25, "scenes13": 10, "mirflickr": 10, "imagenet": 10}
"""Queries of each class, section 4.1."""

QUICK_STRATEGIES = ("ital", "entropy", "border_div", "tcal", "random", "topscoring")
IMPERFECT = ("aggressive", "conservative", "blend")
SHOTS = 5
"""Images of each class from which kernels are chosen: rankings are made from a few labels."""

DIMENSIONS = (64, 128, 256, 512, 1024)


def experiments(quick: bool = False) -> Iterator[Settings]:
    """Tables 1 and 2, appendix B (users) and appendix C (dimensions).

    With ``quick``, two queries of a class, fewer strategies and no data set of many images.
    """
    here = {data: found for data in QUERIES if (found := _dimension(data)) is not None}
    both = tuple(dict.fromkeys([*TABLE_1, *TABLE_2]))
    for data in here:
        if quick and data in ("usps", "mirflickr", "imagenet"):
            continue
        chosen = QUICK_STRATEGIES if quick else both
        count = 2 if quick else QUERIES[data]
        yield Settings(data, chosen, count, paper_queries=True)
    if "scenes13" in here:
        variants = ("ital:user=perfect", "ital:posterior=exact")
        chosen = ("ital:posterior=exact", "random") if quick else (*TABLE_1, *variants)
        perfect = Settings("scenes13", chosen, 1 if quick else 10, paper_queries=True)
        for user in IMPERFECT:
            yield replace(perfect, user=user)
    # The paper varies the dimension of MIRFLICKR.
    data = "mirflickr" if "mirflickr" in here and not quick else "scenes13"
    for dimension in DIMENSIONS:
        if dimension < here.get(data, 0):
            chosen = QUICK_STRATEGIES[:2] if quick else TABLE_1
            yield Settings(data, chosen, 1 if quick else 10, paper_queries=True, pca=dimension)


def _dimension(data: str) -> int | None:
    """How many dimensions the images span at the most, if they are here."""
    try:
        return int(min(load(data).tasks[0].train.shape))
    except MissingDataError:
        return None


def kernel(settings: Settings, folder: Path) -> dict[str, Any]:
    """The paper's kernel for some data, or one that is chosen and then kept in the folder."""
    dataset = load(settings.data, settings.pca)
    if dataset.kernel:
        return dataset.kernel
    name = settings.data if settings.pca is None else f"{settings.data}-{settings.pca}"
    path = folder / f"{name}.kernel.json"
    if not path.exists():
        tune.write(tune.tune(dataset, shots=SHOTS)[0].kernel, path)
    return tune.read(path)
