"""Strategies by name. Each is a small class that picks the batch of images to ask about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ital.strategies.base import Strategy
from ital.strategies.baselines import Random, TopScoring
from ital.strategies.information import ITAL, Entropy

__all__ = ["ITAL", "Entropy", "Random", "Strategy", "TopScoring", "create", "names"]

_STRATEGIES: dict[str, type[Strategy]] = {
    strategy.name: strategy for strategy in (ITAL, Entropy, Random, TopScoring)
}


def names() -> list[str]:
    """The names that a search takes as its strategy."""
    return list(_STRATEGIES)


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
        return _STRATEGIES[name](**parameters)
    except TypeError as error:
        raise TypeError(f"strategy {name!r} does not take {dict(parameters)!r}: {error}") from error
