"""Examples of what is looked for, as people name them: pictures of a collection, or any other."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from ital.collection.collection import Collection, inside
from ital.collection.encoder import Vectors


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
    return [
        collection.embed(path) if identifier is None else identifier
        for path, identifier in zip(paths, own, strict=True)
    ]
