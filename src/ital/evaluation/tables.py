"""Tables of results: areas, ranks, tests against the best, beside what the paper prints."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from ital.evaluation import published
from ital.evaluation.calibration import Calibration
from ital.evaluation.experiment import Result, Settings
from ital.evaluation.journal import Journal
from ital.evaluation.metrics import area_under_curve, published_area
from ital.gaussian import FloatArray
from ital.user import USERS

CONFIDENCE = 0.95

ROUNDS = (1, 4, 6, 10)
"""After which calibration stands in tables, and after the last."""

STAGES = (1, 2, 3, 10)
"""Rounds after which average precision stands in tables, and after the last: people stop early."""


MAIN = ("context", "ital")
"""Strategies that stand out in pictures: the first that is there."""


@dataclass(frozen=True)
class Row:
    """One strategy in one run."""

    strategy: str
    queries: int
    area: float
    """Mean area under the curves of average precision; the best possible is 1."""
    interval: float | None
    """Half the width of the 95 % confidence interval of that mean; a single query tells none."""
    ndcg: float
    """The same area for NDCG."""
    found: float | None
    """Relevant images that a user came across as answers, in the mean of queries; none of users who
    err, whose yes is not the truth."""
    found_per_question: float | None
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
class Calibrated:
    """What P(R = 1) of one strategy was worth after a round."""

    strategy: str
    round: int
    brier: float
    log_loss: float
    ratio: float
    """The median of the expected over the true number of relevant images."""
    coverage: float | None
    """The part of the queries with an interval whose interval holds the true number."""


@dataclass(frozen=True)
class Run:
    """A finished or unfinished experiment, read from its folder."""

    name: str
    settings: Settings
    results: dict[str, list[Result]]
    """Of the queries that all strategies have been asked: means over others would compare those."""
    rows: list[Row]
    """Best first."""
    missing: dict[str, int]
    """Queries that strategies have still to be asked."""
    features: str | None
    """The hash of the data."""

    @property
    def is_plain(self) -> bool:
        """All features and a perfect user, as in Table 1."""
        return self.settings.user == "perfect" and self.settings.pca is None

    @property
    def base_rate(self) -> str:
        """The base rate of the model in words."""
        rate = self.settings.base_rate
        if rate is None:
            return "none"
        return "learnt" if isinstance(rate, str) else f"{rate:g}"

    @property
    def main(self) -> str | None:
        """The strategy that the run is about: the one that a search has unless told otherwise."""
        return next((label for label in MAIN if label in self.results), None)

    def curves(self, strategy: str) -> FloatArray:
        """Average precisions, a row for each query and a column for each round."""
        return curves([result.precision for result in self.results[strategy]])

    def stages(self) -> dict[str, dict[int, float]]:
        """Mean average precisions after some rounds, strategy by strategy."""
        means = {row.strategy: self.curves(row.strategy).mean(axis=0) for row in self.rows}
        last = max(map(len, means.values())) - 1
        rounds = [*(number for number in STAGES if number < last), last]
        return {
            label: {number: float(one[min(number, len(one) - 1)]) for number in rounds}
            for label, one in means.items()
        }

    def calibrations(self) -> dict[str, list[list[Calibration]]]:
        """States round by round, of all queries each, of the strategies that have them.

        A search that ended early stays as it was.
        """
        found = {}
        for row in self.rows:
            states = [result.calibration for result in self.results[row.strategy]]
            known = [one for one in states if one is not None]
            if len(known) == len(states):
                rounds = range(max(map(len, known)))
                found[row.strategy] = [[one[min(i, len(one) - 1)] for one in known] for i in rounds]
        return found

    def calibrated(self) -> list[Calibrated]:
        """The table of calibrations, strategy by strategy."""
        return [
            _calibrated(label, number, states)
            for label, rounds in self.calibrations().items()
            for number, states in enumerate(rounds)
            if number in (*ROUNDS, len(rounds) - 1)
        ]


def curves(precisions: list[list[float]]) -> FloatArray:
    """Curves of equal length: where nothing was left to ask, quality stays as it was."""
    rounds = max(len(one) for one in precisions)
    return np.array([one + one[-1:] * (rounds - len(one)) for one in precisions])


def ratios(states: list[Calibration]) -> FloatArray:
    """The expected over the true number of relevant images, query by query."""
    return np.array([one.expected / one.relevant for one in states])


def reliability(rounds: list[list[Calibration]]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Bins of P(R = 1), of all queries after all answers: images, sums of P, relevant ones."""
    states = [one for some in rounds[1:] for one in some]
    counts, sums, hits = (
        np.sum([getattr(one, name) for one in states], axis=0, dtype=float)
        for name in ("counts", "sums", "hits")
    )
    return counts, sums, hits


