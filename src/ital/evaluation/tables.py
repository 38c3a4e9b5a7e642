"""Tables of results: areas, ranks, tests against the best, beside what the paper prints."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from ital.evaluation import published
from ital.evaluation.experiment import Result, Settings
from ital.evaluation.journal import Journal
from ital.evaluation.metrics import area_under_curve, published_area
from ital.gaussian import FloatArray

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Row:
    """One strategy in one run."""

    strategy: str
    queries: int
    area: float
    """Mean area under the curves of average precision; the best possible is 1."""
    interval: float
    """Half the width of the 95 % confidence interval of that mean."""
    ndcg: float
    """The same area for NDCG."""
    rank: int
    p_value: float | None
    """Of a paired t-test against the best strategy; none for the best itself."""
    published: float
    """The mean area as the paper's tables have it, divided by the points of the curve."""
    paper: float | None
    """What the paper prints."""
    seconds: float | None
    """The median time of a batch."""

    @property
    def difference(self) -> float | None:
        return None if self.paper is None else self.published - self.paper


@dataclass(frozen=True)
class Run:
    """A finished or unfinished experiment, read from its folder."""

    name: str
    settings: Settings
    results: dict[str, list[Result]]
    rows: list[Row]
    """Best first."""

    def curves(self, strategy: str) -> FloatArray:
        """Average precisions, a row for each query and a column for each round."""
        return curves([result.precision for result in self.results[strategy]])

    @property
    def missing(self) -> dict[str, int]:
        """Queries that strategies lack beside the one that has most."""
        most = max(len(results) for results in self.results.values())
        return {name: most - len(one) for name, one in self.results.items() if len(one) < most}


def curves(precisions: list[list[float]]) -> FloatArray:
    """Curves of equal length: where nothing was left to ask, quality stays as it was."""
    rounds = max(len(one) for one in precisions)
    return np.array([one + one[-1:] * (rounds - len(one)) for one in precisions])


def interval(values: FloatArray) -> FloatArray:
    """Half the width of the confidence interval of the mean of each column."""
    if len(values) < 2:
        return np.zeros(values.shape[1:])
    width: FloatArray = stats.sem(values, axis=0) * stats.t.ppf(
        (1 + CONFIDENCE) / 2, len(values) - 1
    )
    return width


def read(folder: Path) -> list[Run]:
    """The runs in a folder: its own, or those of the folders in it."""
    if not folder.is_dir():
        raise ValueError(f"runs must be a folder, but there is none at {folder}")
    found = sorted(
        {path.parent for path in [*folder.glob("settings.json"), *folder.glob("*/settings.json")]}
    )
    if not found:
        raise ValueError(f"runs must be a folder of runs, but {folder} has no settings.json")
    runs = [_run(path) for path in found]
    some = [run for run in runs if run.results]
    if not some:
        raise ValueError(f"runs must be a folder with results, but {folder} has none yet")
    return some


def _run(folder: Path) -> Run:
    journal = Journal(folder)
    settings = journal.settings()
    results = {label: found for label in settings.strategies if (found := journal.results(label))}
    name = folder.name
    return Run(name, settings, results, _rows(settings, results, journal))


def _rows(settings: Settings, results: dict[str, list[Result]], journal: Journal) -> list[Row]:
    areas = {
        label: {(one.task, one.place): area_under_curve(one.precision) for one in found}
        for label, found in results.items()
    }
    order = sorted(areas, key=lambda label: -np.mean(list(areas[label].values())))
    rows = []
    for rank, label in enumerate(order, start=1):
        values = np.array(list(areas[label].values()))
        whole = curves([one.precision for one in results[label]])
        seconds = journal.seconds(label)
        perfect = settings.user == "perfect" and settings.pca is None
        rows.append(
            Row(
                label,
                len(values),
                float(values.mean()),
                float(interval(values[:, None])[0]),
                float(np.mean([area_under_curve(one.ndcg) for one in results[label]])),
                rank,
                None if rank == 1 else _p_value(areas[order[0]], areas[label]),
                published_area(whole.mean(axis=0)),
                published.area(settings.data, label) if perfect else None,
                float(np.median(seconds)) if seconds else None,
            )
        )
    return rows


def _p_value(
    best: dict[tuple[int, int], float], other: dict[tuple[int, int], float]
) -> float | None:
    """Student's paired t-test over the queries that both were asked."""
    both = sorted(best.keys() & other.keys())
    differences = np.array([best[key] - other[key] for key in both])
    if len(both) < 2:
        return None
    if not differences.any():
        return 1.0
    return float(stats.ttest_1samp(differences, 0.0).pvalue)


@dataclass(frozen=True)
class Standing:
    """A strategy over several runs, as in Table 1."""

    strategy: str
    areas: dict[str, float]
    """By the names of the runs."""
    ranks: dict[str, int]
    """Among the strategies that are in all runs."""

    @property
    def mean_rank(self) -> float:
        return float(np.mean(list(self.ranks.values())))


def standings(runs: list[Run]) -> list[Standing]:
    """The strategies that are in all runs, by their mean ranks."""
    areas = {run.name: {row.strategy: row.area for row in run.rows} for run in runs}
    common = set.intersection(*(set(one) for one in areas.values()))
    found = [
        Standing(
            label,
            {name: one[label] for name, one in areas.items()},
            {
                name: 1 + sum(one[other] > one[label] for other in common)
                for name, one in areas.items()
            },
        )
        for label in common
    ]
    return sorted(found, key=lambda one: (one.mean_rank, one.strategy))
