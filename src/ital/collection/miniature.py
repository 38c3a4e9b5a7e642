"""Miniatures: pictures of few pixels, which tell copies from drawings after one pattern."""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt
from PIL import Image

Miniature = npt.NDArray[np.float32]

SIDE, BLOCK = 32, 4
"""Pixels of a miniature on each side, whatever shape its picture has, and of a block of it."""


def miniature(thumbnail: bytes) -> Miniature:
    """That of a picture, in the brightness and contrast that it has."""
    with Image.open(io.BytesIO(thumbnail)) as image:
        small = image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BOX)
        return np.asarray(small, dtype=np.float32)


def difference(one: Miniature, other: Miniature) -> float:
    """How far two are apart where they are farthest apart, in levels of 256.

    They are brought to the same brightness and contrast. Of each block, the mean over its pixels
    counts, of each pixel the colour that differs most: a hat on a head is in few blocks, but
    changes all of their pixels, while what compression leaves behind comes and goes.
    """
    first, second = (part - part.mean() for part in (one, other))
    spreads = [max(1.0, float(part.std())) for part in (first, second)]
    apart = np.abs(first / spreads[0] - second / spreads[1]) * np.sqrt(spreads[0] * spreads[1])
    count = SIDE // BLOCK
    blocks = apart.max(axis=2).reshape(count, BLOCK, count, BLOCK).mean(axis=(1, 3))
    return float(blocks.max())
