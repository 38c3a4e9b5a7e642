from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from making import draw
from networks import means

from ital.collection import describe, index


@pytest.fixture(scope="session")
def _indexed(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("cli")
    for number in range(12):
        draw(place / "pictures" / f"{'abc'[number % 3]}" / f"{number:02}.png", number)
    index(place / "pictures", model=describe(str(means(place / "m.onnx"))))
    return place / "pictures"


@pytest.fixture
def folder(_indexed, tmp_path) -> Path:
    """A dozen pictures in three folders, indexed by a quick model that sees colours."""
    return Path(shutil.copytree(_indexed, tmp_path / "pictures"))
