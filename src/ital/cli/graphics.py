"""Pictures in the terminal, where that says it can show them."""

from __future__ import annotations

import base64
import io
import os
import select
import sys
import time
from typing import Literal, TextIO

import numpy as np
from PIL import Image

from ital.cli.keys import unbuffered

Protocol = Literal["kitty", "sixel"]

_PATIENCE = 1.0
"""Seconds within which a terminal answers. All answer the last question, so none is waited for."""
_QUESTIONS = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c"
"""Whether it understands kitty's pictures; and what it is, which is how it tells of sixels."""
_SIXELS = "4"
_CHUNK = 4096
"""Characters that kitty takes at a time."""
_BAND = 6
"""Rows of pixels in a sixel."""


def protocol(shown: TextIO) -> Protocol | None:
    """How the terminal shows pictures, by its own word; ``None`` if it does not."""
    if not (sys.stdin.isatty() and shown.isatty()):
        return None
    with unbuffered(sys.stdin.fileno()):
        shown.write(_QUESTIONS)
        shown.flush()
        answer = _answer(sys.stdin.fileno())
    if "_Gi=31;OK" in answer:
        return "kitty"
    attributes = answer.rpartition("\x1b[?")[2].removesuffix("c").split(";")
    return "sixel" if _SIXELS in attributes[1:] else None


def _answer(terminal: int) -> str:
    answer, until = "", time.monotonic() + _PATIENCE
    while not (answer.endswith("c") and "\x1b[?" in answer):
        ready, _, _ = select.select([terminal], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            break
        answer += os.read(terminal, 1024).decode(errors="replace")
    return answer


def drawn(image: Image.Image, how: Protocol) -> str:
    """What a terminal has to be sent to show a picture."""
    return _kitty(image) if how == "kitty" else _sixel(image)


def _kitty(image: Image.Image) -> str:
    stream = io.BytesIO()
    image.save(stream, "PNG")
    data = base64.standard_b64encode(stream.getvalue()).decode()
    chunks = [data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK)]
    parts = []
    for number, chunk in enumerate(chunks):
        control = "a=T,f=100,q=2," if number == 0 else ""
        parts.append(f"\x1b_G{control}m={int(number < len(chunks) - 1)};{chunk}\x1b\\")
    return "".join(parts)


def _sixel(image: Image.Image) -> str:
    """Bands of six rows, in each of which every colour is drawn in turn."""
    few = image.convert("RGB").quantize(256)
    pixels = np.asarray(few)
    palette = np.array(few.getpalette(), dtype=int).reshape(-1, 3) * 100 // 255
    height, width = pixels.shape
    parts = [f'\x1bP0;1q"1;1;{width};{height}']
    parts += [f"#{colour};2;{r};{g};{b}" for colour, (r, g, b) in enumerate(palette)]
    for top in range(0, height, _BAND):
        band = pixels[top : top + _BAND]
        weights = 1 << np.arange(len(band))
        for colour in np.unique(band):
            sixels = weights @ (band == colour) + ord("?")
            parts.append(f"#{colour}{bytes(sixels.astype(np.uint8)).decode()}$")
        parts.append("-")
    return "".join([*parts, "\x1b\\"])
