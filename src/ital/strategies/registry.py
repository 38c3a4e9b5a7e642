"""Strategies by name, ours and those of others."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, TypeVar

from ital.strategies.base import Strategy

S = TypeVar("S", bound=type[Strategy])

_STRATEGIES: dict[str, type[Strategy]] = {}


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


def names() -> list[str]:
    """The names that a search takes as its strategy."""
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
    if name not in _STRATEGIES:
        raise ValueError(f"strategy must be one of {', '.join(names())}, got {name!r}")
    try:
        inspect.signature(_STRATEGIES[name]).bind(**parameters)
    except TypeError as error:
        raise TypeError(f"strategy {name!r} does not take {dict(parameters)!r}: {error}") from error
    return _STRATEGIES[name](**parameters)


def _origin(strategy: type[Strategy]) -> str:
    return f"{strategy.__module__}.{strategy.__qualname__}"
