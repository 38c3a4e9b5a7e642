"""Folders of pictures as collections that can be searched."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ital.collection.collection import Collection
    from ital.collection.emoji import sample
    from ital.collection.imports import import_embeddings
    from ital.collection.indexer import Progress, index
    from ital.collection.models import Model, describe
    from ital.collection.source import Source

__all__ = [
    "Collection",
    "Model",
    "Progress",
    "Source",
    "describe",
    "import_embeddings",
    "index",
    "sample",
]

_HOMES = {
    "Collection": "collection",
    "Model": "models",
    "Progress": "indexer",
    "Source": "source",
    "describe": "models",
    "import_embeddings": "imports",
    "index": "indexer",
    "sample": "emoji",
}


def __getattr__(name: str) -> Any:
    # Workers of a cluster read pictures, and need not wait for the libraries of the store.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
