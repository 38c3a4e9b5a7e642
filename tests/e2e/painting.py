"""Pictures to look for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image


def paint(path: Path, hue: tuple[int, int, int], rng: np.random.Generator) -> None:
    """A picture of about one colour."""
    pixels = np.clip(np.array(hue) + rng.normal(0, 25, (6, 8, 3)), 0, 255).astype(np.uint8)
    Image.fromarray(pixels).resize((320, 240), Image.Resampling.BICUBIC).save(path)
