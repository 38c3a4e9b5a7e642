"""How many copies of photographs are found, how many others are taken for copies, at what cost.

    python benchmarks/stacks.py FOLDER --out build/stacks.json

(a) A quarter of the photographs of FOLDER each is copied: compressed at quality 60, half as wide
    and high, cropped by 5 % of width and height, and brightened by 20 %. Originals and copies are
    indexed. Printed is which part of the copies is in a stack with its original, and which part of
    all pairs within stacks is of two different photographs; these are listed, for some of them
    may be of a burst. Then the same of copies that are recoloured: in grey, and with turned hues.
(b) The time of indexing, as a multiple of that without hashes and stacks; in turns, medians.
(c) The time and the memory of finding the stacks of made-up pictures of which a tenth are copies,
    all at once and when a few come later.
"""

from __future__ import annotations

import sys

sys.path.pop(0)  # beside this file lies one that is named like the standard library's `select`

import argparse
import itertools
import json
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageEnhance

import ital
from ital.collection import index, reader, stacks
from ital.collection.alike import Stacked


def half(image: Image.Image) -> Image.Image:
    return image.resize((image.width // 2, image.height // 2), Image.Resampling.LANCZOS)


def cropped(image: Image.Image) -> Image.Image:
    left, top = round(0.025 * image.width), round(0.025 * image.height)
    return image.crop((left, top, image.width - left, image.height - top))


def brighter(image: Image.Image) -> Image.Image:
    return ImageEnhance.Brightness(image).enhance(1.2)


def turned(image: Image.Image) -> Image.Image:
    hue, saturation, value = image.convert("HSV").split()
    shifted = Image.fromarray(np.asarray(hue) + np.uint8(40))
    return Image.merge("HSV", (shifted, saturation, value)).convert("RGB")


def grey(image: Image.Image) -> Image.Image:
    return image.convert("L")


def same(image: Image.Image) -> Image.Image:
    return image


Copies = dict[str, tuple[Callable[[Image.Image], Image.Image], int]]

COPIES: Copies = {
    "compressed": (same, 60),
    "half": (half, 90),
    "cropped": (cropped, 90),
    "brighter": (brighter, 90),
}
RECOLOURED: Copies = {"grey": (grey, 90), "hue": (turned, 90)}
"""What is done to a copy, and the quality of its JPEG."""


def make(files: list[Path], folder: Path, copies: Copies) -> None:
    """Originals, and one copy of each, of each kind in turn."""
    for name in ("originals", *copies):
        (folder / name).mkdir(parents=True)
    for number, (file, kind) in enumerate(zip(files, itertools.cycle(copies), strict=False)):
        change, quality = copies[kind]
        (folder / "originals" / f"{number:05}.jpg").write_bytes(file.read_bytes())
        with Image.open(file) as image:
            change(image.convert("RGB")).save(folder / kind / f"{number:05}.jpg", quality=quality)


def found(folder: Path, copies: Copies) -> dict[str, Any]:
    """Which part of the copies is stacked with its original, and which pairs are of two."""
    collection = ital.Collection.open(folder)
    together: set[tuple[str, str]] = set()
    for stack in collection.stacks:
        names = sorted(collection.path(one).relative_to(folder).as_posix() for one in stack)
        together |= set(itertools.combinations(names, 2))
    right = {(one, other) for one, other in together if Path(one).name == Path(other).name}
    kinds = {
        kind: statistics.mean(
            any((*sorted((copy, f"originals/{Path(copy).name}")),) == pair for pair in right)
            for copy in (f"{kind}/{path.name}" for path in (folder / kind).iterdir())
        )
        for kind in copies
    }
    others = sorted(together - right)
    return {"copies": kinds, "pairs": len(together), "different": others}


def quality(files: list[Path], folder: Path, copies: Copies) -> dict[str, Any]:
    make(files, folder, copies)
    index(folder)
    report = found(folder, copies)
    for kind, share in report["copies"].items():
        print(f"(a) {kind:10} {share:.1%} of copies in a stack with the original")
    share = len(report["different"]) / max(1, report["pairs"])
    print(f"(a) {share:.2%} of {report['pairs']} pairs within stacks are of two photographs:")
    for pair in report["different"]:
        print("   ", *pair)
    return report


def cost(folder: Path, place: Path, repeats: int) -> dict[str, float]:
    """Seconds of indexing with stacks, and without."""
    hashed, updated = reader.phash, stacks.update
    taken: dict[str, list[float]] = {"with": [], "without": []}
    index(folder, place / "warm")
    for number in range(repeats):
        for way, seconds in taken.items():
            if way == "without":
                reader.phash, stacks.update = lambda image: 0, lambda store, fingerprint: None
            begun = time.perf_counter()
            index(folder, place / f"{way}-{number}")
            seconds.append(time.perf_counter() - begun)
            reader.phash, stacks.update = hashed, updated
    ratios = [one / other for one, other in zip(taken["with"], taken["without"], strict=True)]
    medians = {way: statistics.median(seconds) for way, seconds in taken.items()}
    medians["ratio"] = statistics.median(ratios)
    print(f"(b) indexing takes {medians['ratio']:.3f} times as long with stacks as without")
    return medians


def scale(size: int, dimension: int, late: int) -> dict[str, float]:
    """Seconds and megabytes for made-up pictures, at once and as some come later."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((size, dimension), np.float32)
    # The bits of pictures are not independent: as of photographs, one in a thousand pairs of hashes
    # differs in 16 bits or fewer.
    mixing = rng.standard_normal((40, 64), np.float32)
    signs = rng.standard_normal((size, 40), np.float32) @ mixing > 0
    hashes = np.packbits(signs, axis=1).view(np.uint64).ravel()
    copies = rng.choice(size, size // 10, replace=False)
    originals = rng.integers(0, size, len(copies))
    hashes[copies] = hashes[originals]
    vectors[copies] = vectors[originals]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    tracemalloc.start()
    stacked = Stacked(hashes, np.ones(size, bool), vectors)
    begun = time.perf_counter()
    stacks.join_all(stacked, np.arange(size - late))
    first = time.perf_counter()
    stacks.join_all(stacked, np.arange(size - late, size))
    last = time.perf_counter()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    report = {
        "seconds": first - begun,
        "late": last - first,
        "megabytes": peak / 1e6,
        "centres": len(np.unique(stacked.centres)),
    }
    print(
        f"(c) {size} pictures: {report['seconds']:.1f} s, {late} that come later "
        f"{report['late']:.2f} s; {report['megabytes']:.0f} MB; {report['centres']} stacks"
    )
    return report


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", type=int, default=200_000)
    parser.add_argument("--dimension", type=int, default=1280)
    parser.add_argument("--late", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, help="where to write JSON")
    arguments = parser.parse_args()
    files = sorted(
        path
        for path in arguments.folder.rglob("*")
        if path.suffix.lower() in (".jpg", ".jpeg", ".png") and ".ital" not in path.parts
    )
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        report: dict[str, Any] = {
            "copies": quality(files, place / "copies", COPIES),
            "recoloured": quality(files, place / "recoloured", RECOLOURED),
            "cost": cost(place / "copies" / "originals", place, arguments.repeats),
        }
    report["scale"] = scale(arguments.size, arguments.dimension, arguments.late)
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
