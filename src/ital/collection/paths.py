"""Paths of pictures from the folder of their collection on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ital.collection.scan import is_unicode


def paths_within(root: Path, names: Sequence[str]) -> list[str]:
    """Paths of pictures from ``root`` on. None may lead out of it; whole ones are cut there."""
    places = _places(root)
    found = [_within(places, name) for name in names]
    if None in found:
        row = found.index(None)
        raise ValueError(
            f"paths must be those of files in the folder {str(root)!r}, got {names[row]!r} in row "
            f"{row}"
        )
    return [name for name in found if name is not None]


def inside(root: Path, name: str) -> str | None:
    """A path from ``root`` on, as a collection has it, or ``None`` if it leads out of there."""
    path = _within(_places(root), name)
    return None if path is None else Path(os.path.normpath(path)).as_posix()


def _places(root: Path) -> list[Path]:
    return [Path(os.path.normpath(root.absolute())), root.resolve()]


def _within(places: Sequence[Path], name: str) -> str | None:
    """A path from one of several names of a folder on, or ``None`` if it is in none of them."""
    path = Path(os.path.normpath(name))
    if path.anchor:
        cut = [path.relative_to(place) for place in places if path.is_relative_to(place)]
        if not cut:
            return None
        path, name = cut[0], cut[0].as_posix()
    inside = path.parts and path.parts[0] != ".."
    return name if inside and "\0" not in name and is_unicode(name) else None