def _calibrated(strategy: str, number: int, states: list[Calibration]) -> Calibrated:
    # People are told whole numbers.
    held = [
        round(one.low) <= one.relevant <= round(one.high)
        for one in states
        if one.low is not None and one.high is not None
    ]
    return Calibrated(
        strategy,
        number,
        float(np.mean([one.brier for one in states])),
        float(np.mean([one.log_loss for one in states])),
        float(np.median(ratios(states))),
        float(np.mean(held)) if held else None,
    )


def interval(values: FloatArray) -> FloatArray | None:
    """Half the width of the confidence interval of the mean of each column."""
    if len(values) < 2:
        return None
    deviations = stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)
    width: FloatArray = stats.sem(values, axis=0) * deviations
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
    some = [run for run in runs if run.rows]
    if not some:
        raise ValueError(f"runs must be a folder with results, but {folder} has none yet")
    return some


def _run(folder: Path) -> Run:
    journal = Journal(folder)
    settings = journal.settings()
    found = {
        label: {(one.task, one.place): one for one in results}
        for label in settings.strategies
        if (results := journal.results(label))
    }
    common = sorted(set.intersection(*map(set, found.values()))) if found else []
    counts = {label: len(found.get(label, {})) for label in settings.strategies}
    total = journal.total() or max(counts.values())
    chosen = {label: [one[key] for key in common] for label, one in found.items()}
    return Run(
        folder.resolve().name,
        settings,
        chosen,
        _rows(settings, chosen, journal) if common else [],
        {label: total - count for label, count in counts.items() if count < total},
        journal.features(),
    )


def _rows(settings: Settings, results: dict[str, list[Result]], journal: Journal) -> list[Row]:
    whole = {label: curves([one.precision for one in found]) for label, found in results.items()}
    areas = {
        label: np.array([area_under_curve(curve) for curve in one]) for label, one in whole.items()
    }
    order = sorted(areas, key=lambda label: -float(areas[label].mean()))
    rows = []
    for label in order:
        values, seconds = areas[label], journal.seconds(label)
        width = interval(values[:, None])
        gains = curves([one.ndcg for one in results[label]])
        found, to_a_question = _found(results[label])
        is_true = USERS[settings.user].p_mistake == 0
        rows.append(
            Row(
                label,
                len(values),
                float(values.mean()),
                None if width is None else float(width[0]),
                float(np.mean([area_under_curve(curve) for curve in gains])),
                found if is_true else None,
                to_a_question if is_true else None,
                1 + sum(float(other.mean()) > float(values.mean()) for other in areas.values()),
                None if label == order[0] else _p_value(areas[order[0]] - values),
                published_area(whole[label].mean(axis=0)),
                published.area(settings.data, label) if _of_the_paper(settings) else None,
                float(np.median(seconds)) if seconds else None,
            )
        )
    return rows


def _found(results: list[Result]) -> tuple[float, float]:
    """Means over queries of the relevant images found in the end, and of those to a question."""
    found = np.array([one.found[-1] for one in results])
    asked = np.array([sum(map(len, one.questions)) for one in results])
    # A pool of the query alone has no questions.
    return float(found.mean()), float(np.mean(found / np.maximum(asked, 1)))


def _of_the_paper(settings: Settings) -> bool:
    """Whether the settings are those of the paper's tables."""
    kernel = {"variance": 1.0, "noise": 1e-6, **published.KERNELS.get(settings.data, {})}
    given = {name: getattr(settings, name) for name in ("length_scale", "variance", "noise")}
    return (
        (settings.rounds, settings.batch, settings.user) == (10, 4, "perfect")
        and settings.base_rate is None
        and (settings.pca is None or (settings.data, settings.pca) == ("mirflickr", 512))
        and all(value in (None, kernel.get(name)) for name, value in given.items())
    )


def _p_value(differences: FloatArray) -> float | None:
    """Student's paired t-test, from the differences of two strategies query by query."""
    if len(differences) < 2:
        return None
    if np.ptp(differences) == 0:
        return float(differences[0] == 0)
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


def alike(runs: list[Run]) -> dict[str, list[Run]]:
    """Runs that can be ranked together, two or more, by their base rates.

    Runs with users who err, over fewer dimensions, or under another base rate are other experiments
    on the same data.
    """
    plain = [run for run in runs if run.is_plain]
    found = {
        one.base_rate: [run for run in plain if run.base_rate == one.base_rate] for one in plain
    }
    return {rate: some for rate, some in found.items() if len(some) > 1}


def standings(runs: list[Run]) -> list[Standing]:
    """The strategies that are in all of some runs, by their mean ranks, as in Table 1."""
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
