from __future__ import annotations

from pathlib import Path

import pytest
from making import draw
from networks import means

from ital.collection import describe


@pytest.fixture
def folder(tmp_path) -> Path:
    """A dozen pictures in three folders."""
    place = tmp_path / "pictures"
    for number in range(12):
        draw(place / f"{'abc'[number % 3]}" / f"{number:02}.png", number)
    return place


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """A model that is quicker than the real ones: it describes pictures by their colours."""
    return describe(str(means(tmp_path_factory.mktemp("model") / "m.onnx")))
