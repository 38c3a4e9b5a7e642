"""Folders of pictures for tests: harmless ones, and one that means no good.

`python tests/collection/making.py FOLDER` makes the latter.
"""

from __future__ import annotations

import ctypes
import io
import os
import pickle
import struct
import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image


def draw(path: Path, seed: int, size: tuple[int, int] = (48, 32)) -> Path:
    """A picture with something in it, different for every seed."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (4, 6, 3), dtype=np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC).save(path)
    return path


@contextmanager
def swapping(path: Path, outside: Path) -> Iterator[None]:
    """Meanwhile, what is at a path and a link to something else take each other's place."""
    own, link = path.with_name("own"), path.with_name("link")
    link.symlink_to(outside)
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            path.rename(own)
            link.rename(path)
            path.rename(link)
            own.rename(path)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        link.unlink()


class Evil:
    """A pickle that runs a command where it is loaded."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return os.system, (f"touch {self.mark}",)


def bomb(width: int, height: int) -> bytes:
    """A PNG of one bit a pixel, whole and valid, that takes a thousandth of its pixels in bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    rows = bytes(-(-width // 8) + 1) * 1000
    packer = zlib.compressobj(1)
    packed = b"".join(packer.compress(rows) for _ in range(height // 1000)) + packer.flush()
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"".join(
        (b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", header), chunk(b"IDAT", packed), chunk(b"IEND", b""))
    )


def deep(folder: Path, name: str, levels: int, content: bytes) -> str:
    """A file so deep down that no system call takes its whole path. Returns that path."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    file = os.open("picture.png", os.O_WRONLY | os.O_CREAT, dir_fd=here)
    os.write(file, content)
    os.close(file)
    os.close(here)
    return "/".join([name] * levels)


def hostile(folder: Path, mark: Path) -> dict[str, str]:
    """A folder with everything that can be wrong. Returns reasons by path, of what must be skipped.

    Beside it are six pictures that must be found. Nobody may have made ``mark``.
    """
    for number in range(3):
        draw(folder / f"good-{number}.jpg", number)
    draw(folder / "line\nbreak \x1b[31mred\x07.png", 3)
    draw(folder / "名前 ünï 🐅.png", 4)
    good = (folder / "good-0.jpg").read_bytes()
    png = io.BytesIO()
    Image.effect_noise((64, 64), 50).save(png, "PNG")
    reasons = {}

    def bad(name: str, content: bytes, reason: str) -> None:
        (folder / name).write_bytes(content)
        reasons[name] = reason

    bad("empty.jpg", b"", "empty")
    bad("truncated.jpg", good[: len(good) // 2], "truncated")
    bad("truncated.png", png.getvalue()[:-2000], "truncated")
    bad("header-only.png", png.getvalue()[:20], "")
    bad("noise.jpg", np.random.default_rng(0).bytes(5000), "not a picture")
    bad("words.txt", b"just words", "not a picture")
    bad("pickle.jpg", pickle.dumps(Evil(mark)), "not a picture")
    bad("model.pth", pickle.dumps(Evil(mark)), "not a picture")
    bad("bomb.png", bomb(60_000, 60_000), "megapixels")
    bad("postscript.jpg", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not a picture")
    (folder / "out.jpg").symlink_to("/etc/hostname")
    reasons["out.jpg"] = "out of the folder"
    (folder / "up").symlink_to("/")
    reasons["up"] = "out of the folder"
    (folder / "nowhere.jpg").symlink_to("gone.jpg")
    reasons["nowhere.jpg"] = "leads nowhere"
    (folder / "itself.jpg").symlink_to("itself.jpg")
    reasons["itself.jpg"] = ""
    (folder / "one").symlink_to("other")
    (folder / "other").symlink_to("one")
    reasons |= {"one": "", "other": ""}
    (folder / "circle").mkdir()
    (folder / "circle" / "back").symlink_to("..")
    (folder / ".hidden").mkdir()
    draw(folder / ".hidden" / "kept.png", 5)
    (folder / "to-hidden.png").symlink_to(".hidden/kept.png")
    os.mkfifo(folder / "pipe.jpg")
    reasons["pipe.jpg"] = "not a regular file"
    (Path(os.fsdecode(os.fsencode(folder) + b"/not-\xff-unicode.jpg"))).write_bytes(good)
    reasons["not-\udcff-unicode.jpg"] = "not unicode"
    locked = draw(folder / "locked.png", 6)
    locked.chmod(0)
    reasons["locked.png"] = "no permission"
    (folder / "shut").mkdir(mode=0)
    reasons["shut"] = "no permission"
    path = deep(folder, "d" * 250, 20, good)
    # The last folder whose whole path a system call takes depends on where this one is.
    reasons[path] = "too long"
    return reasons


def without_privileges() -> None:
    """Let permissions count even for root: no capability that passes over them survives exec."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.mkdir(parents=True)
    for name, why in hostile(place, place.with_name("was-here")).items():
        print(repr(name[:60]), "must be skipped:", why)
