from __future__ import annotations

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image
from terminals import played

from ital import Collection
from ital.cli.graphics import drawn


@pytest.fixture
def picture() -> Image.Image:
    rng = np.random.default_rng(0)
    coarse = Image.fromarray(rng.integers(0, 256, (5, 7, 3), dtype=np.uint8))
    return coarse.resize((61, 40), Image.Resampling.BICUBIC)


def from_kitty(text: str) -> Image.Image:
    """A picture as the protocol of kitty has it: chunks of a PNG in base64."""
    chunks = re.findall("\x1b_G([^;]*);([^\x1b]*)\x1b\\\\", text)
    assert "f=100" in chunks[0][0]
    assert [control[-3:] for control, _ in chunks] == ["m=1"] * (len(chunks) - 1) + ["m=0"]
    assert all(len(data) <= 4096 for _, data in chunks)
    return Image.open(io.BytesIO(base64.b64decode("".join(data for _, data in chunks))))


def from_sixel(text: str) -> np.ndarray:
    """Pixels as a terminal paints them, sixel by sixel."""
    header, body = re.fullmatch('\x1bP0;1q"1;1;([0-9;]*)(#.*)\x1b\\\\', text, re.DOTALL).groups()
    width, height = map(int, header.split(";"))
    canvas = np.full((height + 6, width, 3), -1)
    palette, colour, x, y = {}, 0, 0, 0
    for number, definition, command, sixel in re.findall(r"#(\d+)((?:;\d+)*)|([$-])|([?-~])", body):
        if number:
            colour = int(number)
            if definition:
                palette[colour] = [int(part) for part in definition.split(";")[2:]]
        elif command == "$":
            x = 0
        elif command == "-":
            x, y = 0, y + 6
        else:
            for bit in range(6):
                if (ord(sixel) - 63) >> bit & 1:
                    canvas[y + bit, x] = palette[colour]
            x += 1
    assert (canvas[height:] == -1).all(), "something is painted below the picture"
    return canvas[:height]


def test_kitty(picture):
    large = picture.resize((300, 200))
    np.testing.assert_array_equal(np.asarray(from_kitty(drawn(large, "kitty"))), np.asarray(large))


def test_sixel(picture):
    painted = from_sixel(drawn(picture, "sixel"))
    assert painted.min() >= 0, "every pixel is painted"
    few = np.asarray(picture.quantize(256).convert("RGB"), dtype=int) * 100 // 255
    np.testing.assert_array_equal(painted, few)


def test_a_terminal_that_shows_pictures_by_its_own_word(folder):
    ask = ("ask", folder, "--like", "a/00.png", "--top", 1)
    collection = Collection.open(folder)
    first = f"{folder}/a/00.png\n".encode()
    sent, out = played(b"\x1b_Gi=31;OK\x1b\\\x1b[?62;c", b"q", *ask)
    assert out == first
    text = sent.decode().replace("\r\n", "\n")
    path = re.search(r"1/4 (.*)\n", text)[1]
    shown = text[text.index("a=T") - 3 :]
    known = collection.identifiers([path.removeprefix(f"{folder}/")])
    thumbnail = Image.open(io.BytesIO(collection.thumbnail(*known.values())))
    np.testing.assert_array_equal(np.asarray(from_kitty(shown)), np.asarray(thumbnail))
    sent, out = played(b"\x1b[?62;4;6c", b"q", *ask)
    assert out == first
    assert b'\x1bP0;1q"1;1;48;32' in sent
    sent, out = played(b"\x1b[?62;22c", b"q", *ask)
    assert out == first
    assert b"\x1bP" not in sent
    assert b"a=T" not in sent
