"""A saved search: one small JSON file of labels and settings, never a pickle."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from typing import Any

from ital import checks, strategies
from ital.checks import Identifier
from ital.gaussian import FloatArray
from ital.history import Asked, Event
from ital.pool import HASHED, Pool
from ital.scores import Scores
from ital.strategies import Strategy
from ital.user import UserModel

_FORMAT = "ital search"
_VERSION = 1


@dataclasses.dataclass(frozen=True)
class SavedSearch:
    """What a file holds. ``settings`` are the keyword arguments of ``Search``."""

    settings: dict[str, Any]
    events: list[Event]


def to_json(pool: Pool, settings: dict[str, Any], events: Sequence[Event]) -> str:
    """What a file holds."""
    content = {
        "format": _FORMAT,
        "version": _VERSION,
        "features": pool.fingerprint,
        "collection": pool.collection,
        "settings": {**settings, "strategy": _strategy_settings(settings["strategy"])},
        "events": [
            {
                "kind": event.kind,
                "labels": [[image, label] for image, label in event.labels.items()],
                "vectors": [[name, vector.tolist()] for name, vector in event.vectors.items()],
                "asked": [
                    [image, one.strategy, one.probability] for image, one in event.asked.items()
                ],
            }
            for event in events
        ],
    }
    return json.dumps(content, default=dataclasses.asdict)


def parse(
    data: bytes,
    path: str | PathLike[str],
    pool: Pool,
    adopt: bool = False,
    scores: Scores | None = None,
) -> SavedSearch:
    """What a file of a name holds, checked against the features of a pool and its images' scores.

    And against its collection, unless the file is to be adopted by it.
    """
    try:
        content = json.loads(data)
        known = content["format"] == _FORMAT
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"path must be a saved search, but {str(path)!r} is not one") from error
    if not known or content.get("version") != _VERSION:
        raise ValueError(
            f"path must be a saved search of version {_VERSION}, but {str(path)!r} says "
            f"{content.get('format')!r} {content.get('version')!r}"
        )
    if content.get("features") != pool.fingerprint:
        raise ValueError(
            f"features must be those that {str(path)!r} was saved with, but values, type or shape "
            f"differ (now {pool.features.shape}, {pool.features.dtype})"
        )
    with broken_if_it_fails(path):
        settings = dict(content["settings"])
        if settings["user"] != "learn":
            settings["user"] = UserModel(**settings["user"])
        settings.setdefault("base_rate", None)  # the first files knew of none
        settings["strategy"] = _strategy(settings["strategy"])
        scored = [(Identifier(image), float(one)) for image, one in settings.pop("prior", ())]
        events = [_event(event, pool) for event in content["events"]]
    saved = SavedSearch(settings, events)
    if scored and scores is None:
        raise ValueError(f"prior must be the scores that {str(path)!r} was saved with, got none")
    if scores is not None and not (scored and scores.fit(scored, pool)):
        had = "had other scores" if scored else "had none"
        raise ValueError(f"prior must be what {str(path)!r} was saved with, but that {had}")
    if not adopt:
        _require_collection(path, content.get("collection"), saved, pool)
    return saved


def words(data: bytes) -> list[str]:
    """The words that a search began with, none if it did not; for whoever knows their scores."""
    with suppress(ValueError, KeyError, TypeError, RecursionError):  # which ``parse`` tells of
        found = json.loads(data)["settings"]["text"]
        if isinstance(found, list) and all(isinstance(one, str) for one in found):
            return found
    return []


def _require_collection(
    path: str | PathLike[str], collection: str | None, saved: SavedSearch, pool: Pool
) -> None:
    """Refuse what is, or may be, of another collection: identifiers mean other pictures there."""
    if collection == pool.collection:
        return
    if collection is not None:
        raise ValueError(
            f"path must be a search of the collection {pool.collection}, but {str(path)!r} was "
            f"saved over {collection}, where identifiers mean other pictures"
        )
    # The first files did not say. Where the features are the same, so are the pictures.
    same = pool.fingerprint.startswith(HASHED) or (
        saved.settings.get("length_scale") == pool.median_distance()
    )
    named = {image for event in saved.events for image in event.labels if image >= 0}
    if not same or not all(image in pool for image in named):
        raise ValueError(
            f"path must be a search of the collection {pool.collection}, but {str(path)!r} does "
            "not say which it is of. If it is this one, load it by load_search(path, adopt=True), "
            "or ital export --adopt"
        )


@contextmanager
def broken_if_it_fails(path: str | PathLike[str]) -> Iterator[None]:
    """Blame the file for values that do not make a search."""
    try:
        yield
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
        message = f"path must be a saved search, but {str(path)!r} is broken: {error}"
        raise ValueError(message) from error


def _strategy_settings(strategy: Strategy) -> dict[str, Any]:
    if strategy.name not in strategies.names():
        raise ValueError(
            f"strategy must be one of {', '.join(strategies.names())} to be saved, got {strategy!r}"
        )
    return {"name": strategy.name, "parameters": vars(strategy)}


def _strategy(settings: dict[str, Any]) -> Strategy:
    parameters = dict(settings["parameters"])
    if parameters.get("user") is not None:
        parameters["user"] = UserModel(**parameters["user"])
    return strategies.create((settings["name"], parameters))


def _event(saved: dict[str, Any], pool: Pool) -> Event:
    if saved["kind"] not in ("query", "answer"):
        raise ValueError(f"kind must be 'query' or 'answer', got {saved['kind']!r}")
    vectors: dict[Identifier, FloatArray] = {}
    for name, vector in saved["vectors"]:
        if type(name) is not int or name >= 0 or name in vectors:
            raise ValueError(f"the name of a vector must be a new negative number, got {name!r}")
        vectors[Identifier(name)] = checks.vector(vector, "vector", pool.dimension)
    labels = {}
    for image, label in saved["labels"]:
        if type(image) is not int or image not in vectors:
            if pool.ids is None:
                checks.index(image, "image", len(pool))
            else:
                checks.whole_number(image, "image", least=0)
        if type(label) is not int or label not in (-1, 0, 1):
            raise ValueError(f"label must be -1, 0 or 1, got {label!r}")
        labels[image] = label
    asked = {}
    for image, strategy, probability in saved.get("asked", ()):  # the first files did not tell
        if image not in labels or not isinstance(strategy, str | None):
            raise ValueError(f"what was asked must be a label, by a strategy, got {image!r}")
        known = None if probability is None else checks.probability(probability, "probability")
        asked[Identifier(image)] = Asked(strategy, known)
    return Event(saved["kind"], labels, vectors, asked)
