"""The protocol of section 4.1: a query, then rounds of questions to a simulated user."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from ital.checks import Identifier, IntArray
from ital.gaussian import FloatArray
from ital.user import SimulatedUser, UserModel


class Seeker(Protocol):
    """What learns from examples and answers, asks, and ranks: ``Search``, or one of its peers."""

    def __len__(self) -> int: ...

    @property
    def labels(self) -> Mapping[Identifier, bool | None]: ...

    def query(self, relevant: list[int]) -> None: ...

    def suggest(self, k: int) -> IntArray: ...

    def answer(self, answers: Mapping[int, int]) -> None: ...

    def predict(self, vectors: npt.ArrayLike) -> FloatArray: ...


Q = TypeVar("Q")
S = TypeVar("S", bound=Seeker)


@dataclass(frozen=True)
class Round(Generic[Q]):
    """One round: the questions, the answers (1, -1, 0) and the quality of the ranking after it."""

    questions: IntArray
    answers: IntArray
    quality: Q
    seconds: float
    """What it took to choose the questions."""


def feedback_rounds(
    search: S,
    query: int | None,
    relevance: npt.ArrayLike,
    quality: Callable[[S], Q],
    rounds: int = 10,
    batch: int = 4,
    user: SimulatedUser | None = None,
) -> Iterator[Round[Q]]:
    """The state after the query, with no questions, and then after each round of feedback.

    Without a query it is up to the search to have something to begin with. Rounds end early when
    nothing is left to ask about.
    ``relevance`` is the truth about every image of the pool: 1, -1, or 0 for unnameable.
    """
    truth = np.asarray(relevance)
    user = user or SimulatedUser(UserModel())
    if query is not None:
        search.query(relevant=[query])
    nothing = np.empty(0, dtype=np.int64)
    yield Round(nothing, nothing, quality(search), 0.0)
    for _ in range(rounds):
        if len(search.labels) == len(search):
            return
        start = time.perf_counter()
        questions = search.suggest(batch)
        seconds = time.perf_counter() - start
        answers = user.answer(truth[questions])
        search.answer(dict(zip(questions.tolist(), answers.tolist(), strict=True)))
        yield Round(questions, answers, quality(search), seconds)
