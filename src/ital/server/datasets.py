"""Several searches as one labelled data set, with a class for each."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from fastapi.responses import StreamingResponse

from ital import insight
from ital.checks import Identifier
from ital.collection import Collection, dataset
from ital.server import exports, schemas
from ital.server.memory import Memory
from ital.server.problems import RefusedError, UnknownError


def claims(
    memory: Memory, served: str, collection: Collection, searches: Sequence[str]
) -> dict[str, tuple[str, list[int]]]:
    """The pictures of each class, by search, with its name; of those that the collection has."""
    found: dict[str, tuple[str, list[int]]] = {}
    for one in dict.fromkeys(searches):
        with memory.open(one) as opened:
            name, live = opened.row.name, opened.live
            if opened.row.collection != served:
                raise UnknownError(f"there is no search {one} over this collection")
            if not live.search.model.is_informed:
                raise RefusedError(f"the pictures that the search {name} began with have gone")
            if any(name == known for known, _ in found.values()):
                raise RefusedError(f"classes are named like searches, but two are called {name!r}")
            threshold = None
            if insight.can_tell(live.search):
                threshold = insight.balanced(live.thresholds).probability
            members = dataset.members(live.search, threshold=threshold)
            found[one] = name, [image for image in members if Identifier(image) in collection.pool]
    return found


def classes(
    claimed: Mapping[str, tuple[str, list[int]]],
    collection: Collection,
    conflicts: schemas.Conflicts | None,
    share: float,
) -> schemas.Classes:
    """How many pictures are of each class, which are of several, and whether that will do."""
    disputed: Mapping[int, Sequence[str]] = {}
    problem = None
    try:
        dataset.assigned(dict(claimed.values()))
    except dataset.ConflictError as error:
        disputed = error.claims
    try:
        labels = dataset.assigned(dict(claimed.values()), conflicts)
        dataset.parted(labels, share, 0, collection.stacks)
    except ValueError as error:
        problem = str(error)
    order = np.searchsorted(collection.ids, list(disputed))
    rows = dict(zip(disputed, order.tolist(), strict=True))
    return schemas.Classes(
        classes=[
            schemas.ClassInfo(search=one, name=name, pictures=len(members))
            for one, (name, members) in claimed.items()
        ],
        conflicts=[
            schemas.Claimed(id=image, name=collection.paths[rows[image]], classes=list(names))
            for image, names in disputed.items()
        ],
        problem=problem,
    )


def download(
    claimed: Mapping[str, tuple[str, list[int]]],
    collection: Collection,
    layout: schemas.Layout,
    conflicts: schemas.Conflicts | None,
    share: float,
) -> StreamingResponse:
    """A ZIP of the pictures in a layout; they are read while it is sent."""
    if not collection.has_files:
        raise RefusedError("a data set needs files, but the pictures have none")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "dataset"
        try:
            labels = dataset.assigned(dict(claimed.values()), conflicts)
            dataset.write(layout, collection, labels, out, share, 0, collection.stacks, link=True)
        except ValueError as error:
            raise RefusedError(str(error)) from error
        written = sorted(path for path in out.rglob("*") if not path.is_dir())
        root = collection.root.resolve()
        pictures, files = [], {}
        for path in written:
            name = path.relative_to(out).as_posix()
            if path.is_symlink():
                pictures.append((name, path.readlink().relative_to(root).as_posix()))
            else:
                files[name] = path.read_bytes()
    headers = {"Content-Disposition": 'attachment; filename="ital-dataset.zip"'}
    stream = exports.archive(pictures, collection.root, files)
    return StreamingResponse(stream, media_type=exports.TYPES["zip"], headers=headers)
