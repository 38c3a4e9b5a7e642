"""Folders of pictures as collections that can be searched."""

from ital.collection.collection import Collection
from ital.collection.emoji import sample
from ital.collection.imports import import_embeddings
from ital.collection.indexer import Progress, index
from ital.collection.models import Model, describe

__all__ = [
    "Collection",
    "Model",
    "Progress",
    "describe",
    "import_embeddings",
    "index",
    "sample",
]
