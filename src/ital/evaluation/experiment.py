"""An experiment: which strategies are asked which queries of which data, and how one is played."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from ital import checks, strategies
from ital.baserate import BaseRate, prior_of
from ital.candidates import Candidates
from ital.checks import IntArray
from ital.evaluation import metrics
from ital.evaluation.calibration import Calibration
from ital.evaluation.datasets import NAMES, Dataset, Task, load
from ital.evaluation.peers import PEERS
from ital.evaluation.protocol import Seeker, feedback_rounds
from ital.model import RelevanceModel
from ital.pool import Pool
from ital.search import Search
from ital.strategies import Strategy
from ital.user import USERS, SimulatedUser


@dataclass(frozen=True)
class Settings:
    """All that the results of an experiment depend on."""

    data: str
    strategies: tuple[str, ...]
    """Of ``names()``, each with parameters if need be: ``ital:posterior=exact,user=perfect``."""
    queries: int = 10
    """Queries of each class."""
    rounds: int = 10
    batch: int = 4
    user: str = "perfect"
    """One of ``ital.USERS``: how the simulated user answers, and what strategies know of it."""
    length_scale: float | None = None
    """That of the paper for these data, and the median distance if there is none."""
    variance: float | None = None
    noise: float | None = None
    base_rate: BaseRate = None
    """As in ``ital.Search``; the paper's prior if ``None``."""
    pca: int | None = None
    paper_queries: bool = False
    """Queries as the paper drew them, instead of by the seed."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("queries", "rounds", "batch"):
            checks.whole_number(getattr(self, name), name, least=1)
        checks.whole_number(self.seed, "seed", least=0)
        for name in ("length_scale", "variance", "noise"):
            if getattr(self, name) is not None:
                checks.positive(getattr(self, name), name)
        prior_of(self.base_rate)
        if self.user not in USERS:
            raise ValueError(f"user must be one of {', '.join(USERS)}, got {self.user!r}")
        if not self.strategies or len(set(self.strategies)) < len(self.strategies):
            raise ValueError(f"strategies must be different ones, got {self.strategies}")

    @property
    def folder(self) -> str:
        """The name of its folder among those of other runs."""
        parts = [Path(self.data).resolve().stem if self.data not in NAMES else self.data]
        parts += [self.user] if self.user != "perfect" else []
        parts += [f"rate-{self.base_rate}"] if self.base_rate is not None else []
        parts += [str(self.pca)] if self.pca is not None else []
        return "-".join(parts)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "strategies": list(self.strategies)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        return cls(**{**content, "strategies": tuple(content["strategies"])})


@dataclass(frozen=True)
class Unit:
    """One query to one strategy."""

    strategy: str
    task: int
    place: int
    """The query's number among those of its class."""


@dataclass(frozen=True)
class Result:
    """What came of a query: qualities after the query and after each round, and what was asked."""

    task: int
    place: int
    name: str
    """Of the class that was looked for."""
    query: int
    precision: list[float]
    ndcg: list[float]
    questions: list[list[int]]
    answers: list[list[int]]
    calibration: list[Calibration] | None = None
    """After the query and after each round; none of peers, which tell no probabilities, nor in
    results of versions that did not measure it."""

    @property
    def found(self) -> list[int]:
        """How many images the user said yes to, without the query: before and after each round."""
        return [0, *accumulate(told.count(1) for told in self.answers)]


Submit = Callable[[Unit], Future[tuple[Result, list[float]]]]
"""Has a query played by whoever is free: the result, and the seconds that each batch took."""


class Selector(Protocol):
    """Anything that can choose a batch."""

    def select(
        self, model: RelevanceModel, candidates: IntArray, k: int, rng: np.random.Generator
    ) -> IntArray: ...


@dataclass(frozen=True)
class Foreign(Strategy):
    """A selector that is none of our strategies."""

    selector: Selector

    name = "foreign"

    def select(
        self, model: RelevanceModel, candidates: Candidates, k: int, rng: np.random.Generator
    ) -> IntArray:
        rows = np.asarray(candidates)
        batch = np.asarray(self.selector.select(model, rows, k, rng))
        wanted = min(k, len(rows))
        if (
            batch.shape != (wanted,)
            or len(np.unique(batch)) < wanted
            or not np.isin(batch, rows).all()
        ):
            raise ValueError(
                f"select must return {wanted} different ones of the candidates, got {batch!r}"
            )
        return batch.astype(np.int64)


def names() -> list[str]:
    """All that can be compared: the strategies, and then the peers."""
    return [*strategies.names(), *PEERS]


def check(label: str) -> None:
    """Refuse what is neither a peer nor a strategy with its parameters."""
    name, colon, _ = label.partition(":")
    if name not in PEERS:
        strategy(label)
    elif colon:
        raise ValueError(f"strategy must be {name} without parameters, got {label!r}")


