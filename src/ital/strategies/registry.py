"""Strategies by name, ours and those of others."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any, TypeVar

from ital.strategies.base import Strategy

S = TypeVar("S", bound=type[Strategy])

_STRATEGIES: dict[str, type[Strategy]] = {}

GROUP = "ital.strategies"
"""Of entry points: packages that are installed name there what is to be imported for theirs."""


def register(strategy: S) -> S:
    """Class decorator: the strategy can be asked for by its name from now on.

    A class may be defined again, as in a notebook; the name of another one is refused.
    """
    if not (isinstance(strategy, type) and issubclass(strategy, Strategy)):
        raise TypeError(f"register takes a subclass of ital.strategies.Strategy, got {strategy!r}")
    if inspect.isabstract(strategy):
        missing = ", ".join(sorted(strategy.__abstractmethods__))
        raise TypeError(f"strategy {strategy.__name__} must define {missing}")
    name = getattr(strategy, "name", None)
    if not isinstance(name, str) or not name:
        raise TypeError(f"strategy {strategy.__name__} must have a name, got {name!r}")
    known = _STRATEGIES.get(name)
    if known is not None and _origin(known) != _origin(strategy):
        raise ValueError(f"name must be a new one, but {name!r} is that of {_origin(known)}")
    _STRATEGIES[name] = strategy
    return strategy


@functools.cache
def _import_others() -> None:
    """Import, once, what other packages register; one that cannot be is no reason to stop."""
    for point in entry_points(group=GROUP):
        try:
            point.load()
        except Exception as error:
            package = point.dist.name if point.dist is not None else point.value
            message = f"the strategy {point.name} of {package} is left out: {error}"
            warnings.warn(message, RuntimeWarning, stacklevel=2)


def names() -> list[str]:
    """The names that a search takes as its strategy."""
    _import_others()
    return sorted(_STRATEGIES)


def describe(name: str) -> str:
    """What a strategy asks about, in a sentence."""
    return _STRATEGIES[name].summary or name


def create(strategy: str | tuple[str, Mapping[str, Any]] | Strategy) -> Strategy:
    """A strategy from its name, from its name and parameters, or as it is."""
    if isinstance(strategy, Strategy):
        return strategy
    match strategy:
        case str(name):
            parameters: Mapping[str, Any] = {}
        case (str(name), Mapping() as parameters):
            pass
        case _:
            raise TypeError(
                f"strategy must be a name, a name with parameters, or a Strategy, got {strategy!r}"
            )
    if name not in _STRATEGIES and name not in names():
        raise ValueError(f"strategy must be one of {', '.join(names())}, got {name!r}")
    try:
        inspect.signature(_STRATEGIES[name]).bind(**parameters)
    except TypeError as error:
        raise TypeError(f"strategy {name!r} does not take {dict(parameters)!r}: {error}") from error
    return _STRATEGIES[name](**parameters)


def _origin(strategy: type[Strategy]) -> str:
    return f"{strategy.__module__}.{strategy.__qualname__}"
