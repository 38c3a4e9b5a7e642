from __future__ import annotations

from pathlib import Path

import pytest
from making import draw


@pytest.fixture
def folder(tmp_path) -> Path:
    """A dozen pictures in three folders."""
    place = tmp_path / "pictures"
    for number in range(12):
        draw(place / f"{'abc'[number % 3]}" / f"{number:02}.png", number)
    return place
