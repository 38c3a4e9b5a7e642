"""Examples of what is looked for, as people name them: pictures of a collection, or any other."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from ital.collection.collection import Collection
from ital.collection.encoder import Vectors
from ital.collection.paths import inside


def examples(
    collection: Collection, files: Sequence[str | PathLike[str]], name: str
) -> list[int | Vectors]:
    """What ``Search.query`` takes: identifiers of pictures of the collection, vectors of others.

    A path that leads nowhere from here on may go on from the folder of the collection.
    """
    root = collection.root
    paths = [Path(file) if Path(file).exists() else root / file for file in files]
    for file, path in zip(files, paths, strict=True):
        if not path.is_file():
            raise ValueError(f"{name} must name pictures, but {str(file)!r} is not there")
    # Either name of a file that is reached by a link may be that which the collection has.
    within = [
        [inside(root, str(one)) for one in (path.absolute(), path.resolve())] for path in paths
    ]
    known = collection.identifiers(own for names in within for own in names if own is not None)
    own = [next((known[one] for one in names if one in known), None) for names in within]
    if None in own:
        # A copy of a picture of the collection is that picture.
        content = {(entry.size, entry.hash): entry.id for entry in collection.entries()[::-1]}
        sizes = {size for size, _ in content}
        own = [
            content.get(_content(path)) if one is None and path.stat().st_size in sizes else one
            for one, path in zip(own, paths, strict=True)
        ]
    return [
        collection.embed(path) if identifier is None else identifier
        for path, identifier in zip(paths, own, strict=True)
    ]


def _content(path: Path) -> tuple[int, str]:
    """Size and hash of a file, as a collection knows them."""
    with path.open("rb") as file:
        return path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()
