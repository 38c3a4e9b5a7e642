"""The seam between what is known of all images and where it is: objects, one for each shard.

A group holds objects of one kind, each with its slice of the pool. Whoever needs something of the
images asks all of them the same question, and whoever has learnt something tells all of them. What
goes in and what comes out are vectors and numbers; where the objects are is the engine's business.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

import numpy as np

from ital import checks
from ital.candidates import Candidates, Unlabelled
from ital.checks import FloatArray, IntArray, Rows
from ital.engine.cut import Cut
from ital.order import largest

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
U = TypeVar("U")


class ClusterError(RuntimeError):
    """A cluster that cannot do its work. What was said to a search is safe with the search."""


class Group(ABC, Generic[T]):
    """Objects of one kind, one for each shard. Questions and orders are methods of that kind."""

    def __init__(self, cut: Cut) -> None:
        self.cut = cut

    def __len__(self) -> int:
        return len(self.cut)

    def ask(
        self, question: Callable[Concatenate[T, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> list[R]:
        """What each of them answers. A question changes nothing."""
        everyone: list[tuple[int, dict[str, Any]]] = [(i, kwargs) for i in range(len(self))]
        return self._ask(question.__name__, args, everyone)

    def gather(
        self,
        question: Callable[..., FloatArray],
        rows: Rows | None,
        *args: Any,
        axis: int = -1,
    ) -> FloatArray:
        """Answers about images along an axis: about all, or in the order of ``rows``.

        The question takes ``rows`` of its own shard. Those that have none of them are not asked.
        """
        if rows is None:
            asked: list[tuple[int, dict[str, Any]]] = [
                (i, {"rows": None}) for i in range(len(self))
            ]
        else:
            asked = [(shard, {"rows": part}) for shard, _, part in self.cut.split(rows)]
        return self.cut.assemble(rows, self._ask(question.__name__, args, asked), axis)

    def best(
        self,
        question: Callable[..., tuple[IntArray, FloatArray]],
        count: int,
        candidates: Candidates,
        *args: Any,
    ) -> tuple[IntArray, FloatArray]:
        """The candidates of the ``count`` largest values in falling order, and their values.

        The question takes how many are wanted, ``rows`` of its own shard (``None`` for all) and
        those of them that are ``known``, which do not count, and gives rows and values. So nothing
        that leaves a shard is larger than what is asked for. Of equal values the lower row wins.
        """
        if isinstance(candidates, Unlabelled):
            known = candidates.known
            ends = np.searchsorted(known, self.cut.bounds)
            asked: list[tuple[int, dict[str, Any]]] = [
                (i, {"rows": None, "known": known[ends[i] : ends[i + 1]] - first})
                for i, (first, _) in enumerate(self.cut)
            ]
        else:
            asked = [
                (shard, {"rows": part, "known": np.empty(0, dtype=np.int64)})
                for shard, _, part in self.cut.split(candidates)
            ]
        found = self._ask(question.__name__, (count, *args), asked)
        shards = [shard for shard, _ in asked]
        rows = [self.cut.bounds[i] + part for i, (part, _) in zip(shards, found, strict=True)]
        together, values = np.concatenate(rows), np.concatenate([one for _, one in found])
        order = largest(values, count)
        return together[order], values[order]

    @abstractmethod
    def tell(
        self, order: Callable[Concatenate[T, P], None], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Have each of them do something that changes it."""

    @abstractmethod
    def build(
        self, make: Callable[Concatenate[T, P], U], *args: P.args, **kwargs: P.kwargs
    ) -> Group[U]:
        """Objects that are made of these, each beside the one that it is made of."""

    @abstractmethod
    def deal(self, make: Callable[..., U], array: FloatArray, *args: Any) -> Group[U]:
        """The same, ``make(one of these, its part of the array, *args)`` for each.

        The array has a number for each image.
        """

    @abstractmethod
    def _ask(
        self, question: str, args: Sequence[Any], asked: list[tuple[int, dict[str, Any]]]
    ) -> list[Any]:
        """What some shards, each with arguments of its own, answer to a question by its name."""


class Engine(ABC):
    """Where the shards of a pool are."""

    @abstractmethod
    def group(self, images: int, make: Callable[..., T], *args: Any) -> Group[T]:
        """Objects over the shards of so many images: ``make(first, last, *args)`` for each."""


class _Local(Group[T]):
    def __init__(self, cut: Cut, members: list[T]) -> None:
        super().__init__(cut)
        self._members = members

    def tell(
        self, order: Callable[Concatenate[T, P], None], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        for member in self._members:
            order(member, *args, **kwargs)

    def build(
        self, make: Callable[Concatenate[T, P], U], *args: P.args, **kwargs: P.kwargs
    ) -> Group[U]:
        return _Local(self.cut, [make(member, *args, **kwargs) for member in self._members])

    def deal(self, make: Callable[..., U], array: FloatArray, *args: Any) -> Group[U]:
        parts = (array[first:last] for first, last in self.cut)
        pairs = zip(self._members, parts, strict=True)
        return _Local(self.cut, [make(member, part, *args) for member, part in pairs])

    def _ask(
        self, question: str, args: Sequence[Any], asked: list[tuple[int, dict[str, Any]]]
    ) -> list[Any]:
        return [getattr(self._members[i], question)(*args, **more) for i, more in asked]


class ThreadEngine(Engine):
    """Shards in this process, each of which is worked on by all threads of the machine.

    Args:
        shards: how many. One is the fastest; results are the same with any number.

    """

    def __init__(self, shards: int = 1) -> None:
        self.shards = checks.whole_number(shards, "shards", least=1)

    def group(self, images: int, make: Callable[..., T], *args: Any) -> Group[T]:
        cut = Cut.of(images, self.shards)
        return _Local(cut, [make(first, last, *args) for first, last in cut])