def strategy(label: str) -> Strategy:
    """A strategy from its name and parameters: ``name:parameter=value,parameter=value``."""
    name, _, listed = label.partition(":")
    if name not in strategies.names():
        raise ValueError(f"strategy must be one of {', '.join(names())}, got {name!r}")
    parameters: dict[str, Any] = {}
    for part in filter(None, re.split(r",(?![^\[]*\])", listed)):
        key, equals, value = part.partition("=")
        if not equals:
            raise ValueError(
                f"strategy must be NAME or NAME:PARAMETER=VALUE,PARAMETER=VALUE, got {label!r}; "
                "where there are parameters, strategies have semicolons between them"
            )
        if key == "user" and value not in USERS:
            raise ValueError(f"user must be one of {', '.join(USERS)}, got {value!r}")
        parameters[key] = USERS[value] if key == "user" else _value(value)
    return strategies.create((name, parameters))


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def queries(task: Task, number: int, settings: Settings) -> IntArray:
    """The queries of a class: fixed ones, the paper's, or drawn by the seed; all that there are."""
    relevant = np.flatnonzero(task.train_relevance == 1) if task.queries is None else task.queries
    count = min(settings.queries, len(relevant))
    if settings.paper_queries:
        # The paper's code seeds NumPy's old generator anew for every class.
        drawn = np.random.RandomState(0).choice(relevant, (count, 1), replace=False)
        return drawn[:, 0].astype(np.int64)
    if task.queries is not None:
        return task.queries[:count]
    rng = np.random.default_rng([settings.seed, number])
    return rng.choice(relevant, count, replace=False).astype(np.int64)


def units(dataset: Dataset, settings: Settings) -> list[Unit]:
    """All that is to be played, strategy by strategy."""
    counts = [len(queries(task, i, settings)) for i, task in enumerate(dataset.tasks)]
    return [
        Unit(label, number, place)
        for label in settings.strategies
        for number, count in enumerate(counts)
        for place in range(count)
    ]


class Player:
    """Plays queries on one data set, of which it keeps the features that it used last."""

    def __init__(self, dataset: Dataset, settings: Settings) -> None:
        self.dataset, self.settings = dataset, settings
        self._pool: Pool | None = None
        self._median = 0.0

    @classmethod
    def of(cls, settings: Settings) -> Self:
        return cls(load(settings.data, settings.pca), settings)

    def play(self, unit: Unit, selector: Selector | None = None) -> tuple[Result, list[float]]:
        """The result of a query, and the seconds that each batch took."""
        settings, task = self.settings, self._task(unit.task)
        query = int(queries(task, unit.task, settings)[unit.place])
        chance = np.random.SeedSequence([settings.seed, unit.task, unit.place]).generate_state(2)
        if selector is None and unit.strategy in PEERS:
            search: Seeker = PEERS[unit.strategy](task.train, int(chance[0]))
        else:
            chosen = strategy(unit.strategy) if selector is None else Foreign(selector)
            search = self._search(task, chosen, int(chance[0]))
        named = task.test_relevance != 0
        # In double precision once, and not again for every prediction.
        relevant, vectors = task.test_relevance[named] == 1, task.test[named].astype(float)

        def quality(search: Seeker) -> tuple[float, float, Calibration | None]:
            scores = search.predict(vectors)
            return (
                metrics.average_precision(relevant, scores),
                metrics.ndcg(relevant, scores),
                Calibration.of(search, task.train_relevance)
                if isinstance(search, Search)
                else None,
            )

        user = SimulatedUser(USERS[settings.user], int(chance[1]))
        states = list(
            feedback_rounds(
                search,
                query,
                task.train_relevance,
                quality,
                settings.rounds,
                settings.batch,
                user,
            )
        )
        calibration = [state.quality[2] for state in states if state.quality[2] is not None]
        result = Result(
            unit.task,
            unit.place,
            task.name,
            query,
            [state.quality[0] for state in states],
            [state.quality[1] for state in states],
            [state.questions.tolist() for state in states[1:]],
            [state.answers.tolist() for state in states[1:]],
            calibration or None,
        )
        return result, [state.seconds for state in states[1:]]

    def _search(self, task: Task, strategy: Strategy, seed: int) -> Search:
        settings = self.settings
        return Search(
            self._features(task),
            strategy,
            USERS[settings.user],
            settings.base_rate,
            seed=seed,
            **self._kernel(),
        )

    def fingerprint(self) -> str:
        """A hash of the features, to know the data again."""
        return self._features(self._task(0)).fingerprint

    @lru_cache(maxsize=1)  # noqa: B019 - a player lives as long as its process
    def _task(self, number: int) -> Task:
        return self.dataset.tasks[number]

    def _features(self, task: Task) -> Pool:
        if self._pool is None or self._pool.features is not task.train:
            self._pool = Pool(task.train)
            self._median = self._pool.median_distance()
        return self._pool

    def _kernel(self) -> dict[str, Any]:
        names = ("length_scale", "variance", "noise")
        wanted = {name: getattr(self.settings, name) for name in names}
        given = {name: value for name, value in wanted.items() if value is not None}
        return {"length_scale": self._median, **self.dataset.kernel, **given}
