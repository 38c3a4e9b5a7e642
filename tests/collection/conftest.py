from __future__ import annotations

import os
from pathlib import Path

import pytest
from making import draw


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """A cache folder of the tests' own, for this process and those that it starts."""
    folder = tmp_path_factory.mktemp("cache")
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(folder)
    yield folder
    if before is None:
        del os.environ["XDG_CACHE_HOME"]
    else:
        os.environ["XDG_CACHE_HOME"] = before


@pytest.fixture(scope="session")
def corel(data_folder) -> Path:
    folder = data_folder.parent / "images" / "corel1k"
    if not folder.is_dir():
        pytest.skip(f"there are no photographs in {folder}")
    return folder


@pytest.fixture
def folder(tmp_path) -> Path:
    """A dozen pictures in three folders."""
    place = tmp_path / "pictures"
    for number in range(12):
        draw(place / f"{'abc'[number % 3]}" / f"{number:02}.png", number)
    return place
