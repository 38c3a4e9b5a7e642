"""Perceptual hashes: 64 bits of a picture that hardly change when it is scaled or compressed.

They say where a picture is brighter and where darker, coarsely: which of its lowest frequencies
are strong. Copies of a picture differ in few bits, two unlike pictures in about half of them.
"""

from __future__ import annotations

import io

import imagehash
import numpy as np
from PIL import Image

BITS = 64


def phash(image: Image.Image) -> int:
    """The hash of a picture; it takes less time, the smaller that is, and says much the same."""
    return int.from_bytes(np.packbits(imagehash.phash(image).hash).tobytes(), "big")


def of_thumbnail(content: bytes) -> int:
    """The hash of a picture of which only the thumbnail is at hand."""
    with Image.open(io.BytesIO(content)) as image:
        return phash(image)
