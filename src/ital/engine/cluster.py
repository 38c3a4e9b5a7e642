"""Shards on a Ray cluster."""

from __future__ import annotations

import itertools
import threading
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

import ray

from ital import checks
from ital.checks import FloatArray
from ital.engine.connection import OWN
from ital.engine.cut import Cut
from ital.engine.driver import Driver
from ital.engine.group import ClusterError, Engine, Group
from ital.engine.mapped import Mapped
from ital.engine.messages import pickled
from ital.engine.threads import cores

P = ParamSpec("P")
T = TypeVar("T")
U = TypeVar("U")


class RayEngine(Engine):
    """Shards as actors of a Ray cluster.

    When the cluster is gone for good, all that is asked of these shards raises ``ClusterError``.
    What was said to searches is safe with them. A new pool looks for the cluster again.

    Args:
        address: of the cluster; ``"local"`` starts a Ray of its own on this machine, and ``"auto"``
            is one that runs here already. Both are the Ray that this process is connected to, if
            it is.
        shards: how many; as many as the cluster has processors if ``None``.

    """

    def __init__(self, address: str = OWN, shards: int | None = None) -> None:
        if shards is not None:
            checks.whole_number(shards, "shards", least=1)
        self._address, self._processors = address, shards and max(shards, cores())
        processors = self._driver().ask("processors")
        self.shards = shards or processors
        # More than there are processors share these, for actors that have to wait for one would
        # wait for ever.
        self._share = min(1.0, processors / self.shards)
        if self.shards > processors:
            warnings.warn(
                f"{self.shards} shards are more than the {processors} processors of the cluster, "
                "which they will share",
                stacklevel=2,
            )

    def group(self, images: int, make: Callable[..., T], *args: Any) -> Group[T]:
        try:
            driver = self._driver()
        except ValueError as error:
            raise ClusterError(f"the cluster cannot be reached any more: {error}") from error
        group: _Remote[T] = _Remote(Cut.of(images, self.shards), driver, None)
        # A file is not sent: each actor opens it where it is.
        arrays = [Mapped.of(one) or one for one in args]
        driver.ask("make", group.key, group.cut, self._share, pickled(make), arrays)
        return group

    def _driver(self) -> Driver:
        """The one that is connected to the cluster; another, if that has ended."""
        address = self._address
        if address in (OWN, "auto") and ray.is_initialized():
            address = ray.get_runtime_context().gcs_address
        with _starting:
            driver = _drivers.get(address)
            if driver is None or not driver.runs:
                driver = _drivers[address] = Driver(address, self._processors)
            return driver


_drivers: dict[str, Driver] = {}
"""By address. Engines share them."""

_starting = threading.Lock()
_keys = itertools.count()


class _Remote(Group[T]):
    """Objects in actors, which are those of the group that they are built on, if there is one."""

    def __init__(self, cut: Cut, driver: Driver, base: Group[Any] | None) -> None:
        super().__init__(cut)
        self.key = next(_keys)
        self._driver = driver
        self._base = base  # it must not be dropped before
        weakref.finalize(self, driver.drop, self.key).atexit = False

    def tell(
        self, order: Callable[Concatenate[T, P], None], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        self._driver.ask("tell", self.key, order.__name__, pickled(args), pickled(kwargs))

    def build(
        self, make: Callable[Concatenate[T, P], U], *args: P.args, **kwargs: P.kwargs
    ) -> Group[U]:
        return self._built([pickled((make, args, kwargs))] * len(self))

    def deal(self, make: Callable[..., U], array: FloatArray, *args: Any) -> Group[U]:
        return self._built([pickled((make, (array[i:j], *args), {})) for i, j in self.cut])

    def _built(self, makes: list[bytes]) -> Group[Any]:
        """By what each actor is to make its object of, and how."""
        group: _Remote[Any] = _Remote(self.cut, self._driver, self)
        self._driver.ask("build", group.key, self.key, makes)
        return group

    def _ask(
        self, question: str, args: Sequence[Any], asked: list[tuple[int, dict[str, Any]]]
    ) -> list[Any]:
        more = [(shard, pickled(one)) for shard, one in asked]
        answers: list[Any] = self._driver.ask("ask", self.key, question, pickled(args), more)
        return answers
